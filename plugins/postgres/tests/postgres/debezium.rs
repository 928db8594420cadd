//! An offset of Debezium's in the place of a state, and records in its form, on real servers.

use picomq_connector_sdk::State;
use serde_json::{Value, json};

use crate::reading::{Reading, config};
use crate::server::{Database, VERSIONS};

fn offset(offset: Value) -> Option<State> {
    let document = json!({ "debezium": { "partition": { "server": "app" }, "offset": offset } });
    Some(State::from_bytes(document.to_string()))
}

/// Where the log ends now, as Debezium writes it.
fn now(database: &Database) -> u64 {
    database.sql("SELECT pg_current_wal_lsn() - '0/0'").parse().unwrap()
}

fn prepare(database: &Database, plugin: &str) {
    database.sql("CREATE TABLE orders (id int PRIMARY KEY, v text); INSERT INTO orders VALUES (0, 'old')");
    database.sql("CREATE PUBLICATION picomq_publication FOR ALL TABLES");
    database.sql(&format!("SELECT pg_create_logical_replication_slot('{}', '{plugin}')", database.name));
}

async fn refusal(config: Value, saved: Option<State>) -> String {
    Reading::open(config, saved).await.map(drop).unwrap_err().chain()
}

#[tokio::test]
async fn an_offset_is_gone_on_from_at_its_slot_and_no_row_is_read_again() {
    for version in VERSIONS {
        let database = Database::new(version);
        prepare(&database, "pgoutput");
        database.sql("INSERT INTO orders VALUES (1, 'delivered')");
        let at = now(&database);
        database.sql("INSERT INTO orders VALUES (2, 'next')");
        // The slot is Debezium's: nobody says adopt_slot, and a snapshot would be the default.
        let settings = config(
            &database,
            json!({ "snapshot_mode": "initial", "envelope": "debezium", "topic_prefix": "app" }),
        );
        let given = offset(json!({ "lsn": at + 8, "lsn_proc": at + 8, "lsn_commit": at, "txId": 7 }));
        let mut reading = Reading::open(settings.clone(), given).await.unwrap();
        let seen = reading.records(1).await;
        assert_eq!((&seen[0].value["op"], &seen[0].value["after"]["v"]), (&json!("c"), &json!("next")));
        assert_eq!(seen[0].key.as_deref(), Some(r#"{"id":2}"#));
        // From then on the state is our own.
        let mut reading = reading.again(settings).await;
        database.sql("DELETE FROM orders WHERE id = 1");
        let seen = reading.records(2).await;
        assert_eq!((&seen[0].value["op"], &seen[1].value), (&json!("d"), &Value::Null));
    }
}

#[tokio::test]
async fn an_offset_without_a_change_begins_where_the_slot_stands() {
    for version in VERSIONS {
        let database = Database::new(version);
        prepare(&database, "pgoutput");
        database.sql("INSERT INTO orders VALUES (1, 'first')");
        let given = offset(
            json!({ "lsn": 5, "snapshot": "INITIAL", "last_snapshot_record": true, "snapshot_completed": true }),
        );
        let mut reading = Reading::open(config(&database, json!({})), given).await.unwrap();
        assert_eq!(reading.records(1).await[0].data()["v"], "first");
    }
}

#[tokio::test]
async fn an_offset_that_does_not_fit_the_slot_is_an_error_and_never_a_gap_b055() {
    for version in VERSIONS {
        let database = Database::new(version);
        prepare(&database, "pgoutput");
        let old = now(&database);
        database.sql("INSERT INTO orders VALUES (1, 'x')");
        let given = |lsn: u64| offset(json!({ "lsn": lsn, "lsn_commit": lsn }));
        let text = refusal(config(&database, json!({})), given(old + (1 << 40))).await;
        assert!(text.contains("postgres.server_behind"), "{text}");
        let text = refusal(config(&database, json!({ "slot_name": "nobodys" })), given(old)).await;
        assert!(text.contains("postgres.slot_missing") && text.contains("slot.name"), "{text}");
        let text =
            refusal(config(&database, json!({ "mode": "polling", "tables": ["orders"] })), given(old)).await;
        assert!(text.contains("mode = \"cdc\""), "{text}");
        let unfinished = offset(json!({ "lsn": old, "snapshot": "INITIAL", "snapshot_completed": false }));
        let text = refusal(config(&database, json!({})), unfinished).await;
        assert!(text.contains("not finished"), "{text}");
        database
            .sql(&format!("SELECT pg_replication_slot_advance('{}', pg_current_wal_lsn())", database.name));
        let text = refusal(config(&database, json!({})), given(old)).await;
        assert!(text.contains("postgres.slot_moved"), "{text}");
    }
}

#[tokio::test]
async fn a_slot_of_another_plugin_is_refused_with_a_way_that_loses_nothing_b051() {
    for version in VERSIONS {
        let database = Database::new(version);
        // As decoderbufs: a plugin that we do not read.
        prepare(&database, "test_decoding");
        let at = now(&database);
        let text =
            refusal(config(&database, json!({})), offset(json!({ "lsn": at, "lsn_commit": at }))).await;
        assert!(text.contains("postgres.slot_plugin") && text.contains("test_decoding"), "{text}");
        let (_, command) = text.split_once("then run: ").unwrap();
        let (command, rest) = command.split_once(';').unwrap();
        let (_, slot) = rest.split_once("slot_name = \"").unwrap();
        let slot = slot.split('"').next().unwrap();

        database.sql(command);
        database.sql("INSERT INTO orders VALUES (1, 'sent by Debezium')");
        let later = now(&database);
        database.sql("INSERT INTO orders VALUES (2, 'next')");
        let given = offset(json!({ "lsn": later, "lsn_commit": later }));
        let mut reading =
            Reading::open(config(&database, json!({ "slot_name": slot })), given).await.unwrap();
        assert_eq!(reading.records(1).await[0].data()["v"], "next");
    }
}
