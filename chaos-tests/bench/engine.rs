//! The engine under the same load, as a process.

use std::time::{Duration, Instant};

use chaos_tests::daemon::Daemon;
use chaos_tests::launch::Launch;
use chaos_tests::site::{Site, scratch};
use chaos_tests::wait::{pause, wait_for};

use super::{BATCH, Bench, Load, WARM_SECONDS};

const KEY: &str = "bench";
const SENT: &str = "picomq_connector_messages_sent_total";
/// Until its first batch is acknowledged: with 5,000 topics it learns them all first.
const FIRST_BATCH_WITHIN: Duration = Duration::from_secs(30);
const DRAINED_WITHIN: Duration = Duration::from_secs(40);

/// What was measured.
pub(super) struct Outcome {
    pub(super) rate: f64,
    pub(super) resident_mib: f64,
}

pub(super) fn run(bench: &Bench, load: &Load) -> Outcome {
    let site = Site::new(&scratch().join("bench-engine"), &bench.kafka.bootstrap(), "").unwrap();
    site.define(KEY, &definition(load)).unwrap();
    let mut daemon = site.start(&Launch::default()).unwrap();
    daemon.wait_serving().unwrap();
    wait_for("the first batch", FIRST_BATCH_WITHIN, || match daemon.metric(SENT, KEY) {
        Ok(sent) if sent > 0.0 => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .unwrap();
    pause(Duration::from_secs(WARM_SECONDS.into()));

    let (began, before) = sample(&daemon);
    pause(Duration::from_secs(bench.seconds.into()));
    let (ended, after) = sample(&daemon);

    let resident_mib = daemon.resident_kib().unwrap() as f64 / 1024.0;
    daemon.terminate();
    let status = daemon.wait_exit(DRAINED_WITHIN).unwrap();
    assert_eq!(status.code(), Some(0), "the engine drains when asked to");
    Outcome { rate: (after - before) / (ended - began).as_secs_f64(), resident_mib }
}

/// The count at the moment in which it changes, so that a batch under way does not count half.
fn sample(daemon: &Daemon) -> (Instant, f64) {
    let first = daemon.metric(SENT, KEY).unwrap();
    wait_for("the next batch", FIRST_BATCH_WITHIN, || match daemon.metric(SENT, KEY) {
        Ok(sent) if sent > first => Ok((Instant::now(), sent)),
        other => Err(format!("{other:?}")),
    })
    .unwrap()
}

fn definition(load: &Load) -> String {
    let topic = match load.topics {
        1 => format!("\"{}\"", load.prefix),
        _ => {
            // The users are called user-0, user-1 …, and so do the topics end.
            let before = load.prefix.strip_suffix("user-").expect("the prefix of many topics ends so");
            format!("{{ strategy = \"field\", path = \"user_id\", template = \"{before}{{value}}\" }}")
        }
    };
    format!(
        "type = \"source\"\nkey = \"{KEY}\"\nenabled = true\nname = \"Bench\"\n\
         path = \"picomq_connector_random_source\"\nmax_in_flight = {window}\n\n\
         [[topics]]\ntopic = {topic}\nbatch_length = {BATCH}\nlinger_time = \"0s\"\nmax_topics = 10000\n\n\
         [plugin_config]\ninterval = \"0s\"\nmessages_range = [{BATCH}, {past}]\npayload_size = 60\nuser_pool = {topics}\n",
        window = load.window,
        past = BATCH + 1,
        topics = load.topics,
    )
}
