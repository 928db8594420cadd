//! Plugins that panic, hang, block a thread, abort the process, speak another ABI, or break the limits. A source of
//! another library runs beside each and is not disturbed.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use chaos_tests::campaign::{Campaign, seed};
use chaos_tests::daemon::Daemon;
use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::site::scratch;
use chaos_tests::wait::wait_for;
use chaos_tests::workload::Workload;

use crate::stage::{QUICK, Stage, WITHIN, complaint};

const SIGABRT: i32 = 6;

/// Steps of which each is done once in the whole story, whatever dies: `call`, `at`, `do`.
fn once(story: &str, steps: &[(&str, u32, &str)]) -> String {
    let each = steps.iter().enumerate().map(|(number, (call, at, action))| {
        let marker = scratch().join(format!("{story}-{number}.marker"));
        let _ = std::fs::remove_file(&marker);
        format!("{{ call = \"{call}\", at = {at}, once = {marker:?}, do = \"{action}\" }}")
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A faulty source called `key` with these steps, and a random one called `beside`.
fn stage(key: &str, steps: &str, supervision: &str) -> (Stage, Daemon) {
    let stage = Stage::new(&format!("plugin-{key}"));
    let sections = QUICK.to_owned() + supervision;
    stage.define(&Workload { sections, ..Workload::script(key, seed(), steps, "") });
    let beside = format!("beside-{key}");
    stage.define(&Workload { key: "beside".to_owned(), ..Workload::new(&beside, seed()) });
    let daemon = stage.start();
    (stage, daemon)
}

/// L8: whatever happens to its neighbour, it goes on at its pace.
fn assert_undisturbed(stage: &Stage, daemon: &Daemon) {
    stage.wait_position("beside", stage.position("beside") + 500);
    let view = daemon.source("beside").unwrap();
    assert_eq!((view.status.as_str(), view.consecutive_nacks), ("running", 0), "{view:?}");
}

fn panics(name: &str, window: u64) {
    let steps = [
        ("poll", 5, "panic"),
        ("open", 1, "panic"),
        ("verdict", 4, "panic"),
        ("ack", 3, "transient"),
        ("close", 1, "panic"),
        ("poll", 9, "panic"),
    ];
    let bootstrap = Kafka::shared().bootstrap();
    let workload = Workload { window, ..Workload::script(name, seed(), &once(name, &steps), "") };
    let mut campaign = Campaign::new(name, workload, &bootstrap, &bootstrap, "").unwrap();
    let daemon = campaign.start(&Launch::default()).unwrap();

    campaign.wait_position(300, WITHIN).unwrap();
    daemon.command(name, "restart").unwrap();
    campaign.wait_position(600, WITHIN).unwrap();

    let left: Vec<_> = (0..steps.len())
        .filter(|number| !scratch().join(format!("{name}-{number}.marker")).exists())
        .collect();
    assert!(left.is_empty(), "steps {left:?} were never done");
    campaign.wait_progress(&daemon, 2, WITHIN).unwrap();
    let view = daemon.source(name).unwrap();
    assert_eq!((view.consecutive_nacks, view.last_error.map(|error| error.message)), (0, None));
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}

#[test]
fn a_panic_in_any_call_costs_one_reopening_and_no_record_b125() {
    panics("panics-1", 1);
}

#[test]
fn a_panic_with_four_batches_in_flight_costs_these_repeats_and_no_record_b125() {
    panics("panics-4", 4);
}

#[test]
fn a_panic_while_an_instance_is_dropped_leaves_the_next_one_alone_b125() {
    let (stage, daemon) = stage("drops", &once("drops", &[("drop", 1, "panic")]), "");
    stage.wait_position("drops", 50);

    daemon.command("drops", "restart").unwrap();

    stage.wait_position("drops", stage.position("drops") + 100);
    daemon.wait_status("drops", "running", WITHIN).unwrap();
    assert_undisturbed(&stage, &daemon);
}

#[test]
fn a_plugin_that_always_panics_is_an_error_at_the_limit_and_no_running_before_b125_b140() {
    let (stage, daemon) = stage("panics", r#"{ call = "poll", at = 1, do = "panic" }"#, "");

    let view = daemon.wait_status("panics", "error", WITHIN).unwrap();

    assert_eq!(view.consecutive_nacks, 30, "{view:?}");
    assert!(view.last_error.unwrap().message.contains("the script says panic in Poll"));
    assert_eq!(stage.position("panics"), 0);
    assert_undisturbed(&stage, &daemon);
    daemon.command("panics", "restart").unwrap();
    daemon
        .wait_source("panics", "an error again", WITHIN, |view| {
            assert_ne!((view.status.as_str(), view.consecutive_nacks), ("running", 30), "{view:?}");
            view.status == "error" && view.consecutive_nacks == 30
        })
        .unwrap();
}

#[test]
fn an_abort_in_a_plugin_ends_the_process_and_loses_nothing() {
    let bootstrap = Kafka::shared().bootstrap();
    let steps = once("aborts", &[("poll", 4, "abort"), ("ack", 3, "abort"), ("open", 1, "abort")]);
    let workload = Workload { window: 4, ..Workload::script("aborts", seed(), &steps, "") };
    let mut campaign = Campaign::new("aborts", workload, &bootstrap, &bootstrap, "").unwrap();

    for _ in 0..3 {
        let mut daemon = campaign.start(&Launch::default()).unwrap();
        campaign.wait_death(&mut daemon, WITHIN).unwrap();
        assert_eq!(daemon.wait_exit(WITHIN).unwrap().signal(), Some(SIGABRT));
        campaign.broken("abort() in the plugin", false).unwrap();
        campaign.observe().unwrap();
    }

    let daemon = campaign.start(&Launch::default()).unwrap();
    campaign.wait_progress(&daemon, 5, WITHIN).unwrap();
    campaign.drain(daemon, WITHIN).unwrap().assert_clean();
}

#[test]
fn a_poll_that_hangs_is_given_up_when_a_restart_meets_it() {
    let steps = once("hangs", &[("poll", 4, "hang")]);
    let (stage, daemon) = stage("hangs", &steps, "stall_after = \"1s\"\n");
    stage.wait_position("hangs", 30);
    assert_undisturbed(&stage, &daemon);
    assert_eq!(daemon.source("hangs").unwrap().status, "running", "a long poll is legal");

    daemon.command("hangs", "restart").unwrap();

    stage.wait_position("hangs", 100);
    assert_eq!(daemon.source("hangs").unwrap().status, "running");
}

#[test]
fn an_opening_that_hangs_holds_up_neither_its_neighbour_nor_the_next_opening_b125() {
    let steps = once("hanging-open", &[("open", 1, "hang")]);
    // Longer than the story: what waits for it does not end.
    let (stage, daemon) = stage("hanging-open", &steps, "open_timeout = \"10m\"\n");
    let began = scratch().join("hanging-open-0.marker");
    wait_for("an opening that hangs", WITHIN, || match began.exists() {
        true => Ok(()),
        false => Err("it did not begin".to_owned()),
    })
    .unwrap();
    assert_undisturbed(&stage, &daemon);
    assert_eq!(daemon.source("hanging-open").unwrap().status, "starting");

    daemon.command("hanging-open", "restart").unwrap();

    stage.wait_position("hanging-open", 30);
    assert_eq!(daemon.source("hanging-open").unwrap().status, "running");
}

#[test]
fn a_verdict_that_hangs_is_given_up_and_its_ack_is_owed() {
    let steps = once("hanging-ack", &[("ack", 3, "hang")]);
    let (stage, daemon) = stage("hanging-ack", &steps, "verdict_timeout = \"1s\"\n");

    stage.wait_position("hanging-ack", 200);

    assert_undisturbed(&stage, &daemon);
    daemon.wait_status("hanging-ack", "running", WITHIN).unwrap();
}

#[test]
fn a_poll_that_blocks_its_thread_is_stalled_for_good_and_does_not_hold_up_the_end_b125_b140() {
    let steps = r#"{ call = "poll", at = 4, do = "block" }"#;
    let (stage, mut daemon) = stage("blocks", steps, "");
    stage.wait_position("blocks", 30);
    // Its neighbour's progress is the time in which the fourth poll begins and blocks.
    assert_undisturbed(&stage, &daemon);
    assert_eq!(daemon.source("blocks").unwrap().status, "running", "nobody asked anything of it");
    daemon.command("blocks", "restart").unwrap();

    let view = daemon.wait_status("blocks", "error", WITHIN).unwrap();

    assert!(view.conditions.iter().any(|condition| condition == "stalled"), "{view:?}");
    assert!(view.last_error.is_some(), "{view:?}");
    assert_undisturbed(&stage, &daemon);
    // Not two instances in one process, however often somebody asks.
    daemon.command("blocks", "restart").unwrap();
    daemon.wait_status("blocks", "error", WITHIN).unwrap();
    let position = stage.position("blocks");
    assert_undisturbed(&stage, &daemon);
    assert_eq!(stage.position("blocks"), position);
    // Nor under another definition: the place of the hanging one is the source's, not the definition's.
    let changed = stage.site.definitions().join("blocks.toml");
    let text = std::fs::read_to_string(&changed).unwrap();
    stage.site.define("blocks", &text.replace("name = \"Chaos\"", "name = \"Mended\"")).unwrap();
    assert_eq!(daemon.request("POST", "/reload").unwrap().status, 200);
    daemon
        .wait_source("blocks", "a reload that failed", WITHIN, |view| {
            view.conditions.iter().any(|condition| condition == "reload_failed")
        })
        .unwrap();
    assert_undisturbed(&stage, &daemon);
    assert_eq!(stage.position("blocks"), position);
    daemon.terminate();
    daemon.wait_exit(Duration::from_secs(40)).unwrap();
}

#[test]
fn a_library_of_another_abi_is_refused_with_both_numbers() {
    let stage = Stage::new("plugin-abi");
    let definition = Workload::script("abi", seed(), "", "").definition();
    stage.site.define("abi", &definition.replace("picomq_connector_faulty_source", "wrong_abi")).unwrap();
    stage.define(&Workload { key: "beside".to_owned(), ..Workload::new("beside-abi", seed()) });
    let daemon = stage.start();

    daemon.wait_status("abi", "error", WITHIN).unwrap();

    let message = complaint(&daemon, "abi");
    assert!(message.contains("ABI") || message.contains("abi"), "{message}");
    assert_undisturbed(&stage, &daemon);
}

#[test]
fn a_batch_beyond_the_limits_is_a_permanent_poll_error_and_nothing_of_it_is_sent() {
    let steps = r#"{ call = "poll", at = 3, do = { records = 20000 } }"#;
    let (stage, daemon) = stage("oversized", steps, "");

    daemon.wait_status("oversized", "error", WITHIN).unwrap();

    let message = complaint(&daemon, "oversized");
    assert!(message.contains("20000") && message.contains("10000"), "{message}");
    assert_eq!(stage.position("oversized"), 20);
    assert_undisturbed(&stage, &daemon);
}
