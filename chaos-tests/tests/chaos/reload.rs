//! Definitions change under load: ten reloads a second with broken files among them while the engine is killed, and two
//! hundred definitions at once.
//!
//! `RELOAD_SECONDS` is the length of the storm, `RELOAD_DEFINITIONS` the size of the large set. What they do not prove:
//! a definition whose plugin hangs in its opening (the lifecycle's own tests have that).

use std::fs;
use std::time::{Duration, Instant};

use chaos_tests::binaries;
use chaos_tests::campaign::{Campaign, count, seed};
use chaos_tests::daemon::{Daemon, SourceView};
use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::site::Site;
use chaos_tests::wait::wait_for;
use chaos_tests::workload::Workload;

use crate::stage::{Stage, WITHIN, complaint};

/// Between two reloads of the storm.
const EVERY: Duration = Duration::from_millis(100);
/// Reloads between two kills.
const KILL_EVERY: u32 = 30;
/// What the product promises of a thousand definitions, for a debug build on two busy cores.
const LARGE_SET_WITHIN: Duration = Duration::from_secs(20);

/// Replaces the definition as an editor does: whole, by a rename. `None` takes it away.
fn replace(site: &Site, key: &str, text: Option<&str>) {
    let target = site.definitions().join(format!("{key}.toml"));
    let Some(text) = text else {
        // Removing what is not there is what was wanted.
        fs::remove_file(&target).ok();
        return;
    };
    let fresh = site.dir().join("fresh");
    fs::write(&fresh, text).unwrap();
    fs::rename(&fresh, &target).unwrap();
}

fn reload(daemon: &Daemon) -> serde_json::Value {
    let answer = daemon.request("POST", "/reload").unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

/// What the storm puts into the folder in its n-th round.
fn variant(workload: &Workload, round: u32) -> Option<String> {
    let good = workload.definition();
    match round % 8 {
        0 => Some(good.replace("name = \"Chaos\"", &format!("name = \"Chaos {round}\""))),
        1 => Some("this is no TOML".to_owned()),
        2 => Some(good.replace("linger_time", "linger_tmie").replace("provenance = true", "provenance = 7")),
        3 => Some(good.replace("picomq_connector_random_source", "picomq_connector_nowhere")),
        4 => Some(good.replace("enabled = true", "enabled = false")),
        5 => Some(String::new()),
        6 => None,
        _ => Some(good),
    }
}

fn storm(name: &str, window: u64) {
    let bootstrap = Kafka::shared().bootstrap();
    let workload = Workload { window, ..Workload::new(name, seed()) };
    let mut campaign = Campaign::new(name, workload, &bootstrap, &bootstrap, "").unwrap();
    let good = campaign.workload.definition();
    let mut daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 1, WITHIN).unwrap();

    let rounds = count("RELOAD_SECONDS", 20) * 10;
    for round in 0..rounds {
        replace(&campaign.site, name, variant(&campaign.workload, round).as_deref());
        // A kill may come between a request and its answer.
        daemon.hang_up();
        campaign.run_for(EVERY).unwrap();
        if round % KILL_EVERY == KILL_EVERY - 1 {
            assert!(daemon.kill(), "the engine ended by itself; see {}", campaign.site.log().display());
            campaign.broken(format!("SIGKILL after reload {round}"), false).unwrap();
            campaign.observe().unwrap();
            replace(&campaign.site, name, Some(&good));
            daemon = campaign.start(&Launch::default()).unwrap();
            daemon.wait_serving().unwrap();
        }
    }

    replace(&campaign.site, name, Some(&good));
    reload(&daemon);
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
    assert_one_instance(&campaign.site, name);
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}

/// I4, from the log: between two openings of a source there is a closing, unless the process died.
fn assert_one_instance(site: &Site, key: &str) {
    let log = fs::read_to_string(site.log()).unwrap();
    let mut is_open = false;
    for line in log.lines() {
        if line.contains("starting") && line.contains("librdkafka") {
            is_open = false;
        } else if line.contains(key) && line.contains("opened ") && line.contains("window") {
            assert!(!is_open, "opened twice without a close: {line}");
            is_open = true;
        } else if line.contains(key) && line.contains(" closed") {
            is_open = false;
        }
    }
    assert!(log.contains("is reloaded"), "the storm reloaded nothing");
}

#[test]
fn a_reload_storm_under_kills_loses_nothing_and_never_runs_two_instances() {
    storm("reload-storm-1", 1);
}

#[test]
fn a_reload_storm_under_kills_with_four_batches_in_flight_loses_nothing() {
    storm("reload-storm-4", 4);
}

#[test]
fn every_kind_of_bad_file_keeps_what_runs_delivering_b133() {
    let stage = Stage::new("reload-bad");
    let workload = Workload::new("bad", seed());
    stage.define(&workload);
    let daemon = stage.start();
    stage.wait_position("bad", 100);
    for round in [1, 2, 3, 5] {
        replace(&stage.site, "bad", variant(&workload, round).as_deref());

        let report = reload(&daemon);

        assert_eq!(report["changes"][0]["action"], "refuse", "{report}");
        let view = daemon.source("bad").unwrap();
        assert!(view.conditions.iter().any(|name| name == "reload_failed"), "{view:?}");
        assert_eq!(view.status, "running", "{view:?}");
        stage.wait_position("bad", stage.position("bad") + 100);
    }
    stage.define(&workload);
    assert_eq!(reload(&daemon)["changes"], serde_json::json!([]), "the file says again what runs");
    assert!(daemon.source("bad").unwrap().conditions.iter().all(|name| name != "reload_failed"));
    let restarts = daemon.metric("picomq_connector_restarts_total", "bad").unwrap();
    assert_eq!(restarts, 0.0, "it was never touched");
}

#[test]
fn a_changed_topic_library_and_batch_length_leave_no_gap_b135() {
    let stage = Stage::new("reload-change");
    let (before, beside) = (Workload::new("change", seed()), Workload::new("beside", seed()));
    stage.define(&before);
    stage.define(&beside);
    let mut daemon = stage.start();
    stage.wait_position("change", 500);
    let library = "libpicomq_connector_random_source.so";
    fs::copy(binaries::folder().join(library), stage.site.plugin_folder().join("librandom_two.so")).unwrap();
    let after = Workload {
        prefix: format!("changed-{}-", seed()),
        block: "batch_length = 10".to_owned(),
        ..before.clone()
    };

    let other = after.definition().replace("picomq_connector_random_source", "random_two");
    stage.site.define("change", &other).unwrap();
    let report = reload(&daemon);

    assert_eq!(
        (&report["changes"][0]["action"], &report["unchanged"]),
        (&"reload".into(), &1.into()),
        "{report}"
    );
    wait_for("records of the other library in the other topics", WITHIN, || {
        let logs = stage.logs(&after.topics());
        let records: usize = logs.values().map(Vec::len).sum();
        if records > 100 { Ok(()) } else { Err(format!("{records} records")) }
    })
    .unwrap();
    let restarts = daemon.metric("picomq_connector_restarts_total", "beside").unwrap();
    assert_eq!(restarts, 0.0, "its neighbour was not touched");
    // Topics are read one after the other, so nothing may be on its way.
    daemon.terminate();
    assert_eq!(daemon.wait_exit(WITHIN).unwrap().code(), Some(0));
    let (old, new) = (sequences(&stage, &before), sequences(&stage, &after));
    let seam = new[0];
    assert_eq!(old, (0..seam).collect::<Vec<_>>(), "every record before the change, once");
    assert_eq!(new, (seam..seam + new.len() as u64).collect::<Vec<_>>(), "every record after it, once");
}

#[test]
fn a_changed_library_that_cannot_read_the_state_gives_way_to_the_former_one() {
    let stage = Stage::new("reload-back");
    stage.define(&Workload::new("back", seed()));
    let daemon = stage.start();
    stage.wait_position("back", 100);

    stage.define(&Workload::script("back", seed(), "", ""));
    assert_eq!(reload(&daemon)["changes"][0]["action"], "reload", "it passes every check but the opening");

    let went_back = |view: &SourceView| {
        view.status == "running" && view.conditions.iter().any(|name| name == "reload_failed")
    };
    daemon.wait_source("back", "the way back", WITHIN, went_back).unwrap();
    assert!(complaint(&daemon, "back").contains("the former one runs on"), "{}", complaint(&daemon, "back"));
    stage.wait_position("back", stage.position("back") + 100);
    let metrics = daemon.request("GET", "/metrics").unwrap().body;
    assert!(metrics.contains("picomq_connectors_reloads_total{outcome=\"reverted\"} 1"), "{metrics}");
}

fn sequences(stage: &Stage, workload: &Workload) -> Vec<u64> {
    let mut all: Vec<u64> = stage.logs(&workload.topics()).into_values().flatten().collect();
    all.sort_unstable();
    all
}

#[test]
fn a_reload_and_a_stop_do_not_wait_for_a_poll_that_sleeps_b141() {
    let stage = Stage::new("reload-sleep");
    let workload = Workload { interval: "1h".to_owned(), ..Workload::new("sleep", seed()) };
    stage.define(&workload);
    let mut daemon = stage.start();
    daemon.wait_status("sleep", "running", WITHIN).unwrap();
    let began = Instant::now();

    stage.define(&Workload { block: "batch_length = 10".to_owned(), ..workload });
    reload(&daemon);
    wait_for("the second opening", WITHIN, || {
        let restarts = daemon.metric("picomq_connector_restarts_total", "sleep").unwrap();
        if restarts >= 1.0 { Ok(()) } else { Err("not yet".to_owned()) }
    })
    .unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());

    let began = Instant::now();
    daemon.terminate();
    assert_eq!(daemon.wait_exit(WITHIN).unwrap().code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn a_large_set_starts_is_listed_and_reloads_one_of_it_quickly() {
    let definitions = count("RELOAD_DEFINITIONS", 200);
    let stage = Stage::new("reload-large");
    let workload = |n: u32| Workload {
        interval: "1h".to_owned(),
        create_topics: false,
        ..Workload::new(&format!("large-{n}"), seed())
    };
    for n in 0..definitions {
        stage.define(&workload(n));
    }
    let took = |what: &str, began: Instant| {
        let took = began.elapsed();
        eprintln!("{definitions} definitions: {what} in {} ms", took.as_millis());
        assert!(took < LARGE_SET_WITHIN, "{what} took {took:?}");
    };

    let began = Instant::now();
    let daemon = stage.start();
    wait_running(&daemon, definitions);
    took("all running", began);

    let began = Instant::now();
    assert_eq!(running(&daemon), definitions as usize);
    took("list", began);

    stage.define(&Workload { block: "batch_length = 10".to_owned(), ..workload(7) });
    let began = Instant::now();
    let report = reload(&daemon);
    assert_eq!(
        (report["changes"].as_array().unwrap().len(), &report["unchanged"]),
        (1, &(definitions - 1).into())
    );
    wait_for("the one that changed", WITHIN, || {
        let restarts = daemon.metric("picomq_connector_restarts_total", "large-7").unwrap();
        if restarts >= 1.0 { Ok(()) } else { Err("not yet".to_owned()) }
    })
    .unwrap();
    took("reload of one", began);
}

fn running(daemon: &Daemon) -> usize {
    let answer = daemon.request("GET", "/sources").unwrap();
    let sources: Vec<serde_json::Value> = serde_json::from_str(&answer.body).unwrap();
    sources.iter().filter(|source| source["status"] == "running").count()
}

fn wait_running(daemon: &Daemon, definitions: u32) {
    wait_for("all sources", LARGE_SET_WITHIN, || match running(daemon) {
        now if now == definitions as usize => Ok(()),
        now => Err(format!("{now} run")),
    })
    .unwrap();
}
