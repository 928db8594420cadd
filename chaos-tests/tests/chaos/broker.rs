//! The broker stands still, dies and comes back on the same log. Each story has a Kafka of its own.

use std::time::Duration;

use chaos_tests::campaign::{Campaign, seed};
use chaos_tests::daemon::Daemon;
use chaos_tests::kafka::{Kafka, Switches};
use chaos_tests::launch::Launch;
use chaos_tests::site::scratch;
use chaos_tests::workload::Workload;

use crate::stage::{WITHIN, nacks};

/// A deadline of silence short enough that a pause can be longer.
const IMPATIENT: &str = "[supervision]\nbatch_deadline = \"2s\"\nbackoff_max = \"500ms\"\n";
const SHORT: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(4);

fn pause(campaign: &mut Campaign, kafka: &Kafka, length: Duration) {
    kafka.pause();
    campaign.broken(format!("the broker paused for {length:?}"), length > Duration::from_secs(1)).unwrap();
    campaign.run_for(length).unwrap();
    kafka.resume();
    campaign.mended().unwrap();
}

fn assert_serving(daemon: &Daemon) {
    assert_eq!(daemon.request("GET", "/health").unwrap().status, 200);
}

#[test]
fn a_paused_broker_costs_repeats_only_past_the_deadline() {
    let kafka = Kafka::start(&scratch().join("broker-paused"), Switches::default()).unwrap();
    let workload = Workload { window: 4, sections: IMPATIENT.to_owned(), ..Workload::new("paused", seed()) };
    let bootstrap = kafka.bootstrap();
    let mut campaign = Campaign::new("broker-paused-site", workload, &bootstrap, &bootstrap, "").unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();

    for _ in 0..3 {
        pause(&mut campaign, &kafka, SHORT);
        campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
    }
    campaign.observe().unwrap();
    assert_eq!(campaign.figures().duplicates, 0, "a short pause is invisible");
    assert_eq!(nacks(&daemon, "paused"), 0);
    for _ in 0..2 {
        pause(&mut campaign, &kafka, LONG);
        assert_serving(&daemon);
        let view = daemon.source("paused").unwrap();
        assert_eq!(view.status, "running", "a few nacks are no error: {view:?}");
        campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
        assert_eq!(daemon.source("paused").unwrap().consecutive_nacks, 0);
    }

    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}

#[test]
fn ten_thousand_records_come_in_order_over_pauses_b090() {
    let kafka = Kafka::start(&scratch().join("broker-order"), Switches::default()).unwrap();
    let workload = Workload {
        window: 4,
        pool: 1,
        max_count: Some(10_000),
        sections: IMPATIENT.to_owned(),
        ..Workload::new("order", seed())
    };
    let bootstrap = kafka.bootstrap();
    let mut campaign = Campaign::new("broker-order-site", workload, &bootstrap, &bootstrap, "").unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();

    while campaign.position() < 10_000 {
        let apart_ms = campaign.random.u64(20..200);
        let length = if campaign.random.u8(0..4) == 0 { Duration::from_secs(3) } else { SHORT };
        campaign.run_for(Duration::from_millis(apart_ms)).unwrap();
        pause(&mut campaign, &kafka, length);
        let next = (campaign.position() + 1).min(10_000);
        campaign.wait_position(next, WITHIN).unwrap();
    }

    let report = campaign.drain(daemon, WITHIN).unwrap();
    report.assert_clean();
    assert_eq!((report.figures.position, report.figures.distinct), (10_000, 10_000));
}

#[test]
fn a_killed_broker_that_comes_back_on_its_log_is_found_again() {
    let mut kafka = Kafka::start(&scratch().join("broker-killed"), Switches::default()).unwrap();
    let workload = Workload { window: 4, sections: IMPATIENT.to_owned(), ..Workload::new("killed", seed()) };
    let bootstrap = kafka.bootstrap();
    let mut campaign = Campaign::new("broker-killed-site", workload, &bootstrap, &bootstrap, "").unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();

    for _ in 0..2 {
        kafka.kill();
        campaign.broken("the broker was killed", true).unwrap();
        campaign.run_for(Duration::from_secs(3)).unwrap();
        assert_serving(&daemon);
        kafka.restart().unwrap();
        campaign.mended().unwrap();
        campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
    }

    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}
