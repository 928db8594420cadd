//! A PostgreSQL that is written to all the time, its source killed again and again, the server stopped, crashed and its connections
//! cut: every committed change is in the log, those of one key in their order, and the slot never stands past what is saved.
//!
//! The writer keeps its own ledger in the same transactions, in a table that is not published. A fifth of
//! `CHAOS_KILLS` for each version; 15 by default. What it does not prove: anything about a standby, or about a power loss.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use chaos_tests::campaign::{count, seed};
use chaos_tests::consumer::Entry;
use chaos_tests::launch::Launch;
use chaos_tests::postgres::Postgres;
use chaos_tests::site::scratch;
use chaos_tests::wait::{pause, wait_for};
use serde_json::Value;

use crate::stage::Stage;

const KILLS: u32 = 75;
/// Rows that are there before the source, and that nobody touches.
const OLD_ROWS: i64 = 3_000;
const SETTLED_WITHIN: Duration = Duration::from_secs(120);

fn old_keys() -> impl Iterator<Item = i64> {
    1_001..=1_000 + OLD_ROWS
}

/// Of each key, what happened to it in order: the operation and the value it left.
pub(crate) type Changes = BTreeMap<i64, Vec<(String, Option<i64>)>>;

/// The table of these stories: old rows that stay, and two hundred keys that change.
pub(crate) fn schema() -> String {
    let table = "CREATE TABLE kv (k int PRIMARY KEY, v bigint);
                 INSERT INTO kv SELECT 1000 + n, n FROM generate_series(1, 3000) n;";
    schema_with(table, "floor(random() * 200)")
}

/// `table` makes `kv`. `work(n)` does n random changes of keys drawn by `key` and notes each of them in the ledger. Versions only grow.
pub(crate) fn schema_with(table: &str, key: &str) -> String {
    format!(
        "{table}
CREATE TABLE ledger (seq bigserial PRIMARY KEY, k int, op text, v bigint);
CREATE FUNCTION work(n int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE key int; version bigint;
BEGIN
  FOR i IN 1..n LOOP
    key := {key};
    version := nextval('ledger_seq_seq');
    IF random() < 0.2 THEN
      DELETE FROM kv WHERE k = key;
      IF FOUND THEN INSERT INTO ledger VALUES (version, key, 'DELETE', NULL); END IF;
    ELSE
      UPDATE kv SET v = version WHERE k = key;
      IF FOUND THEN
        INSERT INTO ledger VALUES (version, key, 'UPDATE', version);
      ELSE
        INSERT INTO kv VALUES (key, version);
        INSERT INTO ledger VALUES (version, key, 'INSERT', version);
      END IF;
    END IF;
  END LOOP;
END $$;"
    )
}

fn definition(key: &str, topic: &str, url: &str) -> String {
    format!(
        "type = \"source\"\nkey = \"{key}\"\nenabled = true\nname = \"Ledger\"\n\
         path = \"picomq_connector_postgres_source\"\nmax_in_flight = 4\n\n\
         [[topics]]\ntopic = {{ strategy = \"static\", name = \"{topic}\" }}\ncreate_topics = true\n\n\
         [plugin_config]\nconnection_string = \"{url}\"\nmode = \"cdc\"\ntables = [\"kv\"]\nslot_name = \"ledger\"\nbatch_size = 200\n"
    )
}

/// Writes until it is told to stop: mostly small transactions, now and then one of thousands of changes.
pub(crate) fn writer(server: &Postgres) -> (Arc<AtomicBool>, JoinHandle<u32>) {
    let stop = Arc::new(AtomicBool::new(false));
    let (sql, asked) = (server.client(), Arc::clone(&stop));
    let mut random = fastrand::Rng::with_seed(seed());
    let thread = std::thread::spawn(move || {
        let mut committed = 0;
        while !asked.load(Ordering::SeqCst) {
            let changes = if random.u32(..40) == 0 { 3_000 } else { random.u32(1..60) };
            // The server may be away: then it is tried again, and the ledger says what was committed.
            match sql(&format!("SELECT work({changes})")) {
                Ok(_) => committed += 1,
                Err(_) => pause(Duration::from_millis(100)),
            }
        }
        committed
    });
    (stop, thread)
}

fn text<'a>(entry: &'a Entry, header: &str) -> Option<&'a str> {
    let (_, value) = entry.headers.iter().find(|(name, _)| name == header)?;
    std::str::from_utf8(value).ok()
}

/// What came, each change once: old rows, and the changes of each key in the order in which they first came.
fn first_occurrences(entries: &[Entry]) -> (HashSet<i64>, Changes) {
    let (mut seen, mut old, mut changes) = (HashSet::new(), HashSet::new(), Changes::new());
    for entry in entries {
        let value: Value = serde_json::from_slice(entry.payload.as_ref().unwrap()).unwrap();
        let key = value["data"]["k"].as_i64().unwrap();
        let operation = value["operation_type"].as_str().unwrap().to_owned();
        if operation == "READ" {
            old.insert(key);
        } else if seen.insert(text(entry, "picomq.id").expect("every change has an id").to_owned()) {
            let version = value["data"]["v"].as_i64();
            changes.entry(key).or_default().push((operation, version));
        }
    }
    (old, changes)
}

/// What the writer noted, in its order.
pub(crate) fn ledger(server: &Postgres) -> Changes {
    let mut changes = Changes::new();
    for line in server.sql("SELECT k, op, v FROM ledger ORDER BY seq").unwrap().lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let change = (fields[1].to_owned(), fields[2].parse().ok());
        changes.entry(fields[0].parse().unwrap()).or_default().push(change);
    }
    changes
}

/// The slot must never stand past the saved state.
fn assert_slot_behind(stage: &Stage, server: &Postgres, key: &str) {
    // The slot first: the state may have moved on meanwhile, never back.
    let Ok(slot) =
        server.sql("SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 'ledger'")
    else {
        return;
    };
    let Some(file) = stage.site.state(key).unwrap() else { return };
    let state = file.value().unwrap()["state"]["cdc"]["phase"].clone();
    let saved = state["stream"]["commit_end"].as_str().or(state["snapshot"]["start"].as_str());
    let Some(saved) = saved.filter(|_| !slot.is_empty()) else { return };
    let is_behind = server.sql(&format!("SELECT '{slot}'::pg_lsn <= '{saved}'::pg_lsn")).unwrap();
    assert_eq!(is_behind, "t", "the slot stands at {slot}, saved is {saved}");
}

fn storm(version: u32) {
    let name = format!("postgres-kills-{version}");
    let mut server = Postgres::start(&scratch().join(format!("{name}-server")), version).unwrap();
    server.sql(&schema()).unwrap();
    let stage = Stage::new(&name);
    let topic = format!("{name}-{}", seed());
    stage.site.define(&name, &definition(&name, &topic, &server.url())).unwrap();
    let mut random = fastrand::Rng::with_seed(seed());
    // What is written before the slot is there comes as rows of the snapshot, not as changes.
    let mut daemon = stage.start();
    let slot = "SELECT 1 FROM pg_replication_slots WHERE confirmed_flush_lsn IS NOT NULL";
    wait_for("the slot", Duration::from_secs(30), || match server.sql(slot)?.as_str() {
        "1" => Ok(()),
        other => Err(other.to_owned()),
    })
    .unwrap();
    let (stop, writing) = writer(&server);
    assert!(daemon.kill(), "the engine ended by itself; see {}", stage.site.log().display());

    let kills = count("CHAOS_KILLS", KILLS).div_ceil(5);
    for kill in 0..kills {
        let mut daemon = stage.site.start(&Launch::default()).unwrap();
        pause(Duration::from_millis(random.u64(200..2_500)));
        if kill == kills / 3 {
            server.restart().unwrap();
        } else if kill == kills / 2 {
            server.crash().unwrap();
        } else if kill == kills * 2 / 3 {
            let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'pico-connectors%'";
            server.sql(cut).unwrap();
            pause(Duration::from_millis(500));
        }
        assert!(daemon.kill(), "the engine ended by itself; see {}", stage.site.log().display());
        assert_slot_behind(&stage, &server, &name);
    }

    stop.store(true, Ordering::SeqCst);
    let committed = writing.join().unwrap();
    let right = ledger(&server);
    let mut daemon = stage.start();
    // Old rows are read beside the changes when a kill took the slot's snapshot: either may be the last to come.
    let seen = wait_for("every change and every old row in the log", SETTLED_WITHIN, || {
        let (old, changes) = first_occurrences(&stage.entries(&topic));
        let count = |changes: &Changes| changes.values().map(Vec::len).sum::<usize>();
        let missing = old_keys().filter(|key| !old.contains(key)).count();
        if count(&changes) >= count(&right) && missing == 0 {
            Ok((old, changes))
        } else {
            pause(Duration::from_millis(500));
            Err(format!("{} of {} changes, {missing} old rows missing", count(&changes), count(&right)))
        }
    });
    let (old, changes) = seen.unwrap();
    daemon.terminate();
    assert_eq!(daemon.wait_exit(Duration::from_secs(30)).unwrap().code(), Some(0));
    assert_slot_behind(&stage, &server, &name);

    assert!(committed > kills, "the writer hardly wrote: {committed} transactions");
    assert!(old_keys().all(|key| old.contains(&key)), "old rows are missing");
    for (key, right) in &right {
        assert_eq!(changes.get(key), Some(right), "key {key}, seed {}", seed());
    }
    assert_eq!(changes.len(), right.len(), "changes of keys that were never written");
}

#[test]
fn a_storm_of_kills_loses_no_change_of_postgres_15_b056() {
    storm(15);
}

#[test]
fn a_storm_of_kills_loses_no_change_of_postgres_18_b056() {
    storm(18);
}

/// Resident memory of the engine before anything is read and while a large transaction is.
#[test]
fn one_large_transaction_is_read_with_little_memory_b048() {
    const ROWS: u64 = 300_000;
    const MORE_KIB_MAX: u64 = 150 << 10;
    let name = "postgres-large";
    let server = Postgres::start(&scratch().join(format!("{name}-server")), 15).unwrap();
    server.sql("CREATE TABLE kv (k int PRIMARY KEY, v text)").unwrap();
    let stage = Stage::new(name);
    let topic = format!("{name}-{}", seed());
    stage
        .site
        .define(
            name,
            &definition(name, &topic, &server.url()).replace("batch_size = 200", "batch_size = 5000"),
        )
        .unwrap();
    let mut daemon = stage.start();
    daemon.wait_status(name, "running", Duration::from_secs(60)).unwrap();
    let streaming = "SELECT 1 FROM pg_replication_slots WHERE active AND slot_name = 'ledger'";
    wait_for("the stream", Duration::from_secs(60), || match server.sql(streaming)?.as_str() {
        "1" => Ok(()),
        other => Err(other.to_owned()),
    })
    .unwrap();
    let before = daemon.resident_kib().unwrap();

    // Some 120 MB of changes in one transaction.
    server
        .sql(&format!("INSERT INTO kv SELECT n, repeat('x', 300) FROM generate_series(1, {ROWS}) n"))
        .unwrap();
    let mut most = 0;
    wait_for("every row", SETTLED_WITHIN, || {
        most = most.max(daemon.resident_kib().unwrap());
        match daemon.metric("picomq_connector_messages_sent_total", name).unwrap() as u64 {
            ROWS => Ok(()),
            sent => Err(format!("{sent} of {ROWS} rows")),
        }
    })
    .unwrap();

    daemon.terminate();
    assert_eq!(daemon.wait_exit(Duration::from_secs(30)).unwrap().code(), Some(0));
    assert!(most - before < MORE_KIB_MAX, "{before} KiB before, {most} KiB at most");
}
