//! Points from a real InfluxDB 1.6 into Kafka, ÷ a bare loop that asks for the same pages of the same server and drops them:
//! the server's own limit. Server, engine and broker share the machine, the bare loop has it with the server alone.

use std::fmt::Write;
use std::time::{Duration, Instant};

use chaos_tests::campaign::count;
use chaos_tests::http::send;
use chaos_tests::influxdb::{DATABASE, InfluxDb};
use chaos_tests::site::scratch;

use super::Bench;
use super::backlog::{self, Backlog};

const PAGE: usize = 5_000;
/// `BENCH_POINTS` is another number.
const POINTS: u32 = 1_000_000;
/// Points that share a time: one of each series.
const SERIES: u32 = 10;
/// The first time, 2021-01-01, and what lies between two.
const FIRST_NS: u64 = 1_609_459_200_000_000_000;
const STEP_NS: u64 = 1_000_000;
const SOON: Duration = Duration::from_secs(60);

pub(super) fn points(bench: &Bench) -> bool {
    let records = count("BENCH_POINTS", POINTS);
    let server = InfluxDb::start(&scratch().join("bench-influxdb")).unwrap();
    fill(&server, records);
    let url = server.url();
    let config = format!(
        "version = \"v1\"\nurl = \"{url}\"\ndb = \"{DATABASE}\"\nmeasurement = \"cpu\"\nbatch_size = {PAGE}\n"
    );
    let backlog = Backlog { system: "influxdb", unit: "points", records, config: &config, enough: 100_000.0 };
    backlog::figures(bench, &backlog, || bare(&server, records))
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
