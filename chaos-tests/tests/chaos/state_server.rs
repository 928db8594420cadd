//! Checkpoints on a server: kills, outages, a second engine, and a save that lands after its process was killed.
//!
//! What they do not prove: what a proxy or a balancer between engine and server may do to a request.

use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::Duration;

use chaos_tests::campaign::{Campaign, count, seed};
use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::site::{Site, scratch};
use chaos_tests::wait::{pause, wait_for};
use chaos_tests::workload::Workload;
use reference_state_server::{Fault, StateServer};

use crate::stage::{Stage, WITHIN, nacks};

const SIGKILL: i32 = 9;
/// Each batch passes each of these; the two of the middle are the save itself.
const POINTS: [&str; 7] = [
    "poll_returned",
    "enqueued",
    "all_delivered",
    "state_put",
    "state_put_answered",
    "saved_event",
    "before_ack",
];
/// Kills of one story here.
const KILLS: u32 = 14;

/// The engine's configuration comes from the environment: the site's file says where its folder is.
fn on(server: &StateServer, launch: Launch) -> Launch {
    let set = |name: &str, value: String| (format!("PICOMQ_CONNECTORS_STATE__{name}"), value);
    let environment = vec![
        set("STORAGE", "http".to_owned()),
        set("HTTP__URL", server.url()),
        set("HTTP__TIMEOUT", "2s".to_owned()),
        set("HTTP__RETRY__INITIAL_BACKOFF", "20ms".to_owned()),
        set("HTTP__RETRY__MAX_BACKOFF", "200ms".to_owned()),
    ];
    Launch { environment, ..launch }
}

fn campaign(name: &str, window: u64) -> (Campaign, Arc<StateServer>) {
    let bootstrap = Kafka::shared().bootstrap();
    let workload = Workload { window, ..Workload::new(name, seed()) };
    let mut campaign = Campaign::new(name, workload, &bootstrap, &bootstrap, "").unwrap();
    let server = Arc::new(StateServer::start().unwrap());
    campaign.look_at(server.clone());
    (campaign, server)
}

/// What a network and a server may do to the next saves.
fn faults(campaign: &mut Campaign) -> Vec<Fault> {
    let status = |status, applies| Fault::Status { status, applies, retry_after: None };
    let all = [
        status(503, false),
        status(500, true),
        status(409, false),
        status(429, false),
        Fault::Cut { applies: false },
        Fault::Cut { applies: true },
        Fault::Late(Duration::from_millis(300)),
        Fault::Works,
    ];
    (0..6).map(|_| all[campaign.random.usize(0..all.len())].clone()).collect()
}

fn kills(name: &str, window: u64) {
    let (mut campaign, server) = campaign(name, window);
    let kills = count("CHAOS_STATE_KILLS", KILLS);
    for kill in 0..kills {
        server.plan(faults(&mut campaign));
        let point = POINTS[kill as usize % POINTS.len()];
        let passing = campaign.random.u32(2..=8);
        let mut daemon = campaign.start(&on(&server, Launch::kill_at(point, passing))).unwrap();
        campaign.wait_death(&mut daemon, WITHIN).unwrap();
        assert_eq!(daemon.wait_exit(WITHIN).unwrap().signal(), Some(SIGKILL), "killed, not ended");
        campaign.broken(format!("SIGKILL at passing {passing} of {point}"), false).unwrap();
        server.plan_nothing();
        server.client_is_new();
        campaign.observe().unwrap();
    }
    let daemon = campaign.start(&on(&server, Launch::default())).unwrap();
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
    assert!(server.faults_of_clients().is_empty(), "{:?}", server.faults_of_clients());
}

#[test]
fn kills_and_lost_answers_with_the_state_on_a_server_lose_nothing() {
    kills("server-kills-1", 1);
}

#[test]
fn kills_and_lost_answers_with_four_batches_in_flight_and_the_state_on_a_server_lose_nothing() {
    kills("server-kills-4", 4);
}

#[test]
fn a_state_server_that_is_down_is_an_error_that_ends_when_it_is_back_and_repeats_nothing() {
    let (mut campaign, server) = campaign("server-down", 1);
    let mut daemon = campaign.start(&on(&server, Launch::default())).unwrap();
    daemon.wait_serving().unwrap();
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();

    server.down();
    campaign.broken("the state server is down", false).unwrap();
    let view = daemon.wait_status(&campaign.workload.key, "error", WITHIN).unwrap();
    assert!(view.last_error.unwrap().message.contains("state server"));
    assert_eq!(nacks(&daemon, &campaign.workload.key), 1, "an outage is one nack, however long it is");
    server.up().unwrap();
    campaign.mended().unwrap();
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();

    let report = campaign.drain(daemon, WITHIN).unwrap();
    report.assert_clean();
    assert_eq!(report.figures.duplicates, 0, "what was delivered is saved by the probe");
}

/// Trap 9: the process is killed with its save on the way, the next one loads, and then the save lands.
#[test]
fn a_save_that_lands_after_its_process_was_killed_opens_the_source_once_more_and_fences_nobody() {
    let (mut campaign, server) = campaign("server-late", 1);
    let mut daemon = campaign.start(&on(&server, Launch::default())).unwrap();
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
    server.plan([Fault::Held]);
    wait_for("a save on its way", WITHIN, || match server.held() {
        0 => Err("none".to_owned()),
        _ => Ok(()),
    })
    .unwrap();
    daemon.kill();
    campaign.broken("SIGKILL with a save on its way", false).unwrap();
    let before = server.history(&campaign.workload.key).len();

    let mut daemon = campaign.start(&on(&server, Launch::pause_at("state_put", 1, 3_000))).unwrap();
    daemon.wait_serving().unwrap();
    daemon.wait_status(&campaign.workload.key, "running", WITHIN).unwrap();
    // Its first batch is delivered, and it stands before its first save.
    pause(Duration::from_millis(1_000));
    server.release();
    wait_for("the late save", WITHIN, || match server.history(&campaign.workload.key).len() {
        now if now > before => Ok(()),
        now => Err(format!("{now} saves")),
    })
    .unwrap();

    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
    let view = daemon.source(&campaign.workload.key).unwrap();
    assert!(!view.conditions.iter().any(|condition| condition == "fenced"), "{view:?}");
    assert_eq!(nacks(&daemon, &campaign.workload.key), 1, "the one batch that was refused");
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}

#[test]
fn of_two_engines_on_one_resource_the_one_that_slept_is_fenced_and_saves_nothing_any_more() {
    let stage = Stage::new("server-rivals");
    let workload = Workload::new("server-rivals", seed());
    stage.define(&workload);
    let server = StateServer::start().unwrap();
    let saved = || server.saved(&workload.key).map_or(0, |entry| entry.version);
    let wait_saves = |past: u64| {
        wait_for("more saves", WITHIN, || if saved() > past { Ok(()) } else { Err(saved().to_string()) })
            .unwrap();
    };
    let mut first = stage.start_with(&on(&server, Launch::default()));
    wait_saves(5);

    first.pause();
    let rival = Site::new(&scratch().join("server-rivals-second"), &stage.bootstrap, "").unwrap();
    rival.define(&workload.key, &workload.definition()).unwrap();
    let mut second = rival.start(&on(&server, Launch::default())).unwrap();
    second.wait_serving().unwrap();
    wait_saves(saved() + 5);
    first.resume();
    let view = first.wait_status(&workload.key, "error", WITHIN).unwrap();

    assert!(view.conditions.iter().any(|condition| condition == "fenced"), "{view:?}");
    assert!(view.last_error.unwrap().message.contains("stop the other engine"));
    wait_saves(saved() + 5);
    second.wait_status(&workload.key, "running", WITHIN).unwrap();
    assert_eq!(first.source(&workload.key).unwrap().status, "error", "only a person opens it again");
    second.terminate();
    assert_eq!(second.wait_exit(WITHIN).unwrap().code(), Some(0));
    first.kill();
    assert_no_gap(&stage, &workload, &server);
}

/// Every sequence below the saved position is in its topic, and first occurrences are in order.
fn assert_no_gap(stage: &Stage, workload: &Workload, server: &StateServer) {
    let history = server.history(&workload.key);
    let positions: Vec<u64> = history.iter().map(|entry| position(&entry.state)).collect();
    assert!(positions.is_sorted(), "a saved state went back: {positions:?}");
    let end = *positions.last().unwrap();
    for (lane, topic) in (0..).zip(workload.topics()) {
        let mut next = lane;
        for sequence in stage.sequences(&topic) {
            assert!(sequence <= next, "{topic}: {sequence} overtook {next}");
            if sequence == next {
                next += workload.pool;
            }
        }
        assert!(next >= end, "{topic}: {next} is missing below the saved position {end}");
    }
}

fn position(state: &[u8]) -> u64 {
    let value: serde_json::Value = rmp_serde::from_slice(state).unwrap();
    value["state"]["count"].as_u64().unwrap()
}
