//! `cdc_backend = "peek"`: the same records as the stream's, and as little lost.

use std::time::Duration;

use picomq_connector_sdk::Verdict;
use serde_json::{Value, json};

use crate::reading::{Reading, Seen, config};
use crate::server::{Database, Server, VERSIONS};

const TABLES: &str = "CREATE TABLE orders (id bigserial PRIMARY KEY, v text); CREATE TABLE big (id int PRIMARY KEY, doc text); \
                      ALTER TABLE big ALTER doc SET STORAGE EXTERNAL; CREATE TABLE other (id int)";

fn peeking(database: &Database, more: Value) -> Value {
    let mut settings = json!({ "cdc_backend": "peek", "slot_name": format!("{}_peek", database.name) });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config(database, settings)
}

async fn open(settings: Value) -> Reading {
    let mut reading = Reading::open(settings, None).await.unwrap_or_else(|error| panic!("{}", error.chain()));
    for _ in 0..2 {
        assert_eq!(reading.step().await.unwrap(), []);
    }
    reading
}

/// What happens in a database: rows, keys that change, values that do not, a truncation, DDL between, messages, a large transaction.
fn write(database: &Database) {
    for statement in [
        "INSERT INTO orders (v) SELECT 'row ' || n FROM generate_series(1, 50) n",
        "INSERT INTO big VALUES (1, repeat('x', 10000))",
        "BEGIN; UPDATE big SET id = 2; UPDATE orders SET v = NULL WHERE id < 5; DELETE FROM orders WHERE id = 7; \
         SELECT pg_logical_emit_message(true, 'outbox', 'inside'); COMMIT",
        "BEGIN; INSERT INTO orders (v) VALUES ('never'); SELECT pg_logical_emit_message(false, 'outbox', 'at once'); ROLLBACK",
        "BEGIN; INSERT INTO orders (v) VALUES ('kept'); SAVEPOINT s; INSERT INTO orders (v) VALUES ('gone'); ROLLBACK TO s; COMMIT",
        "ALTER TABLE orders ADD COLUMN w numeric DEFAULT 1.50",
        "UPDATE orders SET w = 2.25 WHERE id = 9",
        "TRUNCATE big",
        "INSERT INTO orders (v) SELECT repeat('y', 100) FROM generate_series(1, 25000)",
        "INSERT INTO other VALUES (1)",
    ] {
        database.sql(statement);
    }
}

#[tokio::test]
async fn peeking_brings_the_same_records_as_streaming_byte_by_byte() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLES);
        let captured = json!(["INSERT", "UPDATE", "DELETE", "TRUNCATE", "MESSAGE"]);
        let tables = json!(["orders", "big"]);
        let settings = json!({ "tables": tables, "capture_operations": captured, "tombstones": true });
        let mut streamed = open(config(&database, settings.clone())).await;
        let mut peeked = open(peeking(&database, settings)).await;
        write(&database);
        // 50 + 1, then 1 and its tombstone, 4, 1 and its tombstone, 2 messages, 1, 1, 1, 25,000.
        let count = 51 + 2 + 4 + 2 + 2 + 1 + 1 + 1 + 25_000;
        let (streamed, peeked) = (streamed.records(count).await, peeked.records(count).await);
        let differing = streamed.iter().zip(&peeked).position(|(one, other)| one != other);
        assert_eq!(
            differing,
            None,
            "{:#?}\n{:#?}",
            &streamed[differing.unwrap_or(0)],
            &peeked[differing.unwrap_or(0)]
        );
    }
}

#[tokio::test]
async fn peeking_survives_nacks_and_kills_and_its_slot_stands_where_it_is_saved() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLES);
        let slot = format!("{}_peek", database.name);
        let settings = peeking(&database, json!({ "tables": ["orders"], "batch_size": 700 }));
        let mut reading = open(settings.clone()).await;
        database.sql("INSERT INTO orders (v) SELECT n FROM generate_series(1, 3000) n");
        for number in 0..20 {
            database.sql(&format!("INSERT INTO orders (v) SELECT {number} FROM generate_series(1, 50)"));
        }
        let id = |record: &Seen| record.data()["id"].as_i64().unwrap();
        let (mut seen, mut rounds) = (Vec::new(), 0);
        while seen.len() < 4000 {
            let (first, _) = reading.poll().await.unwrap();
            reading.bench.resolve(Verdict::Nack).await.unwrap();
            let again = reading.step().await.unwrap();
            let both = first.len().min(again.len());
            assert_eq!(again[..both], first[..both], "the same bytes after a Nack");
            seen.extend(again.iter().map(id));
            rounds += 1;
            if rounds % 2 == 0 {
                reading = reading.killed(settings.clone()).await;
            }
            let saved = serde_json::to_value(reading.saved.as_ref().unwrap().describe().unwrap()).unwrap();
            let saved = saved["state"]["cdc"]["phase"]["stream"]["commit_end"].as_str().unwrap().to_owned();
            let is_behind = format!(
                "SELECT confirmed_flush_lsn <= '{saved}' FROM pg_replication_slots WHERE slot_name = '{slot}'"
            );
            assert_eq!(database.sql(&is_behind), "t", "the slot stands past {saved}");
        }
        assert_eq!(seen, (1..=4000).collect::<Vec<i64>>());
    }
}

#[tokio::test]
async fn a_slot_that_is_peeked_at_moves_with_what_is_acknowledged_and_with_other_tables() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLES);
        let slot = format!("{}_peek", database.name);
        let mut reading = open(peeking(&database, json!({ "tables": ["orders"] }))).await;
        let before = database.confirmed(&slot);
        database.sql("INSERT INTO orders (v) VALUES ('a')");
        let (seen, _) = reading.poll().await.unwrap();
        assert_eq!(seen.len(), 1);
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(database.confirmed(&slot), before, "nothing was acknowledged");
        reading.bench.resolve(Verdict::Ack).await.unwrap();
        let until = tokio::time::Instant::now() + Duration::from_secs(20);
        let mut moved = before;
        for statement in ["SELECT 1", "INSERT INTO other SELECT n FROM generate_series(1, 1000) n"] {
            database.sql(statement);
            loop {
                let polled = tokio::time::timeout(Duration::from_millis(200), reading.step()).await;
                assert!(polled.is_err() || polled.unwrap().unwrap().is_empty());
                let now = database.confirmed(&slot);
                if now != moved {
                    moved = now;
                    break;
                }
                assert!(tokio::time::Instant::now() < until, "the slot stands still after {statement}");
            }
        }
    }
}

#[tokio::test]
async fn no_replication_connection_is_needed() {
    for version in VERSIONS {
        let server = Server::start(version);
        // As a pooler or a host that passes none.
        server.psql("postgres", "ALTER SYSTEM SET max_wal_senders = 0").unwrap();
        server.stop("INT");
        server.start_again();
        let database = Database::on(server);
        database.sql(TABLES);
        database.sql("INSERT INTO orders (v) VALUES ('old')");
        database
            .sql("CREATE ROLE reader LOGIN REPLICATION PASSWORD 'word'; GRANT SELECT ON orders TO reader");
        database.sql("CREATE PUBLICATION picomq_publication FOR TABLE orders");
        let url = database.url().replace("postgres:secret", "reader:word");
        let more = json!({ "connection_string": url, "tables": ["orders"], "snapshot_mode": "initial" });
        let settings = peeking(&database, more);
        let mut reading =
            Reading::open(settings.clone(), None).await.unwrap_or_else(|error| panic!("{}", error.chain()));
        assert_eq!(reading.records(1).await[0].operation(), "READ");
        database.sql("INSERT INTO orders (v) VALUES ('new')");
        assert_eq!(reading.records(1).await[0].data()["v"], "new");
        let mut reading = reading.killed(settings).await;
        database.sql("INSERT INTO orders (v) VALUES ('newer')");
        assert_eq!(reading.records(1).await[0].data()["v"], "newer");
    }
}

#[tokio::test]
async fn a_row_no_batch_can_hold_is_refused_and_the_slot_stands_still() {
    let database = Database::new(15);
    database.sql(TABLES);
    let mut reading = open(peeking(&database, json!({ "tables": ["big"] }))).await;
    let before = database.confirmed(&format!("{}_peek", database.name));
    database
        .sql("INSERT INTO big SELECT 1, string_agg(repeat('x', 1000000), '') FROM generate_series(1, 150)");
    let error = loop {
        match reading.step().await {
            Ok(seen) => assert_eq!(seen, []),
            Err(error) => break error,
        }
    };
    assert!(!error.is_transient() && error.chain().contains("batch_bytes"), "{}", error.chain());
    assert_eq!(database.confirmed(&format!("{}_peek", database.name)), before);
}

#[tokio::test]
async fn a_slot_is_one_that_standbys_keep_whichever_way_it_is_made() {
    let database = Database::new(18);
    database.sql(TABLES);
    open(config(&database, json!({}))).await;
    open(peeking(&database, json!({}))).await;
    let kept = "SELECT count(*) FROM pg_replication_slots WHERE database = current_database() AND failover";
    assert_eq!(database.sql(kept), "2");
}
