//! Definitions that change under a running daemon. Libraries are missing here on purpose: what runs and delivers over a
//! reload is told in `chaos-tests`.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Daemon, Folder};

fn definition(key: &str, more: &str) -> String {
    format!("type = \"source\"\nkey = \"{key}\"\npath = \"libnothing\"\n{more}[[topics]]\ntopic = \"x\"\n")
}

fn sources(daemon: &Daemon) -> Vec<Value> {
    serde_json::from_str(&daemon.get("/sources").1).unwrap()
}

fn keys(daemon: &Daemon) -> Vec<String> {
    sources(daemon).iter().map(|source| source["key"].as_str().unwrap().to_owned()).collect()
}

fn reloads(daemon: &Daemon, outcome: &str) -> bool {
    let metrics = daemon.get("/metrics").1;
    metrics.contains(&format!("picomq_connectors_reloads_total{{outcome=\"{outcome}\"}}"))
}

#[test]
fn sighup_takes_files_up_and_the_process_lives_on() {
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("a", ""));
    let mut daemon = Daemon::start_with(&folder, "[connectors]\nwatch = false\n");
    folder.write("sources/b.toml", &definition("b", ""));

    daemon.signal(Signal::HUP);

    daemon.wait_for("the new source", || keys(&daemon) == ["a", "b"]);
    assert!(reloads(&daemon, "applied"));
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().0, 0);
}

#[test]
fn the_watch_takes_up_new_and_removed_files_by_itself() {
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("a", ""));
    let daemon = Daemon::start(&folder);
    let fresh = folder.write("fresh", &definition("b", ""));
    std::fs::rename(fresh, folder.path().join("sources/b.toml")).unwrap();
    daemon.wait_for("the new source", || keys(&daemon) == ["a", "b"]);

    std::fs::remove_file(folder.path().join("sources/a.toml")).unwrap();

    daemon.wait_for("the end of the old one", || keys(&daemon) == ["b"]);
}

#[test]
fn a_file_that_cannot_be_used_is_seen_in_the_list_the_metric_and_the_log_b133() {
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("a", ""));
    let daemon = Daemon::start(&folder);
    folder.write("sources/a.toml", "key = \n");

    daemon.wait_for("the condition", || {
        sources(&daemon)[0]["conditions"].as_array().unwrap().iter().any(|name| name == "reload_failed")
    });

    assert_eq!(keys(&daemon), ["a"], "a file without a key still stands for its source");
    daemon.wait_for("the metric", || reloads(&daemon, "refused"));
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("refused; what ran for it runs on") && log.contains("a.toml:1:"), "{log}");

    folder.write("sources/a.toml", &definition("a", ""));
    daemon.wait_for("the end of the condition: the file says again what runs", || {
        sources(&daemon)[0]["conditions"].as_array().unwrap().iter().all(|name| name != "reload_failed")
    });
}

#[test]
fn a_plan_is_carried_out_only_while_it_is_the_plan() {
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("a", ""));
    let daemon = Daemon::start_with(&folder, "[connectors]\nwatch = false\n");
    folder.write("sources/b.toml", &definition("b", ""));
    let plan = |text: &str| -> String {
        let plan: Value = serde_json::from_str(text).unwrap();
        plan["plan"].as_str().unwrap().to_owned()
    };
    let (status, first) = daemon.post("/definitions/validate", "");
    assert_eq!(status, 200, "{first}");
    folder.write("sources/c.toml", &definition("c", ""));

    let (status, problem) = daemon.post(&format!("/reload?plan={}", plan(&first)), "");
    assert_eq!(status, 409);
    assert!(problem.contains("reload.plan_outdated"), "{problem}");
    assert_eq!(keys(&daemon), ["a"], "nothing was changed");

    let (_, second) = daemon.post("/definitions/validate", "");
    let (status, done) = daemon.post(&format!("/reload?plan={}", plan(&second)), "");
    assert_eq!((status, plan(&done)), (200, plan(&second)));
    assert_eq!(keys(&daemon), ["a", "b", "c"]);
}

#[test]
fn series_of_fifty_removed_sources_are_gone_from_the_metrics_b144() {
    let folder = Folder::new();
    folder.write("sources/keep.toml", &definition("keep", ""));
    let daemon = Daemon::start_with(&folder, "[connectors]\nwatch = false\n");
    let series = || {
        let metrics = daemon.get("/metrics").1;
        metrics.lines().filter(|line| line.contains("connector_key=")).count()
    };
    daemon.wait_for("its series", || series() > 0);
    let before = series();
    for n in 0..50 {
        folder.write(&format!("sources/s{n}.toml"), &definition(&format!("s{n}"), ""));
    }
    daemon.post("/reload", "");
    daemon.wait_for("their series", || series() >= 51 * before);
    for n in 0..50 {
        std::fs::remove_file(folder.path().join(format!("sources/s{n}.toml"))).unwrap();
    }

    daemon.post("/reload", "");

    daemon.wait_for("the end of their series", || keys(&daemon) == ["keep"] && series() == before);
}

#[test]
fn a_changed_config_is_named_as_one_that_needs_a_restart() {
    let folder = Folder::new();
    let daemon = Daemon::start_with(&folder, "[connectors]\nwatch = false\n");
    let config = std::fs::read_to_string(folder.path().join("config.toml")).unwrap();
    folder.write("config.toml", &format!("{config}[shutdown]\ngrace = \"1s\"\n"));

    let (_, report) = daemon.post("/reload", "");

    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["needs_restart"], serde_json::json!(["shutdown"]));
}

#[test]
fn plan_and_apply_show_first_and_do_only_what_was_shown() {
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("a", ""));
    folder.write("sources/old.toml", &definition("old", ""));
    let daemon = Daemon::start_with(&folder, "[connectors]\nwatch = false\n");
    let url = format!("http://127.0.0.1:{}", daemon.port());
    let told = |arguments: &[&str]| folder.told(&[arguments, &["--url", &url]].concat());
    assert_eq!(told(&["plan"]), (0, "2 unchanged\nnothing to do\n".to_owned(), String::new()));
    folder.write("sources/b.toml", &definition("b", ""));
    std::fs::remove_file(folder.path().join("sources/old.toml")).unwrap();

    let (code, shown, _) = told(&["plan", "sources"]);
    let hash = shown.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert_eq!((code, shown.lines().count()), (0, 4), "{shown}");
    assert!(
        shown.starts_with("- old  removed  (drain, keep state)\n+ b    new source  (start)\n1 unchanged\n"),
        "{shown}"
    );

    let (code, again, _) = told(&["apply"]);
    assert_eq!((code, again.lines().count()), (4, 4), "without a plan it only shows: {again}");
    assert_eq!(told(&["apply", "--plan", "0123abc"]).0, 4);
    assert_eq!(keys(&daemon), ["a", "old"]);
    let (code, done, err) = told(&["apply", "sources", "--plan", &hash]);
    assert_eq!(code, 0, "{done}{err}");
    daemon.wait_for("the new set", || keys(&daemon) == ["a", "b"]);
    let (code, _, err) = told(&["apply", "--plan", &hash]);
    assert_eq!(code, 4);
    assert!(err.contains("reload.plan_outdated"), "{err}");
}

#[test]
fn a_plan_with_a_file_that_cannot_be_used_ends_with_two_and_says_which() {
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("a", ""));
    let daemon = Daemon::start_with(&folder, "[connectors]\nwatch = false\n");
    let url = format!("http://127.0.0.1:{}", daemon.port());
    folder.write("sources/a.toml", &definition("a", "max_in_flight = \"two\"\n"));

    for verb in ["plan", "reload"] {
        let (code, shown, _) = folder.told(&[verb, "--url", &url]);
        assert_eq!(code, 2);
        assert!(shown.contains("✗ a") && shown.contains("a.toml:4:17"), "{shown}");
    }
    let elsewhere = folder.write("elsewhere/a.toml", &definition("a", "name = \"${env:HOME}\"\n"));
    let (code, shown, _) = folder.told(&["plan", elsewhere.to_str().unwrap(), "--url", &url, "--json"]);
    assert_eq!(code, 2);
    assert!(shown.contains("config.reference_through_api"), "{shown}");
}
