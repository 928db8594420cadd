//! From the commit of a row to a consumer of the topic that has it, at a thousand single-row transactions a second written by
//! `pgbench` with `synchronous_commit` on.
//!
//! The row carries the server's clock at its INSERT, the consumer reads its own: they are one machine.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chaos_tests::campaign::count;
use chaos_tests::connect::debezium;
use chaos_tests::site::scratch;
use chaos_tests::wait::wait_for;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Message, Offset, TopicPartitionList};

use super::{Figure, Stage, Wanted};

const TABLE: &str = "moments";
const RATE: u32 = 1_000;
/// The first seconds are left out: Java compiles.
const WARM_SECONDS: u32 = 4;
const SOON: Duration = Duration::from_secs(60);
const INSERT: &str = "INSERT INTO moments (sent_us, filler) VALUES \
    ((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, repeat('x', 150));\n";

/// Of the rows of one turn, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Seen {
    p50: f64,
    p99: f64,
    rows: usize,
}

/// Answers when each row was sent and when it came.
type Consuming = JoinHandle<Vec<(i64, i64)>>;

pub(super) fn figures(stage: &Stage<'_>) {
    stage.sql(&format!(
        "CREATE TABLE {TABLE} (id bigserial PRIMARY KEY, sent_us bigint NOT NULL, filler text NOT NULL);
         CREATE PUBLICATION {TABLE} FOR TABLE {TABLE}"
    ));
    let turns: Vec<(Seen, Seen)> =
        (0..stage.bench.pairs).map(|_| (engine(stage), with_debezium(stage))).collect();
    for (ours, theirs) in &turns {
        println!(
            "latency at {RATE} rows/s: engine p50 {:.2} ms, p99 {:.2} ms ({} rows); Debezium p50 {:.2} ms, p99 {:.2} ms ({} rows)",
            ours.p50, ours.p99, ours.rows, theirs.p50, theirs.p99, theirs.rows
        );
    }
    for (what, most, of) in
        [("p50", 0.5, (|seen| seen.p50) as fn(&Seen) -> f64), ("p99", 0.6, |seen| seen.p99)]
    {
        let ratio = |(ours, theirs): &(Seen, Seen)| of(ours) / of(theirs);
        let best = turns.iter().min_by(|one, other| ratio(one).total_cmp(&ratio(other))).unwrap();
        stage.note(Figure {
            what: format!("commit to consumer, {what} ÷ Debezium's"),
            ours: format!("{:.1} ms", of(&best.0)),
            other: format!("{:.1} ms", of(&best.1)),
            value: ratio(best),
            wanted: Wanted::AtMost(most),
        });
    }
    stage.sql(&format!("DROP PUBLICATION {TABLE}; DROP TABLE {TABLE}"));
}

fn engine(stage: &Stage<'_>) -> Seen {
    let (topic, slot) = (stage.name(TABLE), stage.name("run"));
    stage.bench.admin.create(&[&topic], &[]).unwrap();
    let keys = format!(
        "tables = [\"{TABLE}\"]\npublication_name = \"{TABLE}\"\ncreate_publication = false\n\
         slot_name = \"{slot}\"\nsnapshot_mode = \"no_data\"\n"
    );
    let (_site, daemon) = stage.engine(&topic, 16, "", &keys);
    let seen = measure(stage, &topic);
    stage.end(daemon);
    stage.bench.admin.delete(&[&topic]).unwrap();
    stage.drop_slot(&slot);
    seen
}

fn with_debezium(stage: &Stage<'_>) -> Seen {
    let (worker, name) = (stage.worker(), stage.name("debezium"));
    let topic = format!("{name}.public.{TABLE}");
    stage.bench.admin.create(&[&topic], &[]).unwrap();
    let more = [
        ("poll.interval.ms", "10"),
        ("publication.name", TABLE),
        ("publication.autocreate.mode", "disabled"),
        ("snapshot.mode", "no_data"),
    ];
    worker.create(&name, &debezium(&stage.server, &name, &format!("public.{TABLE}"), &more)).unwrap();
    let seen = measure(stage, &topic);
    worker.delete(&name).unwrap();
    stage.bench.admin.delete(&[&topic]).unwrap();
    stage.drop_slot(&name);
    seen
}

/// Waits until rows arrive at all, then writes at a steady rate and looks at each.
fn measure(stage: &Stage<'_>, topic: &str) -> Seen {
    let stop = Arc::new(AtomicBool::new(false));
    let (first, consumer) = consume(&stage.bench.kafka.bootstrap(), topic, Arc::clone(&stop));
    wait_for("the first row", SOON, || {
        stage.sql(INSERT);
        if first.load(Ordering::SeqCst) { Ok(()) } else { Err("nothing came".to_owned()) }
    })
    .unwrap();
    let seconds = WARM_SECONDS + count("POSTGRES_LATENCY_SECONDS", 20);
    let began_us = now_us();
    write(stage, seconds);
    // What was written last is still on its way.
    chaos_tests::wait::pause(Duration::from_secs(2));
    stop.store(true, Ordering::SeqCst);
    let counted_from = began_us + i64::from(WARM_SECONDS) * 1_000_000;
    let seen = consumer.join().unwrap();
    let mut took: Vec<i64> =
        seen.iter().filter(|(sent, _)| *sent >= counted_from).map(|(sent, came)| came - sent).collect();
    took.sort_unstable();
    let least = (RATE * (seconds - WARM_SECONDS)) as usize * 9 / 10;
    assert!(took.len() >= least, "{} rows came, at least {least} were to be written", took.len());
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    Seen { p50: at(0.5), p99: at(0.99), rows: took.len() }
}

fn write(stage: &Stage<'_>, seconds: u32) {
    let script = scratch().join("bench-insert.sql");
    fs::write(&script, INSERT).unwrap();
    let output = Command::new("/usr/lib/postgresql/15/bin/pgbench")
        .args(["-n", "-M", "prepared", "-c", "4", "-R", &RATE.to_string(), "-T", &seconds.to_string()])
        .args(["-h", "127.0.0.1", "-p", &stage.server.port().to_string(), "-U", "postgres"])
        .arg("-f")
        .arg(&script)
        .arg("postgres")
        .env("PGPASSWORD", "secret")
        .output()
        .expect("pgbench comes with postgresql-15");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A consumer of all of `topic` in a thread of its own. The flag says that a row came.
fn consume(bootstrap: &str, topic: &str, stop: Arc<AtomicBool>) -> (Arc<AtomicBool>, Consuming) {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", "bench-latency")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    let mut log = TopicPartitionList::new();
    log.add_partition_offset(topic, 0, Offset::Beginning).unwrap();
    consumer.assign(&log).unwrap();
    let first = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&first);
    let thread = std::thread::spawn(move || {
        let mut seen = Vec::new();
        while !stop.load(Ordering::SeqCst) {
            let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) else { continue };
            let came = now_us();
            if let Some(sent) = message.payload().and_then(sent_us) {
                seen.push((sent, came));
                told.store(true, Ordering::SeqCst);
            }
        }
        seen
    });
    (first, thread)
}

/// The digits behind the name of the column; both forms of a record have it once.
fn sent_us(payload: &[u8]) -> Option<i64> {
    const NAME: &[u8] = b"\"sent_us\":";
    let at = payload.windows(NAME.len()).position(|window| window == NAME)? + NAME.len();
    let digits = payload[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&payload[at..at + digits]).ok()?.parse().ok()
}

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock stands after 1970");
    i64::try_from(since.as_micros()).expect("before the year 294000")
}
