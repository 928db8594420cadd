//! `run` with its checkpoints on a server.

use reference_state_server::{Fault, StateServer};

use crate::support::{Daemon, Folder};

fn definition(key: &str) -> String {
    format!("type = \"source\"\nkey = \"{key}\"\npath = \"libnothing\"\n[[topics]]\ntopic = \"x\"\n")
}

fn config(url: &str) -> String {
    format!(
        "[state]\nstorage = \"http\"\n[state.http]\nurl = \"{url}\"\ntimeout = \"1s\"\n\
         request_headers = {{ authorization = \"Bearer hunter2\" }}\n[state.http.retry]\nmax_attempts = 1\n"
    )
}

fn last_error(daemon: &Daemon, key: &str) -> String {
    let (_, body) = daemon.get(&format!("/sources/{key}"));
    let source: serde_json::Value = serde_json::from_str(&body).unwrap();
    source["last_error"]["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_secret_in_the_url_or_headers_of_a_refusing_server_is_shown_nowhere_b066() {
    let server = StateServer::start().unwrap();
    let url = format!("{}/hunter2/?token=hunter2&sig=hunter2", server.url());
    server.down();
    let folder = Folder::new();
    folder.write("sources/a.toml", &definition("a"));
    folder.write("sources/b.toml", &definition("b"));
    let daemon = Daemon::start_with(&folder, &config(&url));
    daemon.wait_for("a refused connection", || last_error(&daemon, "a").contains("state server"));
    server.plan_loads(vec![Fault::status(401), Fault::status(500), Fault::Cut { applies: false }]);
    server.up().unwrap();
    daemon.wait_for("an answer", || server.requests() > 3);

    let mut shown = vec![std::fs::read_to_string(folder.path().join("log")).unwrap()];
    for path in ["/sources", "/sources/a", "/sources/b", "/stats", "/health", "/ready", "/metrics"] {
        shown.push(daemon.get(path).1);
    }
    assert!(shown[0].contains("http://127.0.0.1:"), "the origin is said at start: {}", shown[0]);
    for text in shown {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_url_with_a_user_is_refused_at_start_without_being_shown_b066() {
    let folder = Folder::new();
    folder.write("config.toml", &config("http://me:hunter2@localhost/?token=hunter2"));
    for arguments in [&["run"][..], &["check", "config.toml"]] {
        let (code, out, err) = folder.told(arguments);
        assert_eq!(code, 2, "{out}{err}");
        assert!(format!("{out}{err}").contains("holds a user"), "{out}{err}");
        assert!(!format!("{out}{err}").contains("hunter2"), "{out}{err}");
    }
}
