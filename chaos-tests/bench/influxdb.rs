//! Points from a real InfluxDB 1.6 into Kafka, ÷ a bare loop that asks for the same pages of the same server and drops them:
//! the server's own limit. Server, engine and broker share the machine, the bare loop has it with the server alone.

use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

use chaos_tests::campaign::count;
use chaos_tests::http::send;
use chaos_tests::influxdb::{DATABASE, InfluxDb};
use chaos_tests::launch::Launch;
use chaos_tests::site::{Site, scratch};
use chaos_tests::wait::{pause, wait_for};

use super::{Bench, report, report_most};

const KEY: &str = "points";
const SENT: &str = "picomq_connector_messages_sent_total";
const PAGE: usize = 5_000;
/// `BENCH_POINTS` is another number.
const POINTS: u32 = 1_000_000;
/// Points that share a time: one of each series.
const SERIES: u32 = 10;
/// The first time, 2021-01-01, and what lies between two.
const FIRST_NS: u64 = 1_609_459_200_000_000_000;
const STEP_NS: u64 = 1_000_000;
const SOON: Duration = Duration::from_secs(60);
const READ_WITHIN: Duration = Duration::from_secs(600);

/// What the engine did.
struct Seen {
    rate: f64,
    resident_mib: f64,
}

/// The best turn must reach four fifths of what the server gives, or a hundred thousand points a second.
pub(super) fn points(bench: &Bench) -> bool {
    let points = count("BENCH_POINTS", POINTS);
    let server = InfluxDb::start(&scratch().join("bench-influxdb")).unwrap();
    fill(&server, points);
    bare(&server, points);
    let (mut best_ratio, mut best_rate, mut resident): (f64, f64, f64) = (0.0, 0.0, 0.0);
    for turn in 0..bench.pairs {
        let engine = engine(bench, &server, points, turn);
        let bare = bare(&server, points);
        let ratio = engine.rate / bare;
        println!(
            "influxdb, turn {turn}: {:.1} k points/s, pages alone {:.1} k/s, ratio {ratio:.3}; engine {:.0} MiB at most",
            engine.rate / 1e3,
            bare / 1e3,
            engine.resident_mib
        );
        (best_ratio, best_rate) = (best_ratio.max(ratio), best_rate.max(engine.rate));
        resident = resident.max(engine.resident_mib);
    }
    let good = if best_rate >= 100_000.0 {
        report("influxdb: points/s", best_rate, 100_000.0)
    } else {
        report(&format!("influxdb: best ratio to pages alone of {} turns", bench.pairs), best_ratio, 0.8)
    };
    report_most("influxdb: MiB resident", resident, 80.0) && good
}

fn fill(server: &InfluxDb, points: u32) {
    let write = server.writer();
    for first in (0..points).step_by(PAGE) {
        let mut lines = String::new();
        for number in first..points.min(first + PAGE as u32) {
            let time = FIRST_NS + u64::from(number / SERIES) * STEP_NS;
            let (series, user) = (number % SERIES, f64::from(number % 1_000) / 10.0);
            writeln!(
                lines,
                "cpu,host=h{series},region=eu usage_user={user},usage_system=1.25,n={number}i {time}"
            )
            .expect("a string can be written to");
        }
        assert!(write(&lines), "the points are written");
    }
}

/// Points a second, page after page as the source asks for them, each read whole and dropped.
fn bare(server: &InfluxDb, points: u32) -> f64 {
    let times = u64::from(points / SERIES);
    let (mut next, began) = (0, Instant::now());
    while next < times {
        let low = FIRST_NS + next * STEP_NS;
        // The source leaves the last time of a full page for the next one.
        let limit = PAGE;
        let path = format!(
            "GET /query?db={DATABASE}&epoch=ns&chunked=true&chunk_size=5000&q=SELECT%20*::field,%20*::tag%20FROM%20%22cpu%22\
             %20WHERE%20time%20>=%20{low}%20ORDER%20BY%20time%20ASC%20LIMIT%20{limit}"
        );
        let answer = send(server.port(), &path, "", SOON).unwrap();
        let rows = answer.body.matches("\"eu\"]").count();
        assert!(answer.status == 200 && rows > 0, "{} {}", answer.status, answer.body);
        let whole = (rows as u64 / u64::from(SERIES)).saturating_sub(u64::from(rows == PAGE));
        next += whole.max(1);
    }
    f64::from(points) / began.elapsed().as_secs_f64()
}

/// From the first batch to the last point.
fn engine(bench: &Bench, server: &InfluxDb, points: u32, turn: u32) -> Seen {
    let dir = scratch().join("bench-points");
    let site = Site::new(&dir, &bench.kafka.bootstrap(), "").unwrap();
    let topic = format!("bench-points-{turn}");
    let definition = format!(
        "type = \"source\"\nkey = \"{KEY}\"\nenabled = true\nname = \"Bench\"\n\
         path = \"picomq_connector_influxdb_source\"\nmax_in_flight = 2\n\n\
         [[topics]]\ntopic = \"{topic}\"\ncreate_topics = true\nbatch_length = 10000\n\n\
         [plugin_config]\nversion = \"v1\"\nurl = \"{url}\"\ndb = \"{DATABASE}\"\nmeasurement = \"cpu\"\nbatch_size = {PAGE}\n",
        url = server.url(),
    );
    site.define(KEY, &definition).unwrap();
    let mut daemon = site.start(&Launch::default()).unwrap();
    let mut resident_kib = 0;
    let mut began = None;
    let sent = wait_for("every point", READ_WITHIN, || {
        let sent = daemon.metric(SENT, KEY).unwrap_or(0.0);
        if sent > 0.0 && began.is_none() {
            began = Some((Instant::now(), sent));
        }
        resident_kib = daemon.resident_kib().unwrap_or(0).max(resident_kib);
        if sent >= f64::from(points) {
            return Ok(sent);
        }
        pause(Duration::from_millis(20));
        Err(format!("{sent} of {points}"))
    })
    .unwrap();
    let (began, first) = began.expect("set when the first were sent");
    let rate = (sent - first) / began.elapsed().as_secs_f64();
    daemon.terminate();
    assert_eq!(daemon.wait_exit(SOON).unwrap().code(), Some(0), "the engine drains when asked to");
    bench.admin.delete(&[topic]).unwrap();
    let _ = fs::remove_dir_all(&dir);
    Seen { rate, resident_mib: resident_kib as f64 / 1024.0 }
}
