//! Tables read while the stream runs: on request, and what a killed snapshot left.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use picomq_connector_sdk::{Source, Verdict};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::reading::{Reading, Seen, config};
use crate::server::{Database, Session, VERSIONS};

/// Whether nothing is read beside the stream.
fn is_idle(reading: &Reading) -> bool {
    let state = reading.saved.as_ref().unwrap().describe().unwrap();
    let work = &state["state"]["cdc"]["backfill"];
    work["rest"].is_null() && work["jobs"].as_array().is_none_or(Vec::is_empty)
}

/// Polls until nothing is left to be read beside the stream.
async fn until_idle(reading: &mut Reading) -> Vec<Seen> {
    let mut seen = Vec::new();
    while !is_idle(reading) {
        seen.extend(reading.step().await.unwrap());
    }
    seen
}

/// The last word on each key: the row, or nothing when it was deleted.
fn last_words(seen: &[Seen]) -> BTreeMap<i64, String> {
    let mut rows = BTreeMap::new();
    for record in seen {
        let key: i64 = record.key.as_deref().unwrap().parse().unwrap();
        if let Some(old) = record.value["old_data"]["id"].as_i64().filter(|old| *old != key) {
            rows.remove(&old);
        }
        if record.operation() == "DELETE" {
            rows.remove(&key);
        } else {
            rows.insert(key, record.data()["v"].as_str().unwrap().to_owned());
        }
    }
    rows
}

fn table(database: &Database) -> BTreeMap<i64, String> {
    let rows = database.sql("SELECT id, v FROM a ORDER BY id");
    let row = |line: &str| {
        let (id, v) = line.split_once('|').unwrap();
        (id.parse().unwrap(), v.to_owned())
    };
    rows.lines().map(row).collect()
}

#[tokio::test]
async fn a_table_is_read_on_request_while_the_stream_goes_on() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY, v text); INSERT INTO a SELECT n, 'old' FROM generate_series(1, 3000) n");
        let mut reading = Reading::streaming(&database, json!({ "tables": ["a"], "batch_size": 500 })).await;
        let (answer, mut seen) = reading.ask("backfill", json!({ "table": "a" })).await;
        assert_eq!(answer.unwrap()["taken"], true);
        database.sql("UPDATE a SET v = 'new' WHERE id % 1000 = 0; DELETE FROM a WHERE id = 7; INSERT INTO a VALUES (5000, 'new')");
        seen.extend(until_idle(&mut reading).await);
        let count = |operation| seen.iter().filter(|record| record.operation() == operation).count();
        assert_eq!(count("INSERT"), 1, "{version}: the stream stood still");
        assert_eq!(last_words(&seen), table(&database), "{version}");
        assert!((2996..=3000).contains(&count("READ")), "{version}: {} rows", count("READ"));
        let read = seen.iter().find(|record| record.operation() == "READ").unwrap();
        assert!(read.value["source"]["lsn"].is_string() && read.id.as_ref().unwrap().contains("public.a"));
        // It goes on as before, and nothing is asked of the server any more.
        database.sql("INSERT INTO a VALUES (5001, 'later')");
        assert_eq!(reading.records(1).await[0].operation(), "INSERT");
    }
}

/// A writer of its own thread, until it is dropped.
struct Writer {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<u32>>,
}

impl Writer {
    fn start(version: u32, database: &str, sql: &'static str) -> Writer {
        let stop = Arc::new(AtomicBool::new(false));
        let (asked, name) = (Arc::clone(&stop), database.to_owned());
        let thread = std::thread::spawn(move || {
            let mut written = 0;
            while !asked.load(Ordering::SeqCst) {
                crate::server::Server::of(version).psql(&name, sql).unwrap();
                written += 1;
            }
            written
        });
        Writer { stop, thread: Some(thread) }
    }

    fn stop(mut self) -> u32 {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Inserts, updates, deletes and changed keys, all over the table.
const WRITES: &str = "
UPDATE a SET v = 'u' || txid_current() WHERE id IN (SELECT (random() * 4000)::int FROM generate_series(1, 20));
DELETE FROM a WHERE id IN (SELECT (random() * 4000)::int FROM generate_series(1, 5));
INSERT INTO a SELECT (random() * 4000)::int, 'i' || txid_current() FROM generate_series(1, 10) ON CONFLICT DO NOTHING;
UPDATE a SET id = (SELECT max(id) + 1 FROM a), v = 'k' || txid_current() WHERE id = (SELECT (random() * 4000)::int);";

#[tokio::test]
async fn kills_in_a_backfill_under_writes_leave_the_last_word_of_each_key_right() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY, v text); INSERT INTO a SELECT n, 'old' FROM generate_series(1, 4000) n");
        let more = json!({ "tables": ["a"], "batch_size": 300 });
        let settings = config(&database, more.clone());
        let mut reading = Reading::streaming(&database, more).await;
        let writer = Writer::start(version, &database.name, WRITES);
        let (answer, mut seen) = reading.ask("backfill", json!({ "table": "public.a" })).await;
        answer.unwrap();
        let mut kills = 0;
        while !is_idle(&reading) {
            for _ in 0..4 {
                seen.extend(reading.step().await.unwrap());
            }
            if kills < 4 {
                // A batch that was handed over and is lost.
                let lost = reading.poll().await.unwrap();
                if kills % 2 == 0 {
                    reading.bench.resolve(Verdict::Nack).await.unwrap();
                } else {
                    reading = reading.killed(settings.clone()).await;
                }
                drop(lost);
                kills += 1;
            }
        }
        assert!(writer.stop() > 0 && kills == 4);
        let right = table(&database);
        let caught_up = async {
            while last_words(&seen) != right {
                seen.extend(reading.step().await.unwrap());
            }
        };
        if timeout(Duration::from_secs(30), caught_up).await.is_err() {
            let last = last_words(&seen);
            let wrong: Vec<_> = right.iter().filter(|(key, v)| last.get(key) != Some(v)).take(5).collect();
            panic!("{version}: {} keys, right are {}; wrong: {wrong:?}", last.len(), right.len());
        }
        assert!(seen.iter().any(|record| record.operation() == "READ"));
    }
}

#[tokio::test]
async fn a_killed_snapshot_goes_on_beside_the_stream_and_no_row_comes_behind_a_newer_change_of_it() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY, v text, version int DEFAULT 0); INSERT INTO a SELECT n, 'old' FROM generate_series(1, 4000) n");
        database.sql("CREATE TABLE bare (id int); INSERT INTO bare SELECT generate_series(1, 500)");
        let settings = config(
            &database,
            json!({ "snapshot_mode": "initial", "snapshot_part_size": "64kB", "batch_size": 200, "tables": ["a", "bare"] }),
        );
        let mut reading = Reading::open(settings.clone(), None).await.unwrap();
        let mut seen = Vec::new();
        while seen.len() < 1500 {
            seen.extend(reading.step().await.unwrap());
        }
        // Changes from before the rest is read, and during it.
        let write = "UPDATE a SET v = 'changed', version = version + 1 WHERE id % 3 = 0";
        database.sql(write);
        reading = reading.killed(settings.clone()).await;
        database.sql(write);
        for _ in 0..6 {
            seen.extend(reading.step().await.unwrap());
        }
        database.sql(write);
        reading = reading.killed(settings).await;
        seen.extend(until_idle(&mut reading).await);
        let updates = 3 * (4000 / 3);
        while seen.iter().filter(|record| record.operation() == "UPDATE").count() < updates {
            seen.extend(reading.step().await.unwrap());
        }
        let (bare, keyed): (Vec<Seen>, Vec<Seen>) =
            seen.into_iter().partition(|record| record.value["table_name"] == "bare");
        assert_eq!(last_words(&keyed).len(), 4000, "{version}: rows are missing");
        let mut rows: Vec<i64> = bare.iter().map(|record| record.data()["id"].as_i64().unwrap()).collect();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows, (1..=500).collect::<Vec<i64>>());
        // What came of a row is never older than what came of it before, but for what was repeated after a kill, which is the same.
        let mut newest: BTreeMap<String, i64> = BTreeMap::new();
        let mut ids = std::collections::HashSet::new();
        for record in &keyed {
            let is_repeat = record.operation() == "UPDATE" && !ids.insert(record.id.clone());
            let at = newest.entry(record.key.clone().unwrap()).or_default();
            let version = record.data()["version"].as_i64().unwrap();
            assert!(is_repeat || version >= *at, "{record:?} behind version {at}");
            *at = version.max(*at);
        }
    }
}

#[tokio::test]
async fn a_large_value_that_a_change_left_out_is_read() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY, v text, n int)");
        database.sql("ALTER TABLE a ALTER v SET STORAGE EXTERNAL; INSERT INTO a SELECT i, repeat('x', 5000), 0 FROM generate_series(1, 40) i");
        let mut reading = Reading::streaming(&database, json!({ "tables": ["a"] })).await;
        let writer = Writer::start(version, &database.name, "UPDATE a SET n = n + 1 WHERE id <= 3");
        let (answer, mut seen) = reading.ask("backfill", json!({ "table": "a" })).await;
        answer.unwrap();
        seen.extend(until_idle(&mut reading).await);
        assert!(writer.stop() > 0);
        let whole = |record: &&Seen| record.data()["v"].as_str().is_some_and(|text| text.len() == 5000);
        let mut keys: Vec<&str> =
            seen.iter().filter(whole).map(|record| record.key.as_deref().unwrap()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 40, "{version}: {keys:?}");
    }
}

#[tokio::test]
async fn a_chunk_waits_for_transactions_that_may_be_in_the_log_and_not_be_seen() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY, v text); INSERT INTO a SELECT n, 'old' FROM generate_series(1, 100) n");
        let mut reading = Reading::streaming(&database, json!({ "tables": ["a"] })).await;
        let mut session = Session::open(&database);
        session.sql("BEGIN; UPDATE a SET v = 'held' WHERE id = 5;");
        let (answer, seen) = reading.ask("backfill", json!({ "table": "a" })).await;
        answer.unwrap();
        assert_eq!(seen, []);
        let brief = timeout(Duration::from_millis(700), until_idle(&mut reading)).await;
        assert!(brief.is_err(), "it was read beside an open transaction of before");
        session.sql("COMMIT;");
        let seen = until_idle(&mut reading).await;
        assert_eq!(last_words(&seen)[&5], "held");
        assert_eq!(last_words(&seen).len(), 100);
    }
}

#[tokio::test]
async fn what_cannot_be_read_beside_the_stream_is_refused_with_the_way_out() {
    for version in VERSIONS {
        let database = Database::new(version);
        database.sql("CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE bare (id int); CREATE TABLE other (id int PRIMARY KEY)");
        database.sql("CREATE TABLE root (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE leaf PARTITION OF root FOR VALUES FROM (0) TO (9)");
        database.sql("CREATE PUBLICATION picomq_publication FOR TABLE a, bare, root WITH (publish_via_partition_root = true)");
        let mut reading = Reading::streaming(&database, json!({ "create_publication": false })).await;
        for (table, why) in [
            ("nowhere", "there is no table public.nowhere"),
            ("bare", "ADD PRIMARY KEY"),
            ("other", "ALTER PUBLICATION \"picomq_publication\" ADD TABLE \"public\".\"other\""),
            ("leaf", "name that one"),
            ("a.b.c", "right is"),
        ] {
            let (answer, _) = reading.ask("backfill", json!({ "table": table })).await;
            let error = answer.unwrap_err();
            assert!(error.contains(why), "{table}: {error}");
        }
        let (answer, _) = reading.ask("cancel_backfill", json!({ "table": "a" })).await;
        assert!(answer.unwrap_err().contains("no backfill of public.a"));
        assert!(reading.bench.source().command("dance", Value::Null).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn requests_queue_and_are_called_off_and_a_partitioned_table_is_read_by_its_root() {
    let database = Database::new(18);
    database.sql("CREATE TABLE a (id int PRIMARY KEY, v text); INSERT INTO a SELECT n, 'old' FROM generate_series(1, 500) n");
    database.sql("CREATE TABLE root (id int PRIMARY KEY, v text) PARTITION BY RANGE (id); CREATE TABLE leaf PARTITION OF root FOR VALUES FROM (0) TO (900)");
    database.sql("INSERT INTO root SELECT n, 'old' FROM generate_series(1, 300) n");
    let mut reading = Reading::streaming(&database, json!({ "tables": ["a", "root"] })).await;
    // Held, so that what is asked stays in the queue.
    let mut session = Session::open(&database);
    session.sql("BEGIN; INSERT INTO a VALUES (9000, 'held');");
    for table in ["a", "root"] {
        reading.ask("backfill", json!({ "table": table })).await.0.unwrap();
    }
    let (second, _) = reading.ask("backfill", json!({ "table": "a" })).await;
    assert!(second.unwrap_err().contains("is being read already"));
    let (list, _) = reading.ask("backfills", Value::Null).await;
    let list = list.unwrap();
    assert_eq!(list["backfills"][0]["status"], "reading");
    assert_eq!(
        (list["backfills"][1]["table"].as_str(), list["backfills"][1]["status"].as_str()),
        (Some("public.root"), Some("waiting"))
    );
    let (cancelled, _) = reading.ask("cancel_backfill", json!({ "table": "a" })).await;
    assert_eq!(cancelled.unwrap()["cancelled"], true);
    session.sql("COMMIT;");
    let seen = until_idle(&mut reading).await;
    let read: Vec<&Seen> = seen.iter().filter(|record| record.operation() == "READ").collect();
    let names: Vec<&str> = read.iter().map(|record| record.value["table_name"].as_str().unwrap()).collect();
    assert_eq!(read.len(), 300, "{names:?}");
    assert!(read.iter().all(|record| record.value["table_name"] == "root"));
}
