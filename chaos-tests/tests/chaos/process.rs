//! One process among others and with many sources: two engines on one state folder, files that are no definitions,
//! restarts in a row, what a person asked, a stop in the middle of a long sleep.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use chaos_tests::binaries;
use chaos_tests::campaign::{Campaign, seed};
use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::site::scratch;
use chaos_tests::wait::wait_for;
use chaos_tests::workload::Workload;

use crate::stage::{QUICK, Stage, WITHIN, complaint, nacks, wait_nacks};

/// As B141 puts it.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn two_engines_on_one_state_folder_never_run_one_source_together_b067() {
    let bootstrap = Kafka::shared().bootstrap();
    let workload = Workload { window: 4, ..Workload::new("owned", seed()) };
    let mut campaign = Campaign::new("process-owned", workload, &bootstrap, &bootstrap, "").unwrap();
    let mut first = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&first, 3, WITHIN).unwrap();
    let rival = campaign.site.rival(&scratch().join("process-rival"), &bootstrap).unwrap();
    let mut second = rival.start(&Launch::default()).unwrap();
    second.wait_serving().unwrap();

    second
        .wait_source("owned", "a refusal", WITHIN, |view| {
            view.status == "starting" && view.last_error.is_some()
        })
        .unwrap();
    let message = complaint(&second, "owned");
    assert!(message.contains("owned.lock"), "{message}");
    campaign.wait_progress(&first, 5, WITHIN).unwrap();
    // A process that stands still keeps what it has.
    first.pause();
    campaign.broken("the owner was stopped", false).unwrap();
    campaign.run_for(Duration::from_secs(3)).unwrap();
    assert_eq!(second.source("owned").unwrap().status, "starting");
    first.resume();
    campaign.mended().unwrap();
    campaign.wait_progress(&first, 3, WITHIN).unwrap();
    first.kill();
    campaign.broken("the owner was killed", false).unwrap();
    campaign.mended().unwrap();
    campaign.wait_position(campaign.position() + 1, WITHIN).unwrap();
    second.wait_status("owned", "running", WITHIN).unwrap();

    campaign.drain(second, WITHIN).unwrap().assert_clean();
}

#[test]
fn one_good_definition_runs_among_four_bad_ones_and_all_are_listed_b126() {
    let stage = Stage::new("process-five");
    let good = Workload::new("good-one", seed());
    stage.define(&good);
    let text = |key: &str| Workload { key: key.to_owned(), ..good.clone() }.definition();
    let define = |key: &str, text: String| stage.site.define(key, &text).unwrap();
    define("bad-path", text("bad-path").replace("picomq_connector_random_source", "no_such_library"));
    define(
        "bad-config",
        text("bad-config").replace("messages_range = [20, 201]", "messages_range = [10, 5]"),
    );
    let away = Workload::script("away", seed(), r#"{ call = "open", do = "transient" }"#, "");
    stage.define(&away);
    define("bad-duration", text("bad-duration") + "[supervision]\nbatch_deadline = \"5 parsecs\"\n");
    let daemon = stage.start();

    stage.wait_position("good-one", 500);

    for (key, status, words) in [
        ("bad-path", "error", "no_such_library"),
        ("bad-config", "error", "messages_range"),
        ("away", "starting", "the script says transient"),
        ("bad-duration", "error", "parsecs"),
    ] {
        daemon
            .wait_source(key, &format!("{status} of {key}"), WITHIN, |view| {
                view.status == status && view.last_error.is_some()
            })
            .unwrap();
        assert!(complaint(&daemon, key).contains(words), "{key}: {}", complaint(&daemon, key));
    }
    let listed = daemon.request("GET", "/sources").unwrap().json().unwrap();
    let keys: Vec<_> = listed.as_array().unwrap().iter().map(|view| view["key"].as_str().unwrap()).collect();
    assert_eq!(keys.len(), 5, "{keys:?}");
    assert_eq!(daemon.source("good-one").unwrap().status, "running");
}

#[test]
fn strays_among_the_definitions_are_left_alone_b127() {
    let stage = Stage::new("process-strays");
    let good = Workload::new("among-strays", seed());
    let folder = stage.site.definitions();
    // A byte-order mark before the one that counts.
    fs::write(folder.join("good.toml"), format!("\u{feff}{}", good.definition())).unwrap();
    fs::write(folder.join(".good.toml.swp"), [0, 1, 2]).unwrap();
    fs::write(folder.join("good.toml~"), "type =").unwrap();
    fs::write(folder.join("README"), "not a definition").unwrap();
    fs::create_dir(folder.join("sub.toml")).unwrap();
    symlink("nowhere.toml", folder.join("dangling.toml")).unwrap();
    let daemon = stage.start();

    stage.wait_position("among-strays", 200);

    let listed = daemon.request("GET", "/sources").unwrap().json().unwrap();
    for view in listed.as_array().unwrap() {
        let key = view["key"].as_str().unwrap();
        let is_named = key == "among-strays" || key == "dangling";
        assert!(is_named, "a stray is listed: {view}");
    }
}

#[test]
fn a_hundred_restarts_in_a_row_end_in_one_source_that_lost_and_repeated_nothing_b139() {
    let bootstrap = Kafka::shared().bootstrap();
    let workload = Workload { window: 4, interval: "5ms".to_owned(), ..Workload::new("restarted", seed()) };
    let mut campaign = Campaign::new("process-restarts", workload, &bootstrap, &bootstrap, "").unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 2, WITHIN).unwrap();
    let threads = daemon.threads().unwrap();

    for round in 0..100 {
        match round % 4 {
            0 => {
                daemon.command("restarted", "stop").unwrap();
                daemon.command("restarted", "start").unwrap();
            }
            1 => {
                daemon.command("restarted", "pause").unwrap();
                daemon.command("restarted", "restart").unwrap();
                daemon.command("restarted", "resume").unwrap();
            }
            _ => daemon.command("restarted", "restart").unwrap(),
        }
        let apart_ms = campaign.random.u64(0..40);
        campaign.run_for(Duration::from_millis(apart_ms)).unwrap();
    }

    daemon.command("restarted", "start").unwrap();
    daemon.command("restarted", "resume").unwrap();
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
    wait_for("the end of former clients' threads", WITHIN, || match daemon.threads().unwrap() {
        now if now <= threads + 8 => Ok(()),
        now => Err(format!("{now} threads, {threads} before")),
    })
    .unwrap();
    let report = campaign.drain(daemon, WITHIN).unwrap();
    report.assert_clean();
    assert_eq!(report.figures.duplicates, 0, "an orderly stop repeats nothing");
}

#[test]
fn two_hundred_restarts_with_a_library_replaced_under_way_do_no_harm_b124() {
    let stage = Stage::new("process-replaced");
    let library = |name: &str| binaries::folder().join(format!("lib{name}.so"));
    let copy = stage.site.plugin_folder().join("libcopied.so");
    fs::copy(library("picomq_connector_random_source"), &copy).unwrap();
    let workload = Workload { interval: "1ms".to_owned(), ..Workload::new("replaced", seed()) };
    let definition = workload.definition().replace("picomq_connector_random_source", "copied");
    stage.site.define("replaced", &definition).unwrap();
    let daemon = stage.start();
    stage.wait_position("replaced", 100);

    for round in 0..200 {
        daemon.command("replaced", "restart").unwrap();
        if round == 100 {
            // As an installer does it: another file takes the name.
            let next = copy.with_extension("next");
            fs::copy(library("picomq_connector_faulty_source"), &next).unwrap();
            fs::rename(&next, &copy).unwrap();
        }
    }

    // What is loaded stays: a new build needs a new process.
    stage.wait_position("replaced", stage.position("replaced") + 1_000);
    assert_eq!(daemon.source("replaced").unwrap().status, "running");
}

#[test]
fn what_a_person_asked_outlives_a_kill() {
    let stage = Stage::new("process-asked");
    stage.define(&Workload::new("halted", seed()));
    stage.define(&Workload::new("resting", seed()));
    let mut daemon = stage.start();
    stage.wait_position("halted", 100);
    stage.wait_position("resting", 100);
    for (command, key, status) in [("stop", "halted", "stopped"), ("pause", "resting", "paused")] {
        daemon.command(key, command).unwrap();
        daemon.wait_status(key, status, WITHIN).unwrap();
    }
    let positions = ["halted", "resting"].map(|key| stage.position(key));
    daemon.kill();

    let daemon = stage.start();

    daemon.wait_status("halted", "stopped", WITHIN).unwrap();
    daemon.wait_status("resting", "paused", WITHIN).unwrap();
    assert_eq!(["halted", "resting"].map(|key| stage.position(key)), positions);
    daemon.command("halted", "start").unwrap();
    daemon.command("resting", "resume").unwrap();
    stage.wait_position("halted", positions[0] + 100);
    stage.wait_position("resting", positions[1] + 100);
}

#[test]
fn restart_and_end_come_soon_while_a_poll_sleeps_for_an_hour_or_an_open_hangs_b141() {
    let stage = Stage::new("process-sleep");
    stage.define(&Workload { interval: "1h".to_owned(), ..Workload::new("asleep", seed()) });
    let steps = r#"{ call = "open", do = { sleep = "2m" } }"#;
    stage.define(&Workload::script("unreachable", seed(), steps, ""));
    let mut daemon = stage.start();
    daemon.wait_status("asleep", "running", WITHIN).unwrap();
    daemon.wait_status("unreachable", "starting", WITHIN).unwrap();
    let restarts = || daemon.metric("picomq_connector_restarts_total", "asleep").unwrap();
    assert_eq!(restarts(), 0.0);

    let asked = Instant::now();
    daemon.command("asleep", "restart").unwrap();
    wait_for("the restart", SOON, || match restarts() {
        1.0 => Ok(()),
        other => Err(other.to_string()),
    })
    .unwrap();
    daemon.wait_status("asleep", "running", SOON.saturating_sub(asked.elapsed())).unwrap();
    daemon.terminate();

    daemon.wait_exit(SOON).unwrap();
}

/// A source that is dead is never shown as running: here by its nacks, elsewhere by panics and blocked polls.
#[test]
fn thirty_nacks_end_running_until_a_batch_is_delivered_b140() {
    let stage = Stage::new("process-dead");
    let workload =
        Workload { create_topics: false, sections: QUICK.to_owned(), ..Workload::new("dead", seed()) };
    stage.define(&workload);
    let daemon = stage.start();
    wait_nacks(&daemon, "dead", 30);
    assert_eq!(daemon.source("dead").unwrap().status, "error");
    let gauge = || {
        let page = daemon.request("GET", "/metrics").unwrap().body;
        let line = page.lines().find_map(|line| line.strip_prefix("picomq_connectors_sources_running "));
        line.unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(gauge(), 0.0);

    stage.admin.create(&workload.topics(), &[]).unwrap();
    daemon.command("dead", "restart").unwrap();
    stage.wait_position("dead", 100);

    daemon.wait_status("dead", "running", WITHIN).unwrap();
    assert_eq!((gauge(), nacks(&daemon, "dead")), (1.0, 30));
}
