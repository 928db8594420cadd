//! `check` asks the real plugins: what an opening would refuse, though its type is right, is found at its line.

use std::path::PathBuf;
use std::process::Command;

use chaos_tests::binaries;
use chaos_tests::site::scratch;

/// A plugin, its settings, the setting at fault, and a part of what is said.
const MISTAKES: [(&str, &str, &str, &str); 10] = [
    (
        "elasticsearch",
        "url = \"localhost:9200\"\nindex = \"a\"\ntimestamp_field = \"t\"",
        "url",
        "https://example.com",
    ),
    ("elasticsearch", "url = \"http://a\"\nindex = \"a\"", "", "mode = \"snapshot\""),
    (
        "elasticsearch",
        "url = \"http://a\"\nindex = \"a\"\ntimestamp_field = \"t\"\nbatch_size = 20000",
        "batch_size",
        "1 to 10000",
    ),
    ("influxdb", "version = \"v1\"\nurl = \"http://a\"\ndb = \"d\"", "", "name a measurement"),
    (
        "influxdb",
        "version = \"v1\"\nurl = \"http://a\"\ndb = \"d\"\nquery = \"SELECT * FROM m LIMIT $limit\"",
        "query",
        "$cursor",
    ),
    ("http", "listen_addr = \"0.0.0.0:8088\"\ntopic_path = \"p\"", "listen_addr", "protect it"),
    ("http", "topic_path = \"p\"\nlisten_addr = \"example.com:80\"", "listen_addr", "127.0.0.1:8088"),
    (
        "postgres",
        "mode = \"cdc\"\nconnection_string = \"postgres://me@a/b\"\ncapture_operations = []",
        "capture_operations",
        "leave it out",
    ),
    ("postgres", "mode = \"cdc\"\nconnection_string = \"mysql://a/b\"", "connection_string", "postgres"),
    ("random", "interval = \"1s\"\nmessages_range = [10, 5]", "messages_range", "10"),
];

#[test]
fn what_a_plugin_would_refuse_is_found_at_its_line_before_anything_runs() {
    for (index, (plugin, settings, key, said)) in MISTAKES.into_iter().enumerate() {
        let text = format!(
            "type = \"source\"\nkey = \"a\"\npath = \"libpicomq_connector_{plugin}_source\"\n[[topics]]\ntopic = \"t\"\n\
             [plugin_config]\n{settings}\n"
        );
        let line = text.lines().position(|line| line.starts_with(key) && !key.is_empty()).unwrap_or(5) + 1;

        let (code, out) = checked(index, &text);

        assert_eq!(code, Some(2), "{plugin} takes {settings}\n{out}");
        assert!(out.contains(&format!("a.toml:{line}:1: error[plugin.config]")), "not at line {line}: {out}");
        assert!(out.contains(said), "{said:?} is not said: {out}");
    }
}

fn checked(index: usize, text: &str) -> (Option<i32>, String) {
    let dir: PathBuf = scratch().join(format!("check-{index}"));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("a.toml"), text).unwrap();
    let output = Command::new(binaries::engine().unwrap())
        .args(["check", "a.toml"])
        .current_dir(&dir)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}
