//! The verbs that ask a daemon, and those that make something, on the real binary.

use crate::support::{Daemon, Folder};

fn url(daemon: &Daemon) -> String {
    format!("http://127.0.0.1:{}", daemon.port())
}

fn broken(folder: &Folder) -> Daemon {
    folder.write(
        "sources/orders.toml",
        "type = \"source\"\nkey = \"orders\"\npath = \"libnothing\"\n[[topics]]\ntopic = \"x\"\n",
    );
    Daemon::start(folder)
}

#[test]
fn describe_shows_the_error_and_the_checks_of_one_source() {
    let folder = Folder::new();
    let daemon = broken(&folder);
    daemon.wait_for("the error", || daemon.get("/sources/orders").1.contains("plugin.not_found"));
    let (code, out, err) = folder.told(&["describe", "orders", "--url", &url(&daemon)]);
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("orders  ✗ error for "), "{out}");
    for part in ["last error", "plugin.not_found", "topics\n  x  json\n", "✗ plugin_loaded"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (code, out, _) = folder.told(&["describe", "orders", "--json", "--url", &url(&daemon)]);
    assert_eq!(code, 0);
    let source: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(source["key"], "orders");
}

#[test]
fn a_source_that_is_not_there_is_told_in_the_daemons_words() {
    let folder = Folder::new();
    let daemon = broken(&folder);
    for verb in ["describe", "tail", "pause"] {
        let (code, _, err) = folder.told(&[verb, "no/body", "--url", &url(&daemon)]);
        assert_eq!(code, 1, "{verb}: {err}");
        assert!(err.starts_with("source_not_found\n") && err.contains("no/body"), "{verb}: {err}");
        assert!(err.contains("hint: GET /sources lists the keys"), "{verb}: {err}");
    }
}

#[test]
fn an_order_is_taken_and_waited_for() {
    let folder = Folder::new();
    let daemon = broken(&folder);
    let (code, out, err) = folder.told(&["stop", "orders", "--wait", "20", "--url", &url(&daemon)]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out, "orders: stop was taken; it is stopped\n");
    let (code, out, _) = folder.told(&["stop", "orders", "--json", "--url", &url(&daemon)]);
    assert_eq!(code, 0);
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&told["order"], &told["status"]), (&"stop".into(), &"stopped".into()));
    let (code, _, err) = folder.told(&["start", "orders", "--wait", "1", "--url", &url(&daemon)]);
    assert_eq!(code, 1);
    assert!(
        err.contains("after 1 s the source is error, not running") && err.contains("libnothing"),
        "{err}"
    );
}

#[test]
fn logs_show_what_was_said_and_end() {
    let folder = Folder::new();
    let daemon = broken(&folder);
    daemon.wait_for("the error", || daemon.get("/sources/orders").1.contains("plugin.not_found"));
    let (code, out, err) = folder.told(&["logs", "--last", "1000", "--url", &url(&daemon)]);
    assert_eq!(code, 0, "{err}");
    assert!(out.lines().any(|line| line.contains(" INFO   API listens")), "{out}");
    assert!(out.lines().any(|line| line.contains(" WARN   orders: not opened")), "{out}");
    let (code, out, _) =
        folder.told(&["logs", "orders", "--last", "1000", "--events", "--json", "--url", &url(&daemon)]);
    assert_eq!(code, 0);
    let events: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!events.is_empty() && events.iter().all(|event| event["source"] == "orders"), "{out}");
}

#[test]
fn top_draws_the_table_as_often_as_it_was_asked_to() {
    let folder = Folder::new();
    let daemon = broken(&folder);
    let (code, out, err) = folder.told(&["top", "--looks", "2", "--url", &url(&daemon)]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out.matches("SOURCE ").count(), 2, "{out}");
    assert!(!out.contains('\u{1b}'), "no terminal, no colours: {out}");
}

#[test]
fn healthcheck_is_zero_while_a_source_fails_and_three_without_a_daemon() {
    let folder = Folder::new();
    let daemon = broken(&folder);
    daemon.wait_for("the error", || daemon.get("/health").1.contains("degraded"));
    assert_eq!(
        folder.told(&["healthcheck", "--url", &url(&daemon)]),
        (0, "degraded\n".to_owned(), String::new())
    );
    let (code, _, err) = folder.told(&["healthcheck", "--ready", "--url", &url(&daemon)]);
    assert_eq!(code, 1);
    assert!(err.starts_with("engine.not_ready"), "{err}");
    assert_eq!(folder.told(&["healthcheck", "--url", "http://127.0.0.1:1"]).0, 3);
}

#[test]
fn doctor_names_each_thing_that_is_wrong_with_what_to_do() {
    let folder = Folder::new();
    let daemon = broken(&folder);
    daemon.wait_for("the error", || daemon.get("/sources/orders").1.contains("plugin.not_found"));
    let (code, out, err) = folder.told(&["doctor", "orders", "--url", &url(&daemon)]);
    assert_eq!(code, 2, "the first thing wrong is in a file: {out}{err}");
    for part in [
        "✓ config.toml  fine\n",
        "✗ sources/orders.toml  ",
        "✓ state  ",
        "✗ broker  127.0.0.1:1 did not answer within 5 s",
        "    → is it up, is [kafka] bootstrap_servers right",
        "✓ daemon  pico-connectors ",
        "✗ ready  ",
        "✗ orders: plugin_loaded  failed\n    → ",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (_, out, _) = folder.told(&["doctor", "nobody", "--json", "--url", "http://127.0.0.1:1"]);
    let looks: serde_json::Value = serde_json::from_str(&out).unwrap();
    let of = |name: &str| looks.as_array().unwrap().iter().find(|look| look["name"] == name).unwrap().clone();
    assert_eq!((&of("definitions")["status"], &of("daemon")["status"]), (&"error".into(), &"skipped".into()));
    assert!(of("definitions")["advice"].is_string());
}

#[test]
fn an_unknown_plugin_is_answered_with_where_to_look() {
    let folder = Folder::new();
    let (code, _, err) = folder.told(&["new", "source", "nothing", "--key", "a"]);
    assert_eq!(code, 3, "{err}");
    assert!(err.starts_with("plugin.unknown\n") && err.contains("hint: "), "{err}");
    let (code, _, err) = folder.told(&["new", "source", "nothing", "--key", "../a"]);
    assert_eq!(code, 2, "{err}");
    assert!(!folder.path().join("sources").exists());
}

#[test]
fn schemas_completions_and_pages_are_printed() {
    let folder = Folder::new();
    for what in ["definition", "config"] {
        let (code, out, _) = folder.told(&["schema", what]);
        let schema: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((code, schema["type"].as_str()), (0, Some("object")), "{what}");
    }
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let (code, out, _) = folder.told(&["completions", shell]);
        assert!(code == 0 && out.contains("healthcheck"), "{shell}");
    }
    let (code, out, _) = folder.told(&["man"]);
    assert!(code == 0 && out.contains(".TH") && out.contains("Exit codes"), "{out}");
    let (code, _, err) = folder.told(&["man", "--dir", "pages"]);
    assert_eq!(code, 0, "{err}");
    assert!(folder.path().join("pages/pico-connectors-tail.1").exists());
}
