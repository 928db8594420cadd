//! `make bench`: the engine against a bare loop that does the same work with nothing of the engine in it, in
//! alternating pairs on one real Kafka, and the engine's footprint. Ratios of one run count, not single figures: the
//! machine is shared by broker, client and everything else.
//!
//! `cargo bench -p chaos-tests -- [throughput] [fanout] [footprint] [outage] [webhook] [elasticsearch] [influxdb]
//! [postgres]`, all of them without a name;
//! `bare` is the bare loop alone, to know the machine; `postgres-stream`, `-snapshot`, `-latency`, `-huge` are parts of
//! `postgres`.
//! `BENCH_SECONDS` is the length of each measurement (8), `BENCH_PAIRS` the number of pairs (3). The broker keeps its
//! log in memory (`BENCH_LOG_DIR`, default /dev/shm) so that its writes do not disturb the state's syncs; the state
//! of engine and bare loop is on disk.

#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that cannot go on panics; it prints figures"
)]

mod backlog;
mod bare;
mod elasticsearch;
mod engine;
mod footprint;
mod influxdb;
mod postgres;
mod webhook;

use std::fs;
use std::path::PathBuf;

use chaos_tests::admin::Admin;
use chaos_tests::campaign::count;
use chaos_tests::kafka::{Kafka, Switches};
use chaos_tests::site::scratch;

/// Records in a batch: the window's bytes stay far below the engine's limit.
const BATCH: u32 = 10_000;
const WARM_SECONDS: u32 = 3;

/// What one bench works on.
struct Bench {
    kafka: Kafka,
    admin: Admin,
    seconds: u32,
    pairs: u32,
}

/// What is sent: the same for the engine and the bare loop.
#[derive(Debug, Clone)]
struct Load {
    prefix: String,
    topics: u32,
    window: u32,
}

impl Load {
    /// One topic has the name of the prefix, several carry a number.
    fn names(&self) -> Vec<String> {
        if self.topics == 1 {
            return vec![self.prefix.clone()];
        }
        (0..self.topics).map(|number| format!("{}{number}", self.prefix)).collect()
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    chaos_tests::binaries::shipped_engine().unwrap();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    let log_dir = log_dir();
    let switches = Switches { log_dir: Some(log_dir.clone()), ..Switches::default() };
    let kafka = Kafka::start(&scratch().join("bench-kafka"), switches).unwrap();
    let admin = Admin::new(&kafka.bootstrap()).unwrap();
    let bench = Bench { kafka, admin, seconds: count("BENCH_SECONDS", 8), pairs: count("BENCH_PAIRS", 3) };
    let mut good = true;
    if wants("throughput") {
        for window in [1, 4] {
            good &= bench.compare(1, window, 0.85);
        }
        bench.bare_alone(1, 0);
    }
    if wants("fanout") {
        for topics in [100, 5_000] {
            good &= bench.compare(topics, 4, 0.8);
        }
    }
    if wanted.iter().any(|word| word == "bare") {
        for (topics, window) in [(1, 1), (1, 4), (100, 4), (5_000, 4), (1, 0)] {
            bench.bare_alone(topics, window);
        }
    }
    if wants("footprint") {
        good &= footprint::idle_sources(&bench);
        good &= footprint::first_record(&bench);
    }
    if wants("outage") {
        good &= footprint::outage(&bench);
    }
    if wants("webhook") {
        good &= webhook::posts(&bench);
    }
    if wants("elasticsearch") {
        good &= elasticsearch::documents(&bench);
    }
    if wants("influxdb") {
        good &= influxdb::points(&bench);
    }
    good &= postgres::figures(&bench, &wants);
    drop(bench);
    let _ = fs::remove_dir_all(&log_dir);
    assert!(good, "a figure is below what it must reach");
}

/// A folder in memory.
fn in_memory() -> PathBuf {
    std::env::var_os("BENCH_LOG_DIR").map_or_else(|| PathBuf::from("/dev/shm"), PathBuf::from)
}

fn log_dir() -> PathBuf {
    let dir = in_memory().join("picomq-bench-kafka");
    let _ = fs::remove_dir_all(&dir);
    dir
}

impl Bench {
    /// Engine and bare loop in turn, each pair on fresh topics. The best pair must reach `least`.
    fn compare(&self, topics: u32, window: u32, least: f64) -> bool {
        let mut best: f64 = 0.0;
        for pair in 0..self.pairs {
            let prefix = format!("bench-{topics}-{window}-{pair}-user-");
            let load = Load { prefix, topics, window };
            self.create(&load);
            let engine = engine::run(self, &load);
            let bare = bare::run(self, &load);
            self.admin.delete(&load.names()).unwrap();
            let ratio = engine.rate / bare.rate;
            best = best.max(ratio);
            println!(
                "topics {topics}, window {window}, pair {pair}: engine {:.0} k/s, bare loop {:.0} k/s, ratio {ratio:.3}; \
                 engine {:.0} MiB resident; one save p50 {} µs (bare loop)",
                engine.rate / 1e3,
                bare.rate / 1e3,
                engine.resident_mib,
                bare.save_p50_us,
            );
        }
        report(&format!("topics {topics}, window {window}: best ratio of {} pairs", self.pairs), best, least)
    }

    /// The bare loop for comparison only; window 0 is the plain producer that never waits.
    fn bare_alone(&self, topics: u32, window: u32) {
        let load = Load { prefix: format!("bench-bare-{topics}-{window}-user-"), topics, window };
        self.create(&load);
        let outcome = bare::run(self, &load);
        self.admin.delete(&load.names()).unwrap();
        let rate = outcome.rate / 1e3;
        println!(
            "bare, topics {topics}, window {window} (0 = unbounded): {rate:.0} k/s, save {} µs",
            outcome.save_p50_us
        );
    }

    fn create(&self, load: &Load) {
        let settings = [("file.delete.delay.ms", "500")];
        for part in load.names().chunks(1_000) {
            self.admin.create(part, &settings).unwrap();
        }
    }
}

/// Prints one required figure; true when it is reached.
fn report(what: &str, value: f64, least: f64) -> bool {
    let good = value >= least;
    println!("{} {what}: {value:.3}, at least {least}", if good { "ok" } else { "BELOW" });
    good
}

/// Prints one figure with an upper limit; true when it is kept.
fn report_most(what: &str, value: f64, most: f64) -> bool {
    let good = value <= most;
    println!("{} {what}: {value:.1}, at most {most}", if good { "ok" } else { "ABOVE" });
    good
}
