//! Logical messages as records, where they are asked for.

use picomq_connector_sdk::Verdict;
use serde_json::{Value, json};

use crate::reading::{Reading, Seen, config};
use crate::server::{Database, VERSIONS};

const TABLE: &str = "CREATE TABLE orders (id bigserial PRIMARY KEY, v text)";

fn wanted() -> Value {
    json!({ "capture_operations": ["INSERT", "MESSAGE"], "message_prefixes": ["outbox", "audit.*"], "batch_size": 3 })
}

fn told(seen: &[Seen]) -> Vec<String> {
    let one = |record: &Seen| match record.operation() {
        "MESSAGE" => format!("{} {}", record.data()["prefix"].as_str().unwrap(), record.data()["content"]),
        other => format!("{other} {}", record.data()["v"]),
    };
    seen.iter().map(one).collect()
}

#[tokio::test]
async fn messages_come_in_their_place_and_those_of_no_transaction_at_once() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let mut reading = Reading::streaming(&database, wanted()).await;
        database.sql(
            "BEGIN; INSERT INTO orders (v) VALUES ('a'); SELECT pg_logical_emit_message(true, 'outbox', '{\"n\": 1}'); \
             SELECT pg_logical_emit_message(true, 'other', 'not asked for'); INSERT INTO orders (v) VALUES ('b'); COMMIT",
        );
        // Rolled back: what is not of the transaction was said all the same.
        database.sql(
            "BEGIN; SELECT pg_logical_emit_message(false, 'audit.login', 'tried'); \
             SELECT pg_logical_emit_message(true, 'audit.login', 'never'); ROLLBACK",
        );
        database.sql("SELECT pg_logical_emit_message(false, 'outbox', '\\xff00'::bytea)");
        database.sql("INSERT INTO orders (v) VALUES ('c')");
        let seen = reading.records(6).await;
        assert_eq!(
            told(&seen),
            [
                "INSERT \"a\"",
                "outbox \"{\\\"n\\\": 1}\"",
                "INSERT \"b\"",
                "audit.login \"tried\"",
                "outbox null",
                "INSERT \"c\""
            ]
        );
        assert_eq!(seen[4].data()["content_base64"], "/wA=");
        assert_eq!(
            (seen[1].key.as_deref(), &seen[1].data()["transactional"]),
            (Some("\"outbox\""), &json!(true))
        );
        assert_eq!(
            (&seen[1].value["source"]["ordinal"], &seen[2].value["source"]["ordinal"]),
            (&json!(1), &json!(3))
        );
        assert_eq!(
            (&seen[3].value["timestamp"], &seen[3].value["source"]["xid"]),
            (&Value::Null, &Value::Null)
        );
        let mut ids: Vec<&str> = seen.iter().map(|record| record.id.as_deref().unwrap()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 6);
        reading.nothing().await;
    }
}

#[tokio::test]
async fn messages_survive_nacks_and_kills_at_any_place_without_a_gap_or_a_repeat() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(TABLE);
        let mut reading = Reading::streaming(&database, wanted()).await;
        let mut expected = Vec::new();
        for number in 0..5 {
            database.sql(&format!(
                "BEGIN; SELECT pg_logical_emit_message(false, 'audit.x', '{number} before'); \
                 SELECT pg_logical_emit_message(true, 'outbox', '{number}'); INSERT INTO orders (v) VALUES ('{number}'); \
                 SELECT pg_logical_emit_message(true, 'outbox', '{number} again'); COMMIT"
            ));
            expected.extend([
                format!("audit.x \"{number} before\""),
                format!("outbox \"{number}\""),
                format!("INSERT \"{number}\""),
                format!("outbox \"{number} again\""),
            ]);
        }
        let mut seen = Vec::new();
        while seen.len() < expected.len() {
            let (first, _) = reading.poll().await.unwrap();
            reading.bench.resolve(Verdict::Nack).await.unwrap();
            let again = reading.step().await.unwrap();
            // Where a batch ends depends on what the server had sent by then, its records do not.
            let both = first.len().min(again.len());
            assert_eq!(again[..both], first[..both], "the same bytes after a Nack");
            seen.extend(told(&again));
            reading = reading.killed(config(&database, wanted())).await;
        }
        assert_eq!(seen, expected);
    }
}

#[tokio::test]
async fn switching_messages_on_inside_a_transaction_changes_no_id_of_a_row() {
    let database = Database::new(15);
    database.sql(TABLE);
    let rows = json!({ "batch_size": 2 });
    let mut reading = Reading::streaming(&database, rows).await;
    database.sql(
        "BEGIN; SELECT pg_logical_emit_message(true, 'outbox', '0'); INSERT INTO orders (v) SELECT n FROM generate_series(1, 6) n; \
         SELECT pg_logical_emit_message(true, 'outbox', '1'); COMMIT",
    );
    let first = reading.step().await.unwrap();
    assert_eq!(first.len(), 2);
    let mut reading = reading.again(config(&database, wanted())).await;
    let rest = reading.records(5).await;
    assert_eq!(told(&rest), ["INSERT \"3\"", "INSERT \"4\"", "INSERT \"5\"", "INSERT \"6\"", "outbox \"1\""]);
    assert_eq!(rest[0].value["source"]["ordinal"], 3);
}
