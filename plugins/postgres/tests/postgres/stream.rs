//! The stream: nothing lost, nothing acknowledged comes again, the slot never past what was saved.

use std::time::Duration;

use picomq_connector_sdk::Verdict;
use serde_json::{Value, json};

use crate::reading::{Reading, config};
use crate::server::{Database, Server, VERSIONS};

const TABLE: &str = "CREATE TABLE orders (id bigserial PRIMARY KEY, v text)";

fn ids(seen: &[crate::reading::Seen]) -> Vec<i64> {
    seen.iter().map(|record| record.data()["id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn an_insert_an_update_and_a_delete_come_as_documented() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let mut reading = Reading::streaming(&database, json!({ "tombstones": true })).await;
        database.sql("INSERT INTO orders (v) VALUES ('a')");
        database.sql("UPDATE orders SET v = 'b'");
        database.sql("DELETE FROM orders");
        let seen = reading.records(4).await;
        let operations: Vec<&str> = seen.iter().map(|record| record.operation()).collect();
        assert_eq!(operations, ["INSERT", "UPDATE", "DELETE", ""]);
        assert_eq!(seen[1].data(), &json!({"id": 1, "v": "b"}));
        assert_eq!(seen[2].data(), &json!({"id": 1}));
        assert_eq!((seen[3].key.as_deref(), &seen[3].value), (Some("1"), &Value::Null));
        assert!(seen.iter().all(|record| record.key.as_deref() == Some("1")));
        let source = &seen[0].value["source"];
        assert_eq!(seen[0].id.as_deref(), Some(format!("{}:0", source["lsn"].as_str().unwrap()).as_str()));
        assert_eq!(seen[0].value["schema_name"], "public");
    }
}

#[tokio::test]
async fn a_transaction_is_resumed_inside_and_the_slot_waits_for_its_end_b044() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let mut reading = Reading::streaming(&database, json!({ "batch_size": 100 })).await;
        let before = database.confirmed(&database.name);
        database.sql("INSERT INTO orders (v) SELECT 'x' FROM generate_series(1, 5000)");
        let mut read = Vec::new();
        for _ in 0..3 {
            read.extend(ids(&reading.step().await.unwrap()));
        }
        // Another process goes on, with other sizes of batches.
        let mut reading = reading.killed(config(&database, json!({ "batch_size": 70 }))).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(database.confirmed(&database.name), before, "the slot passed an unread transaction");
        let rest = 5000 - read.len();
        read.extend(ids(&reading.records(rest).await));
        assert_eq!(read, (1..=5000).collect::<Vec<i64>>());
    }
}

#[tokio::test]
async fn a_nacked_batch_comes_again_byte_by_byte_and_the_slot_stands_still() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let reading = Reading::streaming(&database, json!({})).await;
        let before = database.confirmed(&database.name);
        database.sql("INSERT INTO orders (v) VALUES ('a'), ('b')");
        let (first, _) = reading.poll().await.unwrap();
        for _ in 0..3 {
            reading.bench.resolve(Verdict::Nack).await.unwrap();
            let (again, _) = reading.poll().await.unwrap();
            assert_eq!(again, first);
            assert_eq!(database.confirmed(&database.name), before);
        }
        reading.bench.resolve(Verdict::Ack).await.unwrap();
        let until = tokio::time::Instant::now() + Duration::from_secs(10);
        while database.confirmed(&database.name) == before {
            assert!(tokio::time::Instant::now() < until, "the slot does not follow the Ack");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test]
async fn the_first_row_after_the_saved_position_is_not_skipped_b046() {
    let database = Database::new(15);
    database.sql(TABLE);
    let mut reading = Reading::streaming(&database, json!({})).await;
    for number in 1..=20 {
        database.sql("INSERT INTO orders (v) VALUES ('x')");
        assert_eq!(ids(&reading.records(1).await), [number]);
        reading = reading.again(config(&database, json!({}))).await;
    }
}

#[tokio::test]
async fn savepoints_ddl_and_messages_stop_nothing_and_add_nothing_b026() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let mut reading = Reading::streaming(&database, json!({})).await;
        database.sql(
            "BEGIN; INSERT INTO orders (v) VALUES ('keep'); SAVEPOINT s; INSERT INTO orders (v) VALUES ('gone'); \
             ROLLBACK TO SAVEPOINT s; COMMIT",
        );
        database.sql("CREATE TABLE other (id int)");
        database.sql("INSERT INTO orders (v) VALUES ('next')");
        let seen = reading.records(2).await;
        assert_eq!((&seen[0].data()["v"], &seen[1].data()["v"]), (&json!("keep"), &json!("next")));
    }
}

#[tokio::test]
async fn messages_and_types_of_ones_own_stop_nothing_b025() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN small AS int");
        database.sql("CREATE TABLE moods (id int PRIMARY KEY, one mood, many mood[], d small)");
        let mut reading = Reading::streaming(&database, json!({})).await;
        database
            .sql("SELECT pg_logical_emit_message(true, 'x', 'y'), pg_logical_emit_message(false, 'x', 'y')");
        database.sql("INSERT INTO moods VALUES (1, 'happy', '{sad,happy}', 5)");
        let seen = reading.records(1).await;
        assert_eq!(seen[0].data(), &json!({"id": 1, "one": "happy", "many": ["sad", "happy"], "d": 5}));
    }
}

#[tokio::test]
async fn an_idle_source_lets_the_slot_move_with_other_tables_and_not_past_an_unsaved_batch_b050() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        database.sql("CREATE TABLE busy (id bigserial PRIMARY KEY, v text)");
        let mut reading = Reading::streaming(&database, json!({ "tables": ["orders"] })).await;
        database.sql("INSERT INTO orders (v) VALUES ('a')");
        let (seen, state) = reading.poll().await.unwrap();
        assert_eq!(seen.len(), 1);
        let before = database.confirmed(&database.name);
        database.sql("INSERT INTO busy (v) SELECT repeat('x', 100) FROM generate_series(1, 20000)");
        let end = database.sql("SELECT pg_current_wal_lsn()");
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(database.confirmed(&database.name), before);
        reading.saved = state;
        reading.bench.resolve(Verdict::Ack).await.unwrap();
        let told = format!("{:?}", reading.bench.reports());
        assert!(
            told.contains("slot_wal") && told.contains("LagBytes") && told.contains("LagSeconds"),
            "{told}"
        );
        // A watermark, at most one in ten seconds.
        assert_eq!(reading.step().await.unwrap(), []);
        let moved = format!(
            "SELECT confirmed_flush_lsn >= '{end}' FROM pg_replication_slots WHERE slot_name = '{}'",
            database.name
        );
        let until = tokio::time::Instant::now() + Duration::from_secs(10);
        while database.sql(&moved) != "t" {
            assert!(
                tokio::time::Instant::now() < until,
                "the slot stays at {}",
                database.confirmed(&database.name)
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test]
async fn lost_backends_are_replaced_by_themselves_b058() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let mut reading = Reading::streaming(&database, json!({})).await;
        database.sql("INSERT INTO orders (v) VALUES ('a')");
        assert_eq!(ids(&reading.records(1).await), [1]);
        let name = &database.name;
        database.sql(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"
        ));
        database.sql("INSERT INTO orders (v) VALUES ('b')");
        let mut read = Vec::new();
        let mut failures = 0;
        while read.is_empty() {
            match reading.step().await {
                Ok(seen) => read.extend(ids(&seen)),
                Err(error) => {
                    assert!(error.is_transient(), "{}", error.chain());
                    failures += 1;
                    assert!(failures < 10, "{}", error.chain());
                }
            }
        }
        assert_eq!(read, [2]);
    }
}

/// On two workers: stopping the server blocks one, while the stream on the other must let it go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_stops_in_time_and_nothing_acknowledged_comes_again_after_a_stop_or_a_crash_b058() {
    for version in VERSIONS {
        let server = Server::start(version);
        for signal in ["INT", "QUIT"] {
            let database = Database::on(server);
            database.sql(TABLE);
            let mut reading = Reading::streaming(&database, json!({})).await;
            database.sql("INSERT INTO orders (v) SELECT 'x' FROM generate_series(1, 100)");
            assert_eq!(reading.records(100).await.len(), 100);
            database.sql("INSERT INTO orders (v) VALUES ('not acknowledged')");
            assert_eq!(ids(&reading.poll().await.unwrap().0), [101]);
            let begun = std::time::Instant::now();
            server.stop(signal);
            // The server would wait for us for a minute, or for ever.
            assert!(begun.elapsed() < Duration::from_secs(20), "{version} {signal}: {:?}", begun.elapsed());
            server.start_again();
            reading.bench.resolve(Verdict::Nack).await.unwrap();
            let mut read = Vec::new();
            while read.is_empty() {
                if let Ok(seen) = reading.step().await {
                    read.extend(ids(&seen));
                }
            }
            assert_eq!(read, [101], "{version} {signal}");
        }
    }
}

#[tokio::test]
async fn heartbeats_move_both_ends_of_the_slot_where_nobody_writes_and_are_no_records_b050() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let mut reading = Reading::streaming(&database, json!({ "heartbeat_interval": "1s" })).await;
        let before = database.confirmed(&database.name);
        // A watermark, at most one in ten seconds.
        assert_eq!(reading.step().await.unwrap(), []);
        let until = tokio::time::Instant::now() + Duration::from_secs(10);
        while database.confirmed(&database.name) == before {
            assert!(tokio::time::Instant::now() < until, "the slot does not follow the heartbeats");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if version != VERSIONS[0] {
            continue;
        }
        // What the server may remove of its log ends at restart_lsn, which moves with the snapshots that the server writes by
        // itself, a checkpoint among others.
        let place =
            format!("SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = '{}'", database.name);
        let before = database.sql(&place);
        let until = tokio::time::Instant::now() + Duration::from_secs(60);
        while database.sql(&place) == before {
            assert!(tokio::time::Instant::now() < until, "restart_lsn stays at {before}");
            database.sql("CHECKPOINT");
            let _ = tokio::time::timeout(Duration::from_millis(300), reading.step()).await;
        }
    }
}
