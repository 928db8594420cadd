//! `run`: starting with bad files, and every way to end.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Daemon, Folder};

fn definition(key: &str, path: &str, more: &str) -> String {
    format!("type = \"source\"\nkey = \"{key}\"\npath = \"{path}\"\n[[topics]]\ntopic = \"x\"\n{more}")
}

#[test]
fn five_bad_files_are_five_sources_in_error_and_the_process_runs_b126() {
    let folder = Folder::new();
    folder.write("plugins/libpicomq_connector_broken.so", "not a library");
    folder.write("sources/a.toml", &definition("no_such_library", "libnothing", ""));
    folder.write("sources/b.toml", &definition("not_a_library", "libpicomq_connector_broken", ""));
    folder
        .write("sources/c.toml", &definition("bad_duration", "libnothing", "linger_time = \"5 parsecs\"\n"));
    folder.write("sources/d.toml", "this is no TOML\n");
    folder.write("sources/e.toml", &definition("unknown_key", "libnothing", "batch_lenght = 1\n"));
    let daemon = Daemon::start(&folder);

    let listed = || -> Vec<serde_json::Value> { serde_json::from_str(&daemon.get("/sources").1).unwrap() };
    daemon.wait_for("five errors", || {
        listed().iter().filter(|source| source["status"] == "error").count() == 5
    });

    let causes: Vec<(String, String)> = listed()
        .iter()
        .map(|source| {
            (source["key"].as_str().unwrap().into(), source["last_error"]["code"].as_str().unwrap().into())
        })
        .collect();
    let causes: Vec<(&str, &str)> = causes.iter().map(|(key, code)| (key.as_str(), code.as_str())).collect();
    assert_eq!(
        causes,
        [
            ("no_such_library", "plugin.not_found"),
            ("not_a_library", "plugin.not_loaded"),
            ("bad_duration", "config.bad_duration"),
            ("d", "config.syntax"),
            ("unknown_key", "config.unknown_field"),
        ]
    );
    assert_eq!(daemon.get("/health").0, 200);
}

#[test]
fn no_definition_at_all_is_no_reason_to_end() {
    let daemon = Daemon::start(&Folder::new());
    assert_eq!(daemon.get("/sources"), (200, "[]".to_owned()));
    let (status, problem) = daemon.get("/ready");
    assert_eq!(status, 503);
    assert!(problem.contains("the broker was not reached yet"), "{problem}");
}

#[test]
fn sigterm_with_nothing_in_flight_drains_at_once_and_ends_with_zero_b141() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut daemon = Daemon::start(&Folder::new());
        daemon.signal(signal);
        let (code, took) = daemon.wait();
        assert_eq!(code, 0);
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}

#[test]
fn a_taken_port_ends_with_three_and_names_the_setting() {
    let folder = Folder::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    folder.write("config.toml", &format!("[http]\naddress = \"{address}\"\n"));
    let (code, _, err) = folder.told(&["run"]);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("http.not_bound") && err.contains(&address.to_string()), "{err}");
}

#[test]
fn an_address_that_other_machines_reach_is_refused() {
    let folder = Folder::new();
    folder.write("config.toml", "[http]\naddress = \"0.0.0.0:0\"\n");
    let (code, _, err) = folder.told(&["run"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("0.0.0.0"), "{err}");
}

#[test]
fn a_bad_configuration_is_told_whole_and_ends_with_two() {
    let folder = Folder::new();
    folder.write("config.toml", "[kafka]\nbootstrap_server = \"x:1\"\n[shutdown]\ngrace = \"soon\"\n");
    let (code, _, err) = folder.told(&["run"]);
    assert_eq!(code, 2);
    assert!(err.contains("config.toml:2:1") && err.contains("config.toml:4:9"), "{err}");
}

#[test]
fn a_log_filter_that_makes_no_sense_is_refused_by_the_name_of_its_variable() {
    let folder = Folder::new();
    let output = folder.command(&["run"]).env("PICOMQ_CONNECTORS_LOG", "pico_actors=loud").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("PICOMQ_CONNECTORS_LOG"));
}

#[test]
fn json_logs_are_one_object_a_line() {
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("no_such_library", "libnothing", ""));
    let mut daemon = Daemon::start_as(&folder, "json");
    daemon.signal(Signal::TERM);
    daemon.wait();

    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();

    let events = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect(line));
    let messages: Vec<String> = events.map(|event| event["message"].as_str().unwrap().to_owned()).collect();
    assert!(messages.first().unwrap() == "starting" && messages.len() > 3, "{messages:?}");
}

#[test]
fn the_log_names_every_path_absolutely() {
    let folder = Folder::new();
    drop(Daemon::start(&folder));
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    for path in ["config.toml", "sources", "local_state"] {
        let path = folder.path().join(path);
        assert!(log.contains(path.to_str().unwrap()), "{} is not in {log}", path.display());
    }
}

#[test]
fn metrics_have_help_and_the_names_users_know() {
    let daemon = Daemon::start(&Folder::new());
    let (status, text) = daemon.get("/metrics");
    assert_eq!(status, 200);
    for name in [
        "picomq_connectors_sources_total",
        "picomq_connectors_sources_running",
        "process_resident_memory_bytes",
    ] {
        assert!(text.contains(&format!("# HELP {name} ")), "{name}: {text}");
        assert!(text.lines().any(|line| line.starts_with(&format!("{name} "))), "{name}: {text}");
    }
}

#[test]
fn a_client_that_never_ends_its_request_is_let_go() {
    let daemon = Daemon::start(&Folder::new());
    let mut slow = TcpStream::connect(("127.0.0.1", daemon.port())).unwrap();
    slow.write_all(b"GET /health HTTP/1.1\r\nHost: loc").unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let begun = Instant::now();
    let mut rest = Vec::new();
    // The end of the stream, with or without an answer; a reset is an end too.
    slow.read_to_end(&mut rest).ok();
    let waited = begun.elapsed();
    assert!((Duration::from_secs(8)..Duration::from_secs(15)).contains(&waited), "{waited:?}");
    assert_eq!(daemon.get("/health").0, 200);
}
