//! What the engine costs when little happens: a thousand idle sources, the time to a first record, memory while the
//! broker is gone.

use std::time::{Duration, Instant};

use chaos_tests::consumer::LogReader;
use chaos_tests::launch::Launch;
use chaos_tests::site::{Site, scratch};
use chaos_tests::wait::{pause, wait_for};

use super::{Bench, report_most};

const IDLE_SOURCES: u32 = 1_000;
const SOON: Duration = Duration::from_secs(30);

fn random_source(key: &str, interval: &str, topic: &str) -> String {
    format!(
        "type = \"source\"\nkey = \"{key}\"\nenabled = true\nname = \"Bench\"\n\
         path = \"picomq_connector_random_source\"\n\n\
         [[topics]]\ntopic = \"{topic}\"\ncreate_topics = true\n\n\
         [plugin_config]\ninterval = \"{interval}\"\n"
    )
}

/// A thousand sources that have nothing to do for an hour.
pub(super) fn idle_sources(bench: &Bench) -> bool {
    let site = Site::new(&scratch().join("bench-idle"), &bench.kafka.bootstrap(), "").unwrap();
    for number in 0..IDLE_SOURCES {
        let key = format!("idle-{number}");
        site.define(&key, &random_source(&key, "1h", "idle")).unwrap();
    }
    let mut daemon = site.start(&Launch::default()).unwrap();
    daemon.wait_serving().unwrap();
    wait_for("a thousand running sources", Duration::from_secs(120), || {
        let page = daemon.request("GET", "/metrics").map_err(|error| error.to_string())?.body;
        let running = page.lines().find_map(|line| line.strip_prefix("picomq_connectors_sources_running "));
        match running.and_then(|value| value.parse::<f64>().ok()) {
            Some(value) if value >= f64::from(IDLE_SOURCES) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .unwrap();
    let (cpu, since) = (daemon.cpu_seconds().unwrap(), Instant::now());
    pause(Duration::from_secs(20));
    let busy = (daemon.cpu_seconds().unwrap() - cpu) / since.elapsed().as_secs_f64() * 100.0;
    let threads = std::fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap().count();
    let resident = daemon.resident_kib().unwrap() as f64 / 1024.0;
    println!("{IDLE_SOURCES} idle sources: {threads} threads");
    report_most("idle sources, MiB resident", resident, 200.0)
        & report_most("idle sources, percent of a core", busy, 2.0)
        & report_most("idle sources, threads", threads as f64, f64::from(IDLE_SOURCES) / 2.0)
}

/// From the start of the process to its first record, and from a kill to the first new one. The median of nine.
pub(super) fn first_record(bench: &Bench) -> bool {
    let site = Site::new(&scratch().join("bench-first"), &bench.kafka.bootstrap(), "").unwrap();
    let topic = "bench-first";
    bench.admin.create(&[topic], &[]).unwrap();
    site.define("first", &random_source("first", "10ms", topic)).unwrap();
    let reader = LogReader::new(&bench.kafka.bootstrap()).unwrap();
    let end = || reader.end(topic).unwrap().unwrap_or(0);
    let (mut starts, mut kills) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let before = end();
        let began = Instant::now();
        let mut daemon = site.start(&Launch::default()).unwrap();
        let grown = |past: i64| {
            wait_for("a new record", SOON, || match end() {
                now if now > past => Ok(()),
                now => Err(now.to_string()),
            })
            .unwrap();
        };
        grown(before);
        starts.push(began.elapsed());
        daemon.kill();
        let (killed, left) = (Instant::now(), end());
        let next = site.start(&Launch::default()).unwrap();
        grown(left);
        kills.push(killed.elapsed());
        drop(next);
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    report_most("start to the first record, ms", median(&mut starts), 800.0)
        & report_most("kill to the first new record, ms", median(&mut kills), 1_000.0)
}

/// Memory with the broker stopped for two minutes under full load.
pub(super) fn outage(bench: &Bench) -> bool {
    let site = Site::new(&scratch().join("bench-outage"), &bench.kafka.bootstrap(), "").unwrap();
    let busy = random_source("outage", "0s", "bench-outage")
        + "messages_range = [10000, 10001]\npayload_size = 60\n";
    site.define("outage", &busy).unwrap();
    let mut daemon = site.start(&Launch::default()).unwrap();
    daemon.wait_serving().unwrap();
    daemon.wait_status("outage", "running", SOON).unwrap();
    pause(Duration::from_secs(5));
    let before = daemon.resident_kib().unwrap() as f64 / 1024.0;
    bench.kafka.pause();
    let mut most = before;
    for _ in 0..24 {
        pause(Duration::from_secs(5));
        most = most.max(daemon.resident_kib().unwrap() as f64 / 1024.0);
    }
    bench.kafka.resume();
    println!("broker stopped for two minutes: {before:.0} MiB before, at most {most:.0} MiB");
    report_most("growth while the broker is stopped, MiB", most - before, 16.0)
        & report_most("MiB resident under load", most, 80.0)
}
