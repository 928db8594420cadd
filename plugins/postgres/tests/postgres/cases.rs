//! Cases met in the field (docs/cases.md) that have no other home, on real servers.

use serde_json::{Value, json};

use crate::reading::{Reading, Seen, config};
use crate::server::{Database, VERSIONS};

/// Operation, key and data of each record; a tombstone is its key alone.
fn told(seen: &[Seen]) -> Vec<(&str, Option<&str>, &Value)> {
    seen.iter().map(|record| (record.operation(), record.key.as_deref(), record.data())).collect()
}

async fn refusal(config: Value) -> String {
    match Reading::open(config, None).await {
        Ok(mut reading) => loop {
            match reading.step().await {
                Ok(seen) => assert_eq!(seen, []),
                Err(error) => break error.chain(),
            }
        },
        Err(error) => error.chain(),
    }
}

#[tokio::test]
async fn an_enum_made_anew_under_its_name_is_read_without_a_restart_b014() {
    for version in VERSIONS {
        let database = Database::new(version);
        let table = "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE t (id int PRIMARY KEY, m mood, ms mood[])";
        database.sql(table);
        let mut reading = Reading::streaming(&database, json!({})).await;
        let row = json!({"id": 1, "m": "happy", "ms": ["sad", "happy"]});
        for _ in 0..3 {
            database.sql("INSERT INTO t VALUES (1, 'happy', '{sad,happy}')");
            assert_eq!(reading.records(1).await[0].data(), &row);
            // The same name and shape with new OIDs, of the type, its array and the table.
            database.sql("DROP TABLE t; DROP TYPE mood");
            database.sql(table);
        }
    }
}

#[tokio::test]
async fn a_key_update_shows_both_keys_in_every_envelope_b018() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'x')");
        let mut reading = Reading::streaming(&database, json!({ "tombstones": true })).await;
        database.sql("UPDATE t SET v = 'y'; UPDATE t SET id = 2");
        let seen = reading.records(3).await;
        let (old, new) = (json!({"id": 1, "v": "y"}), json!({"id": 2, "v": "y"}));
        assert_eq!(
            told(&seen),
            [("UPDATE", Some("1"), &old), ("UPDATE", Some("2"), &new), ("", Some("1"), &Value::Null)]
        );
        let old: Vec<&Value> = seen[..2].iter().map(|record| &record.value["old_data"]).collect();
        assert_eq!(old, [&Value::Null, &json!({"id": 1})], "an update of something else has no old row");

        let other = Database::new(version);
        other.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'x')");
        let mut reading = Reading::streaming(&other, json!({ "envelope": "debezium" })).await;
        other.sql("UPDATE t SET id = 2");
        let seen = reading.records(3).await;
        let told: Vec<(Option<&str>, &str)> = seen
            .iter()
            .map(|record| (record.key.as_deref(), record.value["op"].as_str().unwrap_or_default()))
            .collect();
        let (one, two) = (Some("{\"id\":1}"), Some("{\"id\":2}"));
        assert_eq!(told, [(one, "d"), (one, ""), (two, "c")]);
        assert_eq!(seen[2].value["after"], json!({"id": 2, "v": "x"}));
    }
}

#[tokio::test]
async fn a_delete_claims_nothing_of_columns_that_the_server_did_not_send_b019() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(
            "CREATE TABLE t (id int PRIMARY KEY, v text NOT NULL); INSERT INTO t VALUES (1, 'x'), (2, 'y')",
        );
        let mut reading = Reading::streaming(&database, json!({})).await;
        database.sql("DELETE FROM t WHERE id = 1");
        database.sql("ALTER TABLE t REPLICA IDENTITY FULL");
        database.sql("DELETE FROM t WHERE id = 2");
        let seen = reading.records(2).await;
        let (key, whole) = (json!({"id": 1}), json!({"id": 2, "v": "y"}));
        assert_eq!(told(&seen), [("DELETE", Some("1"), &key), ("DELETE", Some("2"), &whole)]);
    }
}

#[tokio::test]
async fn inserts_into_a_table_without_identity_flow_and_its_owner_is_warned_b020() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE bare (v int)");
        let mut reading = Reading::streaming(&database, json!({ "tables": ["bare"] })).await;
        let said = format!("{:?}", reading.bench.reports());
        assert!(said.contains("REPLICA IDENTITY FULL") && said.contains("bare"), "{said}");
        database.sql("INSERT INTO bare VALUES (7)");
        assert_eq!(told(&reading.records(1).await), [("INSERT", None, &json!({"v": 7}))]);
        let refused = database.server.psql(&database.name, "UPDATE bare SET v = 8").unwrap_err();
        assert!(refused.contains("does not have a replica identity"), "{refused}");
        database.sql("ALTER TABLE bare REPLICA IDENTITY FULL; UPDATE bare SET v = 8");
        assert_eq!(told(&reading.records(1).await), [("UPDATE", None, &json!({"v": 8}))]);
    }
}

#[tokio::test]
async fn a_partitioned_table_named_by_its_root_brings_every_partition_b027() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(
            "CREATE TABLE events (id int PRIMARY KEY) PARTITION BY RANGE (id); \
             CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (10)",
        );
        let mut reading = Reading::streaming(&database, json!({ "tables": ["events"] })).await;
        database.sql("INSERT INTO events VALUES (1)");
        database.sql("CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (10) TO (20)");
        database.sql("INSERT INTO events VALUES (11)");
        let seen = reading.records(2).await;
        let tables: Vec<&Value> = seen.iter().map(|record| &record.value["table_name"]).collect();
        assert_eq!(tables, [&json!("events"), &json!("events")], "one of later too");
    }
}

#[tokio::test]
async fn a_slot_that_begins_with_a_digit_reads_one_name_in_two_schemas_b031() {
    for version in VERSIONS {
        let database = Database::new(version);
        for schema in ["tenant_a", "tenant_b"] {
            database
                .sql(&format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.orders (id int PRIMARY KEY)"));
        }
        database.sql("CREATE TABLE orders (id int PRIMARY KEY)");
        let settings = json!({
            "slot_name": format!("1_{}", database.name), "tables": ["tenant_a.orders", "tenant_b.orders"],
        });
        let mut reading = Reading::streaming(&database, settings).await;
        database.sql("INSERT INTO orders VALUES (0); INSERT INTO tenant_a.orders VALUES (1); INSERT INTO tenant_b.orders VALUES (2)");
        let seen = reading.records(2).await;
        let told: Vec<(&Value, &Value)> =
            seen.iter().map(|record| (&record.value["schema_name"], &record.data()["id"])).collect();
        assert_eq!(told, [(&json!("tenant_a"), &json!(1)), (&json!("tenant_b"), &json!(2))]);
    }
}

#[tokio::test]
async fn every_control_character_comes_back_and_the_payload_stays_json_b032() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, v text, j json)");
        let mut reading = Reading::streaming(&database, json!({})).await;
        database.sql(
            "INSERT INTO t SELECT 1, string_agg(chr(n), '' ORDER BY n) || chr(8232), '{\"a\": \"\\u0000\", \"b\": \"\\ud800\"}' \
             FROM generate_series(1, 31) n",
        );
        let seen = reading.records(1).await;
        // A lone surrogate is no text, so the row as a whole is held against its bytes.
        assert!(seen[0].text.contains(r#""j":{"a": "\u0000", "b": "\ud800"}"#), "{}", seen[0].text);
        let right: String = (1..=31_u8).map(char::from).chain(['\u{2028}']).collect();
        let (_, rest) = seen[0].text.split_once("\"v\":").expect("the column is there");
        let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        assert_eq!(texts.next().expect("a text").expect("JSON"), right);
    }
}

#[tokio::test]
async fn a_slot_older_than_its_publication_is_an_error_that_names_it_b052() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY)");
        database.sql(&format!("SELECT pg_create_logical_replication_slot('{}', 'pgoutput')", database.name));
        database.sql("INSERT INTO t VALUES (1)");
        database.sql("CREATE PUBLICATION picomq_publication FOR TABLE t");
        database.sql("INSERT INTO t VALUES (2)");
        let before = database.confirmed(&database.name);
        let opened = Reading::open(config(&database, json!({ "adopt_slot": true })), None).await;
        let mut reading = opened.unwrap_or_else(|error| panic!("{}", error.chain()));

        // 18 passes over what no publication of then had, which an adopted slot asks for; older ones fail for ever.
        let outcome = loop {
            match reading.step().await {
                Ok(seen) if seen.is_empty() => {}
                Ok(seen) => break Ok(seen.len()),
                Err(error) if error.is_transient() => {}
                Err(error) => break Err(error.chain()),
            }
        };

        match outcome {
            Err(text) => {
                assert!(
                    text.contains("picomq_publication") && text.contains("pg_drop_replication_slot"),
                    "{text}"
                );
                assert_eq!(database.confirmed(&database.name), before, "nothing is passed over in silence");
            }
            Ok(records) => assert!(version >= 18 && records > 0, "{version} brought {records}"),
        }
    }
}

#[tokio::test]
async fn nothing_is_published_before_the_slot_is_ours_b060() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY)");
        database.sql("CREATE PUBLICATION picomq_publication FOR TABLE a");
        database.sql(&format!("SELECT pg_create_logical_replication_slot('{}', 'pgoutput')", database.name));
        let text = refusal(config(&database, json!({ "tables": ["a", "b"] }))).await;
        assert!(text.contains("postgres.slot_foreign"), "{text}");
        let tables = "SELECT string_agg(tablename, ',') FROM pg_publication_tables";
        assert_eq!(database.sql(tables), "a", "somebody else's slot reads by this publication");
    }
}

#[tokio::test]
async fn names_that_are_sql_do_no_harm_to_a_stream_b128() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE keepme (id int PRIMARY KEY); CREATE TABLE orders (id int PRIMARY KEY)");
        for (key, value) in [
            ("tables", json!(["public.orders; drop table keepme"])),
            ("slot_name", json!("a'; drop table keepme; --")),
            ("slot_name", json!("a\"; drop table keepme; --")),
            ("publication_name", json!("p\0; drop table keepme; --")),
        ] {
            let mut more = json!({ "tables": ["orders"] });
            more[key] = value;
            refusal(config(&database, more)).await;
        }
        let odd = json!({ "tables": ["orders"], "publication_name": "p\"'; drop table keepme; --" });
        let mut reading = Reading::streaming(&database, odd).await;
        database.sql("INSERT INTO orders VALUES (1)");
        assert_eq!(reading.records(1).await[0].data()["id"], 1);
        assert_eq!(database.sql("SELECT count(*) FROM keepme"), "0");
    }
}

/// The engine takes a source for ill from a failed poll until one returns.
#[tokio::test]
async fn a_lost_connection_is_mended_and_seen_to_be_though_nobody_writes_b058() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)");
        let polling = json!({
            "connection_string": database.url(), "mode": "polling", "tables": ["t"], "poll_interval": "20ms", "max_retries": 1,
        });
        let mut by_poll = Reading::open(polling, None).await.unwrap();
        by_poll.records(1).await;
        let mut by_stream = Reading::streaming(&database, json!({})).await;
        database.sql("INSERT INTO t VALUES (2)");
        by_stream.records(1).await;
        by_poll.records(1).await;
        // The second time nothing was written since the first: not even the log moves.
        for turn in 0..4 {
            let reading = if turn % 2 == 0 { &mut by_poll } else { &mut by_stream };
            database.sql(&format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}' AND pid <> pg_backend_pid()",
                database.name
            ));
            let mut failures = 0;
            let empty = loop {
                match reading.step().await {
                    Ok(seen) => break seen,
                    Err(error) => {
                        assert!(error.is_transient() && failures < 10, "{}", error.chain());
                        failures += 1;
                    }
                }
            };
            assert!(empty.is_empty() && failures > 0, "{version}: {failures} failures, then {empty:?}");
        }
    }
}
