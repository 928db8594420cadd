//! The engine is killed at random moments and at every point of a batch's way, with one and with four batches in
//! flight, and every state file between is whole (B064).
//!
//! `CHAOS_KILLS` is the number of kills of all stories here together. What they do not prove: a kill by the kernel for
//! want of memory (it looks the same to everybody), and what a power loss leaves on the disk.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use chaos_tests::campaign::{Campaign, count, seed};
use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::workload::Workload;

use crate::stage::{STEPS, WITHIN};

/// Where it is killed beside the steps of a batch: the write of an opening, and, not a point of ours, the engine's own
/// system calls, by strace.
const MORE: [&str; 2] = ["life_written", SEND];
const SIGKILL: i32 = 9;
/// While bytes go to the broker.
const SEND: &str = "sendmsg";
/// Passed once in a life of the process.
const ONCE: [&str; 2] = ["opened", "life_written"];
/// Enough for ten minutes of kills by default: 32 random and 36 aimed ones for each window.
const KILLS: u32 = 136;

fn campaign(name: &str, window: u64) -> Campaign {
    let kafka = Kafka::shared();
    let workload = Workload { window, ..Workload::new(name, seed()) };
    Campaign::new(name, workload, &kafka.bootstrap(), &kafka.bootstrap(), "").unwrap()
}

/// A quarter of all kills.
fn quarter() -> u32 {
    count("CHAOS_KILLS", KILLS).div_ceil(4)
}

fn random_kills(name: &str, window: u64) {
    let mut campaign = campaign(name, window);
    for _ in 0..quarter() {
        let life_ms = campaign.random.u64(100..2_900);
        let mut daemon = campaign.start(&Launch::default()).unwrap();
        campaign.run_for(Duration::from_millis(life_ms)).unwrap();
        assert!(daemon.kill(), "the engine ended by itself; see {}", campaign.site.log().display());
        campaign.broken(format!("SIGKILL after {life_ms} ms"), false).unwrap();
        campaign.observe().unwrap();
    }
    settle(campaign);
}

fn aimed_kills(name: &str, window: u64) {
    let mut campaign = campaign(name, window);
    // A source that never saved anything has no life to write.
    let mut daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 1, WITHIN).unwrap();
    daemon.kill();
    campaign.broken("SIGKILL after the first batches", false).unwrap();
    let points = [STEPS.as_slice(), &MORE].concat();
    let rounds = quarter().div_ceil(points.len() as u32);
    for _ in 0..rounds {
        let mut points = points.clone();
        campaign.random.shuffle(&mut points);
        for point in points {
            let passing = if ONCE.contains(&point) { 1 } else { campaign.random.u32(1..=8) };
            let launch = match point {
                SEND => Launch::inject(SEND, "signal=KILL", passing + 4),
                _ => Launch::kill_at(point, passing),
            };
            let mut daemon = campaign.start(&launch).unwrap();
            campaign.wait_death(&mut daemon, WITHIN).unwrap();
            assert_eq!(daemon.wait_exit(WITHIN).unwrap().signal(), Some(SIGKILL), "killed, not ended");
            campaign.broken(format!("SIGKILL at passing {passing} of {point}"), false).unwrap();
            campaign.observe().unwrap();
        }
    }
    settle(campaign);
}

/// After the last kill: it runs on by itself, and nothing was lost.
fn settle(mut campaign: Campaign) {
    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}

#[test]
fn random_kills_with_one_batch_in_flight_lose_nothing_b064() {
    random_kills("kills-random-1", 1);
}

#[test]
fn random_kills_with_four_batches_in_flight_lose_nothing_b064() {
    random_kills("kills-random-4", 4);
}

#[test]
fn kills_at_every_point_with_one_batch_in_flight_lose_nothing() {
    aimed_kills("kills-aimed-1", 1);
}

#[test]
fn kills_at_every_point_with_four_batches_in_flight_lose_nothing() {
    aimed_kills("kills-aimed-4", 4);
}
