//! SIGTERM at every step of a batch, with the broker gone, and twice.

use std::time::{Duration, Instant};

use chaos_tests::campaign::{Campaign, seed};
use chaos_tests::kafka::{Kafka, Switches};
use chaos_tests::launch::Launch;
use chaos_tests::site::scratch;
use chaos_tests::wait::pause;
use chaos_tests::workload::Workload;

use crate::stage::{STEPS, WITHIN};

/// How long the engine stands still at its point: the signal comes within this time.
const STANDS_MS: u32 = 900;
/// Batches come every 20 ms: a position that stands still for this long stands at the point.
const STILL: Duration = Duration::from_millis(250);

/// Until the saved position has not moved for a while.
fn wait_still(campaign: &mut Campaign) {
    let (mut position, mut since) = (campaign.position(), Instant::now());
    while since.elapsed() < STILL {
        campaign.run_for(Duration::from_millis(10)).unwrap();
        if campaign.position() != position {
            (position, since) = (campaign.position(), Instant::now());
        }
    }
}

fn stops(name: &str, window: u64) {
    let bootstrap = Kafka::shared().bootstrap();
    let workload = Workload { window, ..Workload::new(name, seed()) };
    let mut campaign = Campaign::new(name, workload, &bootstrap, &bootstrap, "").unwrap();
    for point in STEPS {
        let passing = if point == "opened" { 1 } else { campaign.random.u32(2..6) };
        let mut daemon = campaign.start(&Launch::pause_at(point, passing, STANDS_MS)).unwrap();
        daemon.wait_serving().unwrap();
        wait_still(&mut campaign);

        daemon.terminate();

        let status = daemon.wait_exit(WITHIN).unwrap();
        assert_eq!(status.code(), Some(0), "SIGTERM at {point}; see {}", campaign.site.log().display());
        campaign.broken(format!("SIGTERM at passing {passing} of {point}"), false).unwrap();
        campaign.observe().unwrap();
        let figures = campaign.figures();
        assert_eq!(figures.duplicates, 0, "a stop that drained repeats nothing: {point}");
        assert_eq!(figures.distinct, campaign.position(), "everything sent is saved: {point}");
    }
    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 2, WITHIN).unwrap();
    let report = campaign.drain(daemon, WITHIN).unwrap();
    report.assert_clean();
    assert_eq!((report.figures.duplicates, report.figures.distinct), (0, report.figures.position));
}

#[test]
fn a_stop_at_any_step_drains_and_repeats_nothing() {
    stops("stop-1", 1);
}

#[test]
fn a_stop_at_any_step_with_four_batches_in_flight_drains_and_repeats_nothing() {
    stops("stop-4", 4);
}

#[test]
fn a_stop_while_the_broker_stands_still_gives_up_within_the_grace_and_says_so_b068() {
    let kafka = Kafka::start(&scratch().join("stop-kafka"), Switches::default()).unwrap();
    let workload = Workload { window: 4, ..Workload::new("given-up", seed()) };
    let bootstrap = kafka.bootstrap();
    let grace = "[shutdown]\ngrace = \"3s\"\n";
    let mut campaign = Campaign::new("stop-paused", workload, &bootstrap, &bootstrap, grace).unwrap();
    let mut daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 3, WITHIN).unwrap();
    kafka.pause();
    campaign.run_for(Duration::from_millis(500)).unwrap();
    let position = campaign.position();

    let asked = Instant::now();
    daemon.terminate();
    let status = daemon.wait_exit(WITHIN).unwrap();

    assert_eq!(status.code(), Some(1), "not drained is not success");
    assert!(asked.elapsed() < Duration::from_secs(6), "{:?} with a grace of 3 s", asked.elapsed());
    campaign.broken("SIGTERM while the broker stood still", true).unwrap();
    kafka.resume();
    campaign.observe().unwrap();
    assert_eq!(campaign.position(), position, "no state for a batch without its reports");
    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 3, WITHIN).unwrap();
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    let kafka = Kafka::start(&scratch().join("stop-twice-kafka"), Switches::default()).unwrap();
    let workload = Workload { window: 4, ..Workload::new("twice", seed()) };
    let bootstrap = kafka.bootstrap();
    let mut campaign = Campaign::new("stop-twice", workload, &bootstrap, &bootstrap, "").unwrap();
    let mut daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 3, WITHIN).unwrap();
    kafka.pause();
    campaign.run_for(Duration::from_millis(300)).unwrap();

    daemon.terminate();
    pause(Duration::from_secs(1));
    assert!(daemon.exited().is_none(), "the first waits for the broker");
    let asked = Instant::now();
    daemon.terminate();
    let status = daemon.wait_exit(Duration::from_secs(5)).unwrap();

    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    assert_ne!(status.code(), Some(0), "not drained is not success");
    campaign.broken("SIGTERM twice while the broker stood still", true).unwrap();
    kafka.resume();
    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 3, WITHIN).unwrap();
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}
