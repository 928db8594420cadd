//! Versions of definitions through the API. Libraries are missing here on purpose; a version that is stored and runs is
//! told in `chaos-tests`.

use serde_json::{Value, json};

use crate::support::{Daemon, Folder};

fn definition(key: &str, name: &str) -> String {
    format!(
        "type = \"source\"\nkey = \"{key}\"\nname = \"{name}\"\npath = \"libnothing\"\n[[topics]]\ntopic = \"x\"\n"
    )
}

fn read(daemon: &Daemon, path: &str) -> Value {
    let (status, body) = daemon.get(path);
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// Version and whether it is active.
fn versions(daemon: &Daemon, key: &str) -> Vec<(u64, bool)> {
    let listed = read(daemon, &format!("/sources/{key}/configs"));
    let pair = |one: &Value| (one["version"].as_u64().unwrap(), one["active"].as_bool().unwrap());
    listed.as_array().unwrap().iter().map(pair).collect()
}

fn name(daemon: &Daemon) -> String {
    read(daemon, "/sources/a/configs/active")["name"].as_str().unwrap().to_owned()
}

#[test]
fn a_version_is_made_active_until_the_file_changes_which_is_then_the_next_one() {
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("a", "one"));
    folder.write("sources/source_a_2.toml", &definition("a", "two"));
    let daemon = Daemon::start(&folder);
    assert_eq!((name(&daemon), versions(&daemon, "a")), ("two".to_owned(), vec![(0, false), (2, true)]));
    assert_eq!(read(&daemon, "/sources/a/configs/0")["name"], "one");

    let (status, body) = daemon.send("PUT", "/sources/a/configs/active", "{\"version\": 0}");
    assert_eq!((status, body.as_str()), (204, ""));
    assert_eq!(versions(&daemon, "a"), [(0, true), (2, false)]);
    drop(daemon);
    let daemon = Daemon::start(&folder);
    assert_eq!(name(&daemon), "one");
    drop(daemon);

    folder.write("sources/a.toml", &definition("a", "three"));
    let daemon = Daemon::start(&folder);
    assert_eq!(
        (name(&daemon), versions(&daemon, "a")),
        ("three".to_owned(), vec![(0, false), (2, false), (3, true)])
    );
    assert_eq!(read(&daemon, "/sources/a/configs/0")["name"], "one", "what the file was is kept");
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("it is a new version, and active"), "{log}");
    assert_eq!(daemon.send("DELETE", "/sources/a/configs?version=3", "").0, 409, "it is active");
    assert_eq!(daemon.send("DELETE", "/sources/a/configs?version=2", "").0, 204);
    assert_eq!(versions(&daemon, "a"), [(0, false), (3, true)]);
}

#[test]
fn a_pointer_to_a_missing_version_is_a_source_in_error_that_says_so() {
    let folder = Folder::new();
    folder.write("sources/source_a_1.toml", &definition("a", "one"));
    folder.write("sources/.active_versions.toml", "[a]\nversion = 9\n");
    let daemon = Daemon::start(&folder);
    let listed = read(&daemon, "/sources");
    assert_eq!((&listed[0]["key"], &listed[0]["status"]), (&json!("a"), &json!("error")));
    assert!(
        listed[0]["last_error"]["message"].as_str().unwrap().contains("version 9 of `a` is active"),
        "{listed}"
    );
}

#[test]
fn what_is_sent_must_be_a_definition_that_could_run_and_reach_no_further() {
    let folder = Folder::new();
    folder.write("sources/a.toml", &(definition("a", "one") + "[plugin_config]\npassword = \"hunter2\"\n"));
    let daemon = Daemon::start(&folder);
    let block = json!([{ "topic": "x" }]);
    for (sent, code) in [
        (json!({ "path": "libnothing", "topics": block }), "plugin.not_found"),
        (json!({ "path": "libnothing", "topics": block, "batch_lenght": 1 }), "config.unknown_field"),
        (
            json!({ "path": "libnothing", "topics": block, "name": "${env:HOME}" }),
            "config.reference_through_api",
        ),
        (json!({ "path": "/tmp/x", "topics": block }), "config.file_through_api"),
        (
            json!({ "path": "libnothing", "topics": block, "plugin_config": { "url": "http://127.0.0.1" } }),
            "config.private_url_through_api",
        ),
        (
            json!({ "path": "libnothing", "topics": [{
                "topic": "x", "schema_registry": { "url": "https://localhost" } }] }),
            "config.private_url_through_api",
        ),
        (json!({ "path": "libnothing", "topics": block, "key": "b" }), "config.other_key"),
        (
            json!({ "path": "libnothing", "topics": block, "plugin_config": { "token": "***" } }),
            "config.hidden_value",
        ),
    ] {
        let (status, body) = daemon.send("POST", "/sources/a/configs", &sent.to_string());
        assert_eq!(status, 400, "{body}");
        assert!(body.contains(code) && !body.contains("hunter2"), "{code}: {body}");
    }
    assert_eq!(versions(&daemon, "a"), [(0, true)], "nothing was stored");
    assert!(!daemon.get("/sources/a/configs").1.contains("hunter2"));
    assert_eq!(daemon.get("/sources/a/configs/plugin?format=toml"), (200, "password = \"***\"\n".to_owned()));
    assert_eq!(daemon.get("/sources/a/transforms"), (200, "[]".to_owned()));
    assert_eq!(daemon.get("/sources/a/configs/7").0, 404);
}

#[test]
fn a_key_of_a_url_never_becomes_a_name_of_a_file_outside_b132() {
    let folder = Folder::new();
    let daemon = Daemon::start(&folder);
    let sent = json!({ "path": "libnothing", "topics": [{ "topic": "x" }] }).to_string();
    let long = "k".repeat(300);
    for key in ["..%2f..%2fx", "a%2fb", &long, "%00", "a%00b", ".hidden", "%2e%2e"] {
        for (method, path) in
            [("POST", "configs"), ("PUT", "configs/active"), ("DELETE", "configs?version=1")]
        {
            let (status, body) = daemon.send(method, &format!("/sources/{key}/{path}"), &sent);
            assert!((400..=404).contains(&status), "{method} {key}: {status} {body}");
        }
    }
    let (status, _) = daemon.send("POST", "/sources//configs", &sent);
    assert!(status == 404 || status == 400, "{status}");
    let entries = |path: &str| std::fs::read_dir(folder.path().join(path)).unwrap().count();
    assert_eq!(entries("sources"), 0);
    let known = ["config.toml", "sources", "log", "local_state"];
    let strays = std::fs::read_dir(folder.path()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        !known.iter().any(|known| name.to_str() == Some(known))
    });
    assert_eq!(strays.count(), 0);
}

#[test]
fn a_daemon_may_be_told_not_to_write_definitions() {
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("a", "one"));
    let daemon = Daemon::start_with(&folder, "[connectors]\nwritable = false\n");
    for (method, path) in [("POST", "configs"), ("DELETE", "configs?version=1")] {
        let (status, body) = daemon.send(method, &format!("/sources/a/{path}"), "{}");
        assert_eq!(status, 403);
        assert!(body.contains("configs.read_only"), "{body}");
    }
    assert_eq!(daemon.send("PUT", "/sources/a/configs/active", "{\"version\": 0}").0, 403);
    assert_eq!(versions(&daemon, "a"), [(0, true)]);
}

#[test]
fn a_damaged_pointer_stops_sources_with_versions_and_says_how_to_mend_it_and_nothing_is_lost() {
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("a", "one"));
    folder.write("sources/source_a_2.toml", &definition("a", "two"));
    folder.write("sources/b.toml", &definition("b", "other"));
    let damaged = "[a]\nversion = 0\norigin = \"cut o";
    folder.write("sources/.active_versions.toml", damaged);
    let daemon = Daemon::start(&folder);

    let of = |key: &str| read(&daemon, &format!("/sources/{key}"))["last_error"]["message"].to_string();
    let said = of("a");
    assert!(said.contains(".active_versions.toml") && said.contains("remove it"), "{said}");
    assert!(
        !of("b").contains("active_versions"),
        "a source without versions has its own worries: {}",
        of("b")
    );
    for (method, path, body) in [
        ("PUT", "/sources/a/configs/active", "{\"version\": 2}"),
        ("DELETE", "/sources/a/configs?version=2", ""),
    ] {
        let (status, answer) = daemon.send(method, path, body);
        assert!(status >= 400 && answer.contains("config.bad_pointer"), "{method}: {status} {answer}");
    }
    assert_eq!(
        std::fs::read_to_string(folder.path().join("sources/.active_versions.toml")).unwrap(),
        damaged
    );
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("config.bad_pointer"), "{log}");

    // The fix that is told: without it the highest version is active, and both are still there.
    std::fs::remove_file(folder.path().join("sources/.active_versions.toml")).unwrap();
    assert_eq!(daemon.send("POST", "/reload", "").0, 200);
    assert_eq!(versions(&daemon, "a"), [(0, false), (2, true)]);
    assert!(!of("a").contains("active_versions"), "{}", of("a"));
}
