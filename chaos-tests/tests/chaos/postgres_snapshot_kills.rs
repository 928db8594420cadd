//! A PostgreSQL that is written to all the time, its source killed inside the parts of its snapshot, and then inside a backfill that the
//! command line asked for: the last word of each key is its row, no change is missing, and no row comes behind a newer change of it.
//!
//! The writer keeps its own ledger in the same transactions. A twentieth of `CHAOS_KILLS` in each half, for each version; 3 by
//! default.

use std::collections::{BTreeMap, HashSet};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use chaos_tests::binaries;
use chaos_tests::campaign::{count, seed};
use chaos_tests::consumer::Entry;
use chaos_tests::daemon::Daemon;
use chaos_tests::launch::Launch;
use chaos_tests::postgres::Postgres;
use chaos_tests::site::scratch;
use chaos_tests::wait::{pause, wait_for};
use serde_json::Value;

use crate::postgres_kills::{Changes, ledger, schema_with};
use crate::stage::Stage;

const KILLS: u32 = 60;
const SETTLED_WITHIN: Duration = Duration::from_secs(120);

/// Twenty thousand rows, all of which may change.
fn schema() -> String {
    let table = "CREATE TABLE kv (k int PRIMARY KEY, v bigint, filler text DEFAULT repeat('f', 100));
                 INSERT INTO kv SELECT n, 0 FROM generate_series(1, 20000) n;";
    schema_with(table, "1 + floor(random() * 20000)")
}

fn definition(key: &str, topic: &str, url: &str) -> String {
    format!(
        "type = \"source\"\nkey = \"{key}\"\nenabled = true\nname = \"Rows\"\n\
         path = \"picomq_connector_postgres_source\"\nmax_in_flight = 4\n\n\
         [[topics]]\ntopic = {{ strategy = \"static\", name = \"{topic}\" }}\ncreate_topics = true\n\n\
         [plugin_config]\nconnection_string = \"{url}\"\nmode = \"cdc\"\ntables = [\"kv\"]\nslot_name = \"rows\"\n\
         batch_size = 100\nsnapshot_part_size = \"64kB\"\nsnapshot_workers = 3\n"
    )
}

fn writer(server: &Postgres) -> (Arc<AtomicBool>, JoinHandle<u32>) {
    let stop = Arc::new(AtomicBool::new(false));
    let (sql, asked) = (server.client(), Arc::clone(&stop));
    let mut random = fastrand::Rng::with_seed(seed());
    let thread = std::thread::spawn(move || {
        let mut committed = 0;
        while !asked.load(Ordering::SeqCst) {
            sql(&format!("SELECT work({})", random.u32(1..80))).unwrap();
            committed += 1;
            pause(Duration::from_millis(10));
        }
        committed
    });
    (stop, thread)
}

/// What a record is about.
struct Word {
    key: i64,
    operation: String,
    version: Option<i64>,
}

fn word(entry: &Entry) -> Word {
    let value: Value = serde_json::from_slice(entry.payload.as_ref().unwrap()).unwrap();
    Word {
        key: value["data"]["k"].as_i64().unwrap(),
        operation: value["operation_type"].as_str().unwrap().to_owned(),
        version: value["data"]["v"].as_i64(),
    }
}

/// What came: the rows as a reader has them at the end, and the changes of each key in the order in which they first came.
#[derive(Default)]
struct Came {
    rows: BTreeMap<i64, i64>,
    changes: Changes,
    /// Rows read, and those of them that came behind a newer change of their key.
    read: u64,
    stale: Vec<String>,
}

fn came(entries: &[Entry]) -> Came {
    let (mut came, mut seen, mut newest) = (Came::default(), HashSet::new(), BTreeMap::new());
    for entry in entries {
        let Word { key, operation, version } = word(entry);
        if operation == "READ" {
            let version = version.unwrap();
            came.read += 1;
            if newest.get(&key).is_some_and(|newest| version < *newest) {
                came.stale.push(format!("key {key}: {version} behind {}", newest[&key]));
            }
        } else {
            let id = entry.headers.iter().find(|(name, _)| name == "picomq.id").map(|(_, id)| id.clone());
            if seen.insert(id) {
                came.changes.entry(key).or_default().push((operation, version));
            }
        }
        match version {
            Some(version) => {
                came.rows.insert(key, version);
                let newest = newest.entry(key).or_insert(version);
                *newest = version.max(*newest);
            }
            None => drop(came.rows.remove(&key)),
        }
    }
    came
}

fn table(server: &Postgres) -> BTreeMap<i64, i64> {
    let rows = server.sql("SELECT k, v FROM kv").unwrap();
    let row =
        |line: &str| line.split_once('|').map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap())).unwrap();
    rows.lines().map(row).collect()
}

/// The command line, asking this daemon; JSON out.
fn backfill(stage: &Stage, key: &str, more: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(binaries::engine().unwrap());
    command.args(["backfill", key, "--json"]).args(more);
    command.arg("--url").arg(format!("http://127.0.0.1:{}", stage.site.port()));
    let output = command.current_dir(stage.site.dir()).output().unwrap();
    if output.status.success() {
        Ok(serde_json::from_slice(&output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn wait_idle(stage: &Stage, key: &str) {
    wait_for("the end of what is read beside the stream", SETTLED_WITHIN, || {
        let list = backfill(stage, key, &[])?;
        let is_idle = list["backfills"].as_array().is_some_and(Vec::is_empty) && list["snapshot"].is_null();
        if is_idle { Ok(()) } else { Err(list.to_string()) }
    })
    .unwrap();
}

/// Kills it a while after it reads again, and starts it.
fn kill(stage: &Stage, mut daemon: Daemon, random: &mut fastrand::Rng) -> Daemon {
    pause(Duration::from_millis(random.u64(100..900)));
    assert!(daemon.kill(), "the engine ended by itself; see {}", stage.site.log().display());
    let daemon = stage.site.start(&Launch::default()).unwrap();
    pause(Duration::from_millis(random.u64(100..900)));
    daemon
}

fn storm(version: u32) {
    let name = format!("postgres-snapshot-kills-{version}");
    let server = Postgres::start(&scratch().join(format!("{name}-server")), version).unwrap();
    server.sql(&schema()).unwrap();
    let stage = Stage::new(&name);
    let topic = format!("{name}-{}", seed());
    stage.site.define(&name, &definition(&name, &topic, &server.url())).unwrap();
    let mut random = fastrand::Rng::with_seed(seed());
    let mut daemon = stage.start();
    wait_for("the slot", Duration::from_secs(30), || {
        match server.sql("SELECT 1 FROM pg_replication_slots WHERE confirmed_flush_lsn IS NOT NULL")?.as_str()
        {
            "1" => Ok(()),
            other => Err(other.to_owned()),
        }
    })
    .unwrap();
    // What is written from here on comes as changes.
    let (stop, writing) = writer(&server);
    let kills = count("CHAOS_KILLS", KILLS).div_ceil(20);
    for _ in 0..kills {
        daemon = kill(&stage, daemon, &mut random);
    }
    daemon.wait_status(&name, "running", SETTLED_WITHIN).unwrap();
    wait_idle(&stage, &name);
    let taken =
        wait_for("a backfill that is taken", SETTLED_WITHIN, || backfill(&stage, &name, &["--table", "kv"]));
    assert_eq!(taken.unwrap()["taken"], true);
    for _ in 0..kills {
        daemon = kill(&stage, daemon, &mut random);
    }
    daemon.wait_status(&name, "running", SETTLED_WITHIN).unwrap();
    wait_idle(&stage, &name);
    stop.store(true, Ordering::SeqCst);
    let committed = writing.join().unwrap();
    settle(&stage, &server, &topic);
    daemon.terminate();
    assert_eq!(daemon.wait_exit(Duration::from_secs(30)).unwrap().code(), Some(0));
    assert!(committed > kills, "the writer hardly wrote: {committed} transactions");
}

/// Waits until what came is what is there, and judges.
fn settle(stage: &Stage, server: &Postgres, topic: &str) {
    let (right, ledger) = (table(server), ledger(server));
    let settled = wait_for("every change in the log", SETTLED_WITHIN, || {
        let came = came(&stage.entries(topic));
        if came.changes == ledger && came.rows == right {
            return Ok(came);
        }
        pause(Duration::from_millis(500));
        let wrong = right.iter().find(|(key, version)| came.rows.get(key) != Some(version));
        let late = ledger.iter().find(|(key, changes)| came.changes.get(key) != Some(changes));
        Err(format!("{} rows of {}; wrong: {wrong:?}; changes: {late:?}", came.rows.len(), right.len()))
    });
    let came = settled.unwrap();
    assert_eq!(came.stale, [""; 0], "seed {}", seed());
    // The snapshot once, and the backfill.
    assert!(came.read > 30_000, "{} rows were read", came.read);
}

#[test]
fn kills_in_snapshot_and_backfill_of_postgres_15_lose_nothing_and_show_nothing_stale() {
    storm(15);
}

#[test]
fn kills_in_snapshot_and_backfill_of_postgres_18_lose_nothing_and_show_nothing_stale() {
    storm(18);
}
