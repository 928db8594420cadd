//! Polling: no row passed over, cursors exact, cleanup of exactly what was delivered.

use picomq_connector_postgres_source::PostgresSource;
use picomq_connector_sdk::conformance::{self, Subject};
use picomq_connector_sdk::ffi::host::RecordView;
use picomq_connector_sdk::{Limits, Verdict};
use serde_json::{Value, json};

use crate::reading::{Reading, Seen};
use crate::server::{Database, Session, VERSIONS};

fn config(database: &Database, more: Value) -> Value {
    let mut config = json!({
        "connection_string": database.url(), "mode": "polling", "tables": ["t"], "poll_interval": "20ms",
    });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config
}

async fn open(database: &Database, more: Value) -> Reading {
    Reading::open(config(database, more), None).await.unwrap_or_else(|error| panic!("{}", error.chain()))
}

async fn refusal(database: &Database, more: Value) -> String {
    Reading::open(config(database, more), None).await.err().expect("it is refused").chain()
}

fn ids(seen: &[Seen]) -> Vec<i64> {
    seen.iter().map(|record| record.data()["id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn a_row_that_commits_late_is_not_passed_over_b034() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id bigserial PRIMARY KEY)");
        let mut late = Session::open(&database);
        late.sql("BEGIN; INSERT INTO t DEFAULT VALUES;");
        database.sql("INSERT INTO t DEFAULT VALUES");
        let mut reading = open(&database, json!({})).await;
        reading.nothing().await;
        late.sql("COMMIT;");
        assert_eq!(ids(&reading.records(2).await), [1, 2]);
    }
}

#[tokio::test]
async fn microseconds_are_kept_and_a_row_comes_once_b035() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, at timestamptz)");
        database.sql("INSERT INTO t VALUES (1, '2024-01-01 00:00:00.856665')");
        let mut reading = open(&database, json!({ "tracking_column": "at" })).await;
        assert_eq!(ids(&reading.records(1).await), [1]);
        reading.nothing().await;
        database
            .sql("INSERT INTO t VALUES (2, '2024-01-01 00:00:00.856666'), (3, '2024-01-01 00:00:00.856667')");
        assert_eq!(ids(&reading.records(2).await), [2, 3]);
        reading.nothing().await;
    }
}

#[tokio::test]
async fn numbers_are_no_floats_and_cleanup_finds_the_exact_row_b036() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id numeric PRIMARY KEY)");
        database.sql("INSERT INTO t VALUES (9007199254740992), (9007199254740993), (9007199254740993.25), (9007199254740994)");
        let mut reading = open(&database, json!({ "delete_after_read": true, "batch_size": 1 })).await;
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.extend(reading.records(1).await);
        }
        let read: Vec<&Value> = seen.iter().map(|record| &record.data()["id"]).collect();
        assert_eq!(
            read,
            [&json!("9007199254740992"), &json!("9007199254740993"), &json!("9007199254740993.25")]
        );
        assert_eq!(database.sql("SELECT id FROM t"), "9007199254740994");
    }
}

#[tokio::test]
async fn equal_values_at_the_page_edge_all_come_and_texts_follow_the_database_b038() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT n, 'same' FROM generate_series(1, 25) n");
        let mut reading = open(&database, json!({ "tracking_column": "v", "batch_size": 10 })).await;
        assert_eq!(ids(&reading.records(25).await), (1..=25).collect::<Vec<i64>>());
        database.sql("TRUNCATE t; INSERT INTO t VALUES (1, '8'), (2, '9'), (3, '10'), (4, '11')");
        let mut reading = open(&database, json!({ "tracking_column": "v", "batch_size": 2 })).await;
        let mut seen = ids(&reading.records(4).await);
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 3, 4]);
    }
}

#[tokio::test]
async fn a_null_is_told_about_once_and_stops_nothing_b039() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, at timestamp); INSERT INTO t VALUES (1, '2024-01-01'), (2, NULL), (3, '2024-01-02')");
        let mut reading = open(&database, json!({ "tracking_column": "at" })).await;
        assert_eq!(ids(&reading.records(2).await), [1, 3]);
        reading.nothing().await;
        let told = format!("{:?}", reading.bench.reports());
        assert_eq!(told.matches("make the column NOT NULL").count(), 1, "{told}");
    }
}

#[tokio::test]
async fn a_query_of_ones_own_reads_everything_in_order_or_is_refused_b040() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT n, 'v' FROM generate_series(1, 300) n ORDER BY random()");
        let text = refusal(&database, json!({ "custom_query": "SELECT * FROM $table WHERE id > $offset LIMIT $limit", "initial_offset": "0" })).await;
        assert!(text.contains("ORDER BY"), "{text}");
        let query = "SELECT id, v || '!' AS v, now() < '$now'::timestamptz + interval '1 hour' AND $now_unix > 1000 AS fresh FROM $table WHERE id > $offset ORDER BY id LIMIT $limit";
        let mut reading =
            open(&database, json!({ "custom_query": query, "initial_offset": "0", "batch_size": 100 })).await;
        let seen = reading.records(300).await;
        assert_eq!(ids(&seen), (1..=300).collect::<Vec<i64>>());
        assert_eq!(seen[0].data(), &json!({"id": 1, "v": "v!", "fresh": true}));
    }
}

#[tokio::test]
async fn a_first_poll_begins_with_the_first_row_whatever_its_value_b041() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, at timestamptz); INSERT INTO t VALUES (0, '1970-01-01 00:00+00'), (-5, '1969-12-31 00:00+00')");
        assert_eq!(ids(&open(&database, json!({})).await.records(2).await), [-5, 0]);
        let mut by_time = open(&database, json!({ "tracking_column": "at" })).await;
        assert_eq!(ids(&by_time.records(2).await), [-5, 0]);
        assert_eq!(ids(&open(&database, json!({ "initial_offset": "-5" })).await.records(1).await), [0]);
    }
}

#[tokio::test]
async fn the_time_zone_of_a_role_moves_no_cursor_b042() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, at timestamp)");
        database.sql(&format!("ALTER DATABASE {} SET timezone = 'Asia/Kathmandu'", database.name));
        database.sql("INSERT INTO t VALUES (1, '2024-10-27 02:30:00')");
        let mut reading = open(&database, json!({ "tracking_column": "at" })).await;
        assert_eq!(reading.records(1).await[0].data()["at"], "2024-10-27T02:30:00");
        database.sql("INSERT INTO t VALUES (2, '2024-10-27 02:30:00.000001')");
        assert_eq!(ids(&reading.records(1).await), [2]);
        reading.nothing().await;
    }
}

#[tokio::test]
async fn every_column_comes_with_its_type_b029() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, f float8[], u uuid, j jsonb, i interval, n inet, twice int GENERATED ALWAYS AS (id * 2) STORED)");
        database.sql("INSERT INTO t VALUES (1, '{0.5,NULL}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"a\": [1]}', '1 day', '10.0.0.1')");
        let seen = open(&database, json!({})).await.records(1).await;
        let right = json!({
            "id": 1, "f": [0.5, null], "u": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "j": {"a": [1]}, "i": "P1D", "n": "10.0.0.1", "twice": 2,
        });
        assert_eq!(seen[0].data(), &right);
        assert_eq!((seen[0].operation(), seen[0].key.as_deref()), ("SELECT", Some("1")));
        assert_eq!(seen[0].id.as_deref(), Some("public.t:[\"1\"]"));
    }
}

#[tokio::test]
async fn names_need_no_care_and_cannot_do_harm_b030_b128() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql(r#"CREATE TABLE keepme (id int); CREATE TABLE "Order" ("updatedAt" int PRIMARY KEY, "select" int, "q""q" int)"#);
        database.sql(r#"INSERT INTO "Order" VALUES (1, 2, 3)"#);
        let seen = open(
            &database,
            json!({ "tables": ["Order"], "tracking_column": "updatedAt", "snake_case_columns": true }),
        )
        .await
        .records(1)
        .await;
        assert_eq!(seen[0].data(), &json!({"updated_at": 1, "select": 2, "q\"q": 3}));
        for (key, value) in [
            ("tables", json!(["public.orders; drop table keepme"])),
            ("tracking_column", json!("id\" desc --")),
            ("primary_key_column", json!("1=1; drop table keepme; --")),
        ] {
            let mut more = json!({ "tables": ["Order"], "tracking_column": "updatedAt" });
            more[key] = value;
            refusal(&database, more).await;
        }
        let offset =
            json!({ "tables": ["Order"], "tracking_column": "updatedAt", "initial_offset": "1' or '1'='1" });
        let mut reading = open(&database, offset).await;
        assert!(reading.step().await.unwrap_err().chain().contains("22P02"));
        assert_eq!(database.sql("SELECT count(*) FROM keepme"), "0");
    }
}

#[tokio::test]
async fn a_row_changed_after_it_was_read_is_not_deleted() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT n, 'old' FROM generate_series(1, 3) n");
        let reading = open(&database, json!({ "delete_after_read": true })).await;
        let (seen, _) = reading.poll().await.unwrap();
        assert_eq!(seen.len(), 3);
        database.sql("UPDATE t SET v = 'new' WHERE id = 2");
        reading.bench.resolve(Verdict::Ack).await.unwrap();
        assert_eq!(database.sql("SELECT id, v FROM t"), "2|new");
    }
}

#[tokio::test]
async fn delivered_rows_are_marked_and_marked_rows_are_not_read() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, done bool DEFAULT false); INSERT INTO t VALUES (1, true), (2, false), (3, false)");
        let mut reading = open(&database, json!({ "processed_column": "done" })).await;
        assert_eq!(ids(&reading.records(2).await), [2, 3]);
        assert_eq!(database.sql("SELECT count(*) FROM t WHERE done"), "3");
    }
}

#[tokio::test]
async fn one_column_can_be_the_payload() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int PRIMARY KEY, j jsonb, b bytea, x text); INSERT INTO t VALUES (1, '{\"a\": 1}', '\\x7b7d', 'plain')");
        for (column, format, right) in
            [("j", "json", "{\"a\": 1}"), ("b", "bytea", "{}"), ("b", "JSONB", "{}"), ("x", "text", "plain")]
        {
            let settings = json!({ "payload_column": column, "payload_format": format });
            let (seen, _) = open(&database, settings).await.poll_raw().await;
            assert_eq!(seen, [right], "{column} {format}");
        }
        let mut reading = open(&database, json!({ "payload_column": "x", "payload_format": "json" })).await;
        let text = reading.step().await.unwrap_err().chain();
        assert!(text.contains("column x") && text.contains("no JSON"), "{text}");
    }
}

#[tokio::test]
async fn a_table_without_a_key_is_refused_and_one_that_fails_leaves_the_others_their_turn() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE t (id int); CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY)");
        let text = refusal(&database, json!({})).await;
        assert!(text.contains("primary_key_column"), "{text}");
        let mut reading = open(&database, json!({ "tables": ["a", "b"], "max_retries": 1 })).await;
        database.sql("DROP TABLE a; INSERT INTO b VALUES (1)");
        let mut seen = Vec::new();
        let mut failures = 0;
        while seen.is_empty() {
            match reading.step().await {
                Ok(some) => seen.extend(some),
                Err(_) => failures += 1,
            }
        }
        assert_eq!(ids(&seen), [1]);
        assert!(failures > 0, "the dropped table was not missed");
    }
}

#[tokio::test]
async fn a_tracking_column_that_was_changed_is_refused_with_the_way_back() {
    let database = Database::new(15);
    database.sql("CREATE TABLE t (id int PRIMARY KEY, at int); INSERT INTO t VALUES (1, 1)");
    let mut reading = open(&database, json!({})).await;
    reading.records(1).await;
    let mut reading = reading.killed(config(&database, json!({ "tracking_column": "at" }))).await;
    let text = reading.step().await.unwrap_err().chain();
    assert!(text.contains("set tracking_column"), "{text}");
}

/// Rows that are deleted once they are delivered, several with one tracking value.
struct Deleting {
    database: Database,
}

impl Subject for Deleting {
    type Source = PostgresSource;

    async fn reset(&self) {
        self.database.sql("DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT n, n / 7 FROM generate_series(0, 19) n");
    }

    fn config(&self) -> Value {
        let more = json!({ "delete_after_read": true, "tracking_column": "v", "batch_size": 4, "poll_interval": "5ms" });
        config(&self.database, more)
    }

    fn limits(&self) -> Limits {
        Limits { batch_records: 4, batch_bytes: 1 << 20 }
    }

    fn expected(&self) -> Vec<String> {
        (0..20).map(|id| id.to_string()).collect()
    }

    fn identity(&self, record: &RecordView<'_>) -> String {
        String::from_utf8_lossy(record.key.expect("the table has a key")).into_owned()
    }

    async fn changed(&self) -> std::collections::BTreeSet<String> {
        let gone = "SELECT n FROM generate_series(0, 19) n WHERE NOT EXISTS (SELECT 1 FROM t WHERE id = n)";
        self.database.sql(gone).lines().map(str::to_owned).collect()
    }

    fn has_effects(&self) -> bool {
        true
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polling_with_cleanup_keeps_the_rules() {
    conformance::check(&Deleting { database: Database::new(15) }).await;
}
