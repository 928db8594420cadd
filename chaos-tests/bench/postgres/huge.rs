//! One transaction of ten million rows, the engine killed twice on the way: every row is there, and memory stays flat.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use chaos_tests::campaign::count;
use chaos_tests::launch::Launch;
use chaos_tests::wait::{pause, wait_for};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Message, Offset, TopicPartitionList};

use super::{Figure, Stage, Wanted, mebibytes};

const TABLE: &str = "huge";
const SOON: Duration = Duration::from_secs(60);
/// The server decodes a transaction that was read in part from its beginning before it goes on.
const SILENCE_MAX: Duration = Duration::from_secs(300);

/// What a consumer has seen so far.
#[derive(Debug, Default)]
struct Seen {
    distinct: AtomicU64,
    all: AtomicU64,
    is_over: std::sync::atomic::AtomicBool,
}

pub(super) fn figures(stage: &Stage<'_>) {
    let rows = u64::from(count("POSTGRES_HUGE_ROWS", 10_000_000));
    let (topic, slot) = (stage.name(TABLE), stage.name("run"));
    stage.sql(&format!("CALL make('{TABLE}')"));
    stage.bench.admin.create(&[&topic], &[]).unwrap();
    let keys = format!(
        "tables = [\"{TABLE}\"]\npublication_name = \"{TABLE}\"\ncreate_publication = false\n\
         slot_name = \"{slot}\"\nsnapshot_mode = \"no_data\"\n"
    );
    // What is asked here is memory and completeness; ten million rows as they are would fill the machine's memory.
    let (site, mut daemon) =
        stage.engine(&topic, 4, "properties = { \"compression.type\" = \"lz4\" }\n", &keys);
    let active = format!("SELECT active FROM pg_replication_slots WHERE slot_name = '{slot}'");
    wait_for("the stream", SOON, || match stage.server.sql(&active)?.as_str() {
        "t" => Ok(()),
        other => Err(other.to_owned()),
    })
    .unwrap();
    let (seen, consumer) = consume(&stage.bench.kafka.bootstrap(), &topic, rows);
    let began = Instant::now();
    stage.sql(&format!("CALL fill('{TABLE}', {rows}, {rows})"));
    println!("one transaction of {rows} rows: written in {:.0} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let mut most = 0;
    for kill_at in [Some(rows / 3), Some(rows * 2 / 3), None] {
        most =
            most.max(follow(&seen, kill_at.unwrap_or(rows), &|| daemon.resident_kib().unwrap_or_default()));
        if let Some(at) = kill_at {
            assert!(daemon.kill(), "the engine ended by itself; see {}", site.log().display());
            println!("killed at {at} rows, {:.0} s", began.elapsed().as_secs_f64());
            daemon = site.start(&Launch::default()).unwrap();
        }
    }
    stage.end(daemon);
    let all = seen.all.load(Ordering::SeqCst);
    seen.is_over.store(true, Ordering::SeqCst);
    consumer.join().unwrap();
    println!("complete after {:.0} s; {} came twice", began.elapsed().as_secs_f64(), all - rows);
    stage.note(Figure {
        what: format!("MiB resident in one transaction of {rows} rows, two kills, complete"),
        ours: mebibytes(most),
        other: String::new(),
        value: most as f64 / 1024.0,
        wanted: Wanted::AtMost(256.0),
    });
    stage.bench.admin.delete(&[&topic]).unwrap();
    stage.drop_slot(&slot);
    stage.sql(&format!("DROP PUBLICATION {TABLE}; DROP TABLE {TABLE}"));
}

/// Waits until so many different rows were seen; answers the most memory meanwhile.
fn follow(seen: &Seen, wanted: u64, resident_kib: &dyn Fn() -> u64) -> u64 {
    let (mut most, mut last, mut grew) = (0, 0, Instant::now());
    loop {
        let now = seen.distinct.load(Ordering::SeqCst);
        most = most.max(resident_kib());
        if now >= wanted {
            return most;
        }
        if now > last {
            (last, grew) = (now, Instant::now());
        }
        assert!(grew.elapsed() < SILENCE_MAX, "stands still at {last} of {wanted} rows");
        pause(Duration::from_millis(20));
    }
}

/// A consumer that marks each row it sees, by its number.
fn consume(bootstrap: &str, topic: &str, rows: u64) -> (Arc<Seen>, JoinHandle<()>) {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", "bench-huge")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    let mut log = TopicPartitionList::new();
    log.add_partition_offset(topic, 0, Offset::Beginning).unwrap();
    consumer.assign(&log).unwrap();
    let seen = Arc::new(Seen::default());
    let told = Arc::clone(&seen);
    let thread = std::thread::spawn(move || {
        let mut marks = vec![0_u64; rows as usize / 64 + 1];
        while !told.is_over.load(Ordering::SeqCst) {
            let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) else { continue };
            // The key is the number of the row, as JSON.
            let key = message.key().and_then(|key| std::str::from_utf8(key).ok()?.parse::<u64>().ok());
            let key = key.filter(|key| (1..=rows).contains(key)).expect("the key of a row that was written");
            let (word, bit) = ((key / 64) as usize, 1 << (key % 64));
            if marks[word] & bit == 0 {
                marks[word] |= bit;
                told.distinct.fetch_add(1, Ordering::SeqCst);
            }
            told.all.fetch_add(1, Ordering::SeqCst);
        }
    });
    (seen, thread)
}
