//! A source that reads a backlog into Kafka: how fast, and with how much memory at most.

use std::fs;
use std::time::{Duration, Instant};

use chaos_tests::launch::Launch;
use chaos_tests::site::{Site, scratch};
use chaos_tests::wait::{pause, wait_for};

use super::{Bench, report, report_most};

const SENT: &str = "picomq_connector_messages_sent_total";
const READ_WITHIN: Duration = Duration::from_secs(600);
const DRAINED_WITHIN: Duration = Duration::from_secs(60);

/// What is read, and what that must reach.
pub(super) struct Backlog<'a> {
    /// The system, as figures name it: the plugin's name.
    pub(super) system: &'a str,
    /// What one record is: "documents".
    pub(super) unit: &'a str,
    pub(super) records: u32,
    /// Under `[plugin_config]`.
    pub(super) config: &'a str,
    /// Records a second that are enough whatever the server gives.
    pub(super) enough: f64,
}

/// What the engine did.
struct Seen {
    rate: f64,
    resident_mib: f64,
}

/// Engine and bare loop in turn. The best turn must reach four fifths of what the server gives, or what is enough.
pub(super) fn figures(bench: &Bench, backlog: &Backlog<'_>, bare: impl Fn() -> f64) -> bool {
    let Backlog { system, unit, enough, .. } = *backlog;
    // Warms the server up.
    bare();
    let (mut best_ratio, mut best_rate, mut resident): (f64, f64, f64) = (0.0, 0.0, 0.0);
    for turn in 0..bench.pairs {
        let engine = engine(bench, backlog, turn);
        let bare = bare();
        let ratio = engine.rate / bare;
        println!(
            "{system}, turn {turn}: {:.1} k {unit}/s, pages alone {:.1} k/s, ratio {ratio:.3}; engine {:.0} MiB at most",
            engine.rate / 1e3,
            bare / 1e3,
            engine.resident_mib
        );
        (best_ratio, best_rate) = (best_ratio.max(ratio), best_rate.max(engine.rate));
        resident = resident.max(engine.resident_mib);
    }
    let good = if best_rate >= enough {
        report(&format!("{system}: {unit}/s"), best_rate, enough)
    } else {
        report(&format!("{system}: best ratio to pages alone of {} turns", bench.pairs), best_ratio, 0.8)
    };
    report_most(&format!("{system}: MiB resident"), resident, 80.0) && good
}

/// From the first batch to the last record.
fn engine(bench: &Bench, backlog: &Backlog<'_>, turn: u32) -> Seen {
    let Backlog { system, unit: key, records, config, .. } = *backlog;
    let dir = scratch().join(format!("bench-{key}"));
    let site = Site::new(&dir, &bench.kafka.bootstrap(), "").unwrap();
    let topic = format!("bench-{key}-{turn}");
    let definition = format!(
        "type = \"source\"\nkey = \"{key}\"\nenabled = true\nname = \"Bench\"\n\
         path = \"picomq_connector_{system}_source\"\nmax_in_flight = 2\n\n\
         [[topics]]\ntopic = \"{topic}\"\ncreate_topics = true\nbatch_length = 10000\n\n\
         [plugin_config]\n{config}"
    );
    site.define(key, &definition).unwrap();
    let mut daemon = site.start(&Launch::default()).unwrap();
    let mut resident_kib = 0;
    let mut began = None;
    let sent = wait_for("every record", READ_WITHIN, || {
        let sent = daemon.metric(SENT, key).unwrap_or(0.0);
        if sent > 0.0 && began.is_none() {
            began = Some((Instant::now(), sent));
        }
        resident_kib = daemon.resident_kib().unwrap_or(0).max(resident_kib);
        if sent >= f64::from(records) {
            return Ok(sent);
        }
        pause(Duration::from_millis(20));
        Err(format!("{sent} of {records}"))
    })
    .unwrap();
    let (began, first) = began.expect("set when the first were sent");
    let rate = (sent - first) / began.elapsed().as_secs_f64();
    daemon.terminate();
    assert_eq!(daemon.wait_exit(DRAINED_WITHIN).unwrap().code(), Some(0), "the engine drains when asked to");
    bench.admin.delete(&[topic]).unwrap();
    let _ = fs::remove_dir_all(&dir);
    Seen { rate, resident_mib: resident_kib as f64 / 1024.0 }
}
