//! An InfluxDB that is written to all the time, its source killed again and again and the server crashed: every point that was
//! acknowledged to its writer is in the topic, late ones and groups of one time that are larger than any page included, and
//! nothing repeats beyond what was in flight.
//!
//! A fifth of `CHAOS_KILLS`; 20 by default. What it does not prove: anything about a power loss, or a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chaos_tests::campaign::{count, seed};
use chaos_tests::influxdb::{DATABASE, InfluxDb};
use chaos_tests::launch::Launch;
use chaos_tests::site::scratch;
use chaos_tests::wait::{pause, wait_for};

use crate::stage::{Stage, WITHIN};

const KILLS: u32 = 100;
const PAGE: u64 = 100;
const WINDOW: u64 = 4;
const SETTLED_WITHIN: Duration = Duration::from_secs(120);

fn definition(key: &str, topic: &str, url: &str) -> String {
    format!(
        "type = \"source\"\nkey = \"{key}\"\nenabled = true\nname = \"Ledger\"\n\
         path = \"picomq_connector_influxdb_source\"\nmax_in_flight = {WINDOW}\n\n\
         [[topics]]\ntopic = \"{topic}\"\ncreate_topics = true\n\n\
         [plugin_config]\nversion = \"v1\"\nurl = \"{url}\"\ndb = \"{DATABASE}\"\nmeasurement = \"kv\"\n\
         batch_size = {PAGE}\nstuck_batch_cap_factor = 0\npoll_interval = \"20ms\"\n\
         overlap = \"20s\"\noverlap_points = 50000\n"
    )
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_nanos()).unwrap()
}

/// What was acknowledged: by id, as the source names points.
type Ledger = Vec<String>;

/// Writes until it is told to stop: points of now, points some seconds late, and now and then hundreds of one time.
fn writer(server: &InfluxDb) -> (Arc<AtomicBool>, JoinHandle<Ledger>) {
    let stop = Arc::new(AtomicBool::new(false));
    let (write, asked) = (server.writer(), Arc::clone(&stop));
    let mut random = fastrand::Rng::with_seed(seed());
    let thread = std::thread::spawn(move || {
        let (mut ledger, mut number) = (Ledger::new(), 0_u64);
        while !asked.load(Ordering::SeqCst) {
            let is_group = random.u32(..30) == 0;
            let size = if is_group { 450 } else { random.u64(1..20) };
            let base = now() - if random.u32(..4) == 0 { random.i64(0..8_000_000_000) } else { 0 };
            let points: Vec<(u64, i64)> = (0..size)
                .map(|point| (number + point, if is_group { base } else { base - random.i64(0..1_000_000) }))
                .collect();
            number += size;
            let line = |(number, time): &(u64, i64)| format!("kv,n={number} v={number}i {time}\n");
            let lines: String = points.iter().map(line).collect();
            // Written again it is the same point: so until the server says that it has it.
            while !write(&lines) {
                pause(Duration::from_millis(50));
            }
            ledger.extend(points.iter().map(|(number, time)| format!("kv,n={number} {time}")));
            pause(Duration::from_millis(random.u64(0..30)));
        }
        ledger
    });
    (stop, thread)
}

/// How often each point is in the topic.
fn in_topic(stage: &Stage, topic: &str) -> BTreeMap<String, u64> {
    let mut seen = BTreeMap::new();
    for entry in stage.entries(topic) {
        let (_, id) =
            entry.headers.iter().find(|(name, _)| name == "picomq.id").expect("every point has an id");
        *seen.entry(String::from_utf8(id.clone()).unwrap()).or_insert(0) += 1;
    }
    seen
}

#[test]
fn a_storm_of_kills_loses_no_point_and_repeats_no_more_than_was_in_flight_b100() {
    let name = "influxdb-kills";
    let mut server = InfluxDb::start(&scratch().join(format!("{name}-server"))).unwrap();
    let stage = Stage::new(name);
    let topic = format!("{name}-{}", seed());
    stage.site.define(name, &definition(name, &topic, &server.url())).unwrap();
    let (stop, writing) = writer(&server);
    let mut random = fastrand::Rng::with_seed(seed() ^ u64::from(server.port()));
    let kills = count("CHAOS_KILLS", KILLS).div_ceil(5);
    for kill in 0..kills {
        let mut daemon = stage.site.start(&Launch::default()).unwrap();
        pause(Duration::from_millis(random.u64(200..2_500)));
        if kill % 10 == 5 {
            server.crash().unwrap();
            pause(Duration::from_millis(500));
        }
        assert!(daemon.kill(), "the engine ended by itself; see {}", stage.site.log().display());
    }
    stop.store(true, Ordering::SeqCst);
    let ledger = writing.join().unwrap();
    let (mut daemon, begun) = (stage.start(), Instant::now());
    let seen = wait_for("every point in the topic", SETTLED_WITHIN, || {
        let seen = in_topic(&stage, &topic);
        match ledger.iter().filter(|point| !seen.contains_key(*point)).count() {
            0 => Ok(seen),
            missing => {
                pause(Duration::from_millis(500));
                Err(format!("{missing} of {} points are missing", ledger.len()))
            }
        }
    })
    .unwrap();
    let settled = begun.elapsed().as_secs();
    daemon.terminate();
    assert_eq!(daemon.wait_exit(WITHIN).unwrap().code(), Some(0));

    assert_eq!(seen.len(), ledger.len(), "points that nobody wrote");
    let repeats: u64 = seen.values().map(|times| times - 1).sum();
    let most = u64::from(kills) * WINDOW * PAGE;
    eprintln!(
        "{name}: {} points, {kills} kills, {repeats} repeats of at most {most}, settled in {settled} s",
        ledger.len()
    );
    assert!(repeats <= most, "{repeats} repeats, at most {most}");
    assert!(ledger.len() > 100 * kills as usize / 2, "the writer hardly wrote: {} points", ledger.len());
}
