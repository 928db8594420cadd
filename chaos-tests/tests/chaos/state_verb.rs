//! `state` on a real source: what it remembers is shown in its plugin's words, taken out, forgotten and put back.

use std::process::{Command, Output};

use chaos_tests::binaries;
use chaos_tests::campaign::seed;
use chaos_tests::daemon::Daemon;
use chaos_tests::workload::Workload;
use serde_json::Value;

use crate::stage::{Stage, WITHIN};

/// The command line, asking this daemon.
fn state(stage: &Stage, arguments: &[&str]) -> Output {
    let mut command = Command::new(binaries::engine().unwrap());
    command.arg("state").args(arguments).arg("--config").arg(stage.site.config());
    command.arg("--url").arg(format!("http://127.0.0.1:{}", stage.site.port()));
    command.current_dir(stage.site.dir()).stdin(std::process::Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn stop(daemon: &Daemon, key: &str) {
    daemon.command(key, "stop").unwrap();
    daemon.wait_status(key, "stopped", WITHIN).unwrap();
}

#[test]
fn a_state_that_was_exported_and_put_back_repeats_what_lies_between_and_nothing_else() {
    let stage = Stage::new("state-verb");
    let workload = Workload { pool: 1, ..Workload::new("state-verb", seed()) };
    let key = workload.key.as_str();
    stage.define(&workload);
    let daemon = stage.start();
    stage.wait_position(key, 500);

    let shown = state(&stage, &["show", key, "--json"]);
    let document: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert!(document["saved"]["described"]["state"]["count"].as_u64().unwrap() >= 500, "{document}");
    let refused = state(&stage, &["reset", key, "--yes"]);
    assert!(
        text(&refused.stderr).contains(&format!("pico-connectors stop {key}")),
        "{}",
        text(&refused.stderr)
    );

    stop(&daemon, key);
    let early = stage.position(key);
    assert!(state(&stage, &["export", key, "-o", "early.json"]).status.success());
    daemon.command(key, "start").unwrap();
    stage.wait_position(key, early + 500);
    stop(&daemon, key);
    let late = stage.position(key);

    let unsure = state(&stage, &["import", key, "early.json"]);
    assert_eq!(unsure.status.code(), Some(4));
    let said = text(&unsure.stderr);
    assert!(said.contains(&format!("state.count: {late} → {early}")), "{said}");
    assert!(said.contains("is sent again if the new one is older"), "{said}");
    assert_eq!(stage.position(key), late, "nothing was done");

    assert!(state(&stage, &["import", key, "early.json", "--yes"]).status.success());
    assert_eq!(stage.position(key), early);
    daemon.command(key, "start").unwrap();
    stage.wait_position(key, late + 500);
    stop(&daemon, key);
    let end = stage.position(key);
    let wanted: Vec<u64> = (0..late).chain(early..end).collect();
    assert_eq!(stage.sequences(&workload.topic(0)), wanted, "from {early} to {late} it was sent twice");
}

#[test]
fn a_state_that_the_plugin_cannot_read_is_not_put_in_the_place_of_one_that_it_can() {
    let stage = Stage::new("state-verb-foreign");
    let workload = Workload::new("state-verb-foreign", seed());
    let key = workload.key.as_str();
    stage.define(&workload);
    let daemon = stage.start();
    stage.wait_position(key, 100);
    stop(&daemon, key);
    let before = stage.position(key);

    std::fs::write(stage.site.dir().join("foreign.json"), r#"{"state": "Zm9yZWlnbg=="}"#).unwrap();
    let refused = state(&stage, &["import", key, "foreign.json", "--yes"]);

    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("state.not_taken"), "{}", text(&refused.stderr));
    assert_eq!(stage.position(key), before);
    daemon.command(key, "start").unwrap();
    stage.wait_position(key, before + 100);
}
