//! A running Debezium is moved over under writes, as docs/migrate-from-debezium.md says: its offset is imported, its slot and its topic are
//! gone on with, no row is read again, no change is lost. What repeats is the changes of one transaction. Then back again.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::process::Command;
use std::time::Duration;

use chaos_tests::binaries;
use chaos_tests::connect::{Connect, debezium};
use chaos_tests::consumer::LogReader;
use chaos_tests::kafka::Kafka;
use chaos_tests::postgres::Postgres;
use chaos_tests::site::scratch;
use chaos_tests::wait::{pause, wait_for};
use serde_json::{Value, json};

use crate::postgres_kills::{Changes, ledger, schema, writer};
use crate::stage::Stage;

const KEY: &str = "debezium-moves";
const SETTLED_WITHIN: Duration = Duration::from_secs(120);
/// Changes of each runner before the next one takes over.
const ENOUGH: usize = 1_000;

/// One change in the topic. A position with an operation and a key happens once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Change {
    lsn: u64,
    op: String,
    key: i64,
}

/// A record of the topic.
#[derive(Debug)]
struct Seen {
    change: Change,
    version: Option<i64>,
    transaction: Option<u64>,
    is_ours: bool,
}

/// The topic, read further each time.
struct Topic {
    reader: LogReader,
    name: String,
    seen: Vec<Seen>,
    snapshot: usize,
}

impl Topic {
    fn read(&mut self) {
        let (seen, snapshot) = (&mut self.seen, &mut self.snapshot);
        self.reader
            .read_to_end(&[&self.name], &mut |entry| {
                let Some(payload) = entry.payload else { return };
                let value: Value = serde_json::from_slice(&payload).unwrap();
                let is_ours = entry.headers.iter().any(|(name, _)| name == "picomq.id");
                let op = value["op"].as_str().unwrap().to_owned();
                if op == "r" {
                    assert!(!is_ours, "a row was read again: {value}");
                    *snapshot += 1;
                    return;
                }
                let row = if value["after"].is_null() { &value["before"] } else { &value["after"] };
                seen.push(Seen {
                    change: Change {
                        lsn: value["source"]["lsn"].as_u64().unwrap(),
                        op,
                        key: row["k"].as_i64().unwrap(),
                    },
                    version: value["after"]["v"].as_i64(),
                    transaction: value["source"]["txId"].as_u64(),
                    is_ours,
                });
            })
            .unwrap();
    }

    fn wait(&mut self, what: &str, mut is_there: impl FnMut(&Topic) -> bool) {
        wait_for(what, SETTLED_WITHIN, || {
            self.read();
            pause(Duration::from_millis(100));
            if is_there(self) { Ok(()) } else { Err(format!("{} changes so far", self.seen.len())) }
        })
        .unwrap();
    }

    /// The changes that are in the topic for the first time, by key, as the ledger has them.
    fn changes(&self) -> Changes {
        let (mut known, mut changes) = (HashSet::new(), Changes::new());
        for seen in self.seen.iter().filter(|seen| known.insert(seen.change.clone())) {
            let operation = match seen.change.op.as_str() {
                "c" => "INSERT",
                "u" => "UPDATE",
                _ => "DELETE",
            };
            changes.entry(seen.change.key).or_default().push((operation.to_owned(), seen.version));
        }
        changes
    }

    /// Of what came from the place `from` on, what had come before: how many records a transaction.
    fn repeated(&self, from: usize) -> BTreeMap<Option<u64>, usize> {
        let mut known: BTreeSet<&Change> = self.seen[..from].iter().map(|seen| &seen.change).collect();
        let mut repeated = BTreeMap::new();
        for seen in &self.seen[from..] {
            if !known.insert(&seen.change) {
                *repeated.entry(seen.transaction).or_default() += 1;
            }
        }
        repeated
    }
}

fn definition(topic: &str, name: &str, url: &str, is_enabled: bool) -> String {
    let slot = name.replace('-', "_");
    format!(
        "type = \"source\"\nkey = \"{KEY}\"\nenabled = {is_enabled}\nname = \"Moved over\"\npath = \"picomq_connector_postgres_source\"\n\
         max_in_flight = 4\n\n[[topics]]\ntopic = \"{topic}\"\n\n\
         [plugin_config]\nconnection_string = \"{url}\"\nmode = \"cdc\"\ntables = [\"kv\"]\nslot_name = \"{slot}\"\n\
         publication_name = \"{slot}\"\nenvelope = \"debezium\"\ntopic_prefix = \"{name}\"\n"
    )
}

/// The command of the page, asking the daemon that runs.
fn import(stage: &Stage, offsets: &Value) -> std::process::Output {
    std::fs::write(stage.site.dir().join("offsets.json"), json!({ "offsets": offsets }).to_string()).unwrap();
    let mut command = Command::new(binaries::engine().unwrap());
    command.args(["state", "import", KEY, "--from-debezium", "offsets.json", "--yes", "--config"]);
    command.arg(stage.site.config()).arg("--url").arg(format!("http://127.0.0.1:{}", stage.site.port()));
    command.current_dir(stage.site.dir()).output().unwrap()
}

fn total(changes: &Changes) -> usize {
    changes.values().map(Vec::len).sum()
}

/// From the place `over` on everything is ours, and what repeats is what the offset does not cover.
fn assert_moved_over(topic: &Topic, over: usize, offset: &Value) {
    assert!(
        topic.seen[over..].iter().all(|seen| seen.is_ours)
            && topic.seen[..over].iter().all(|seen| !seen.is_ours)
    );
    let repeated = topic.repeated(over);
    eprintln!("over: repeated by transaction: {repeated:?}");
    // Debezium writes its offset when it stops. Should its worker have no time for that, it would repeat what follows the offset too.
    let is_of_offset = |transaction: &Option<u64>| {
        let mut of_it = topic.seen.iter().filter(|seen| seen.transaction == *transaction);
        *transaction == offset["txId"].as_u64()
            || of_it.all(|seen| Some(seen.change.lsn) > offset["lsn"].as_u64())
    };
    assert!(
        repeated.keys().all(is_of_offset),
        "of one transaction the changes come again: {repeated:?}, {offset}"
    );
}

/// Every change of the ledger is there, those of a key in their order, and nothing else.
fn assert_complete(topic: &Topic, right: &Changes) {
    let changes = topic.changes();
    for (key, right) in right {
        assert_eq!(changes.get(key), Some(right), "key {key}");
    }
    assert_eq!(changes.len(), right.len(), "changes of keys that were never written");
}

#[test]
fn a_running_debezium_is_moved_over_under_writes_and_back_and_nothing_is_lost() {
    let server = Postgres::start(&scratch().join("debezium-moves-server"), 15).unwrap();
    server.sql(&schema()).unwrap();
    let (kafka, name) = (Kafka::shared(), format!("moves-{}", fastrand::u32(..)));
    let worker = Connect::shared();
    let topic_name = format!("{name}.public.kv");
    let mut topic = Topic {
        reader: LogReader::new(&kafka.bootstrap()).unwrap(),
        name: topic_name.clone(),
        seen: Vec::new(),
        snapshot: 0,
    };
    let stage = Stage::new(KEY);
    let define = |is_enabled| {
        stage.site.define(KEY, &definition(&topic_name, &name, &server.url(), is_enabled)).unwrap();
    };
    define(false);
    let mut daemon = stage.start();

    let settings = |more: &[(&str, &str)]| debezium(&server, &name, "public.kv", more);
    worker.create(&name, &settings(&[])).unwrap();
    topic.wait("the snapshot", |topic| topic.snapshot >= 3_000);
    let (stop, writing) = writer(&server);
    topic.wait("changes by Debezium", |topic| topic.seen.len() >= ENOUGH);

    // Over: the writer never pauses.
    worker.stop(&name).unwrap();
    let offsets = worker.offsets(&name).unwrap();
    let imported = import(&stage, &offsets);
    let said = String::from_utf8_lossy(&imported.stderr).into_owned();
    assert!(imported.status.success() && said.contains(&format!("of \"{name}\"")), "{said}");
    topic.read();
    let over = topic.seen.len();
    define(true);
    assert_eq!(daemon.request("POST", "/reload").unwrap().status, 200);
    topic.wait("changes by us", |topic| topic.seen.len() >= over + ENOUGH);
    assert_moved_over(&topic, over, &offsets[0]["offset"]);

    // And back: without its old offset Debezium goes on where the slot stands.
    daemon.terminate();
    assert_eq!(daemon.wait_exit(Duration::from_secs(30)).unwrap().code(), Some(0));
    topic.read();
    let back = topic.seen.len();
    let slot = "SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE plugin = 'pgoutput'";
    let confirmed: u64 = server.sql(slot).unwrap().parse().unwrap();
    worker.forget(&name).unwrap();
    worker.configure(&name, &settings(&[("snapshot.mode", "no_data")])).unwrap();
    worker.resume(&name).unwrap();
    topic.wait("changes by Debezium again", |topic| topic.seen.len() >= back + ENOUGH);
    stop.store(true, std::sync::atomic::Ordering::SeqCst);
    assert!(writing.join().unwrap() > 0);
    let right = ledger(&server);
    topic.wait("every change", |topic| total(&topic.changes()) >= total(&right));
    assert!(topic.seen[back..].iter().all(|seen| !seen.is_ours));
    assert_eq!(topic.snapshot, 3_000, "rows were read again");
    let repeated = topic.repeated(back);
    assert!(
        topic.seen[back..].iter().all(|seen| seen.change.lsn >= confirmed),
        "what was confirmed came again"
    );
    eprintln!("back: repeated by transaction: {repeated:?}");

    assert_complete(&topic, &right);
    worker.delete(&name).unwrap();
}
