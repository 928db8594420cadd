//! `state`, with and without a daemon. That a plugin takes what is put back is a story of chaos-tests.

use std::os::unix::fs::PermissionsExt as _;

use pico_state::{AnyStore, FileStore};
use reference_state_server::{StateServer, Tags};

use crate::support::{Daemon, Folder};

const DISABLED: &str =
    "type = \"source\"\nkey = \"a\"\npath = \"libnothing\"\nenabled = false\n[[topics]]\ntopic = \"x\"\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("sources/a.toml", DISABLED);
    std::fs::create_dir(folder.path().join("local_state")).unwrap();
    std::fs::write(folder.path().join("local_state/a.state"), pico_state::encode(9, 4, b"abc")).unwrap();
    folder
}

fn is_saved(folder: &Folder) -> bool {
    folder.path().join("local_state/a.state").exists()
}

#[test]
fn without_a_daemon_the_store_itself_is_looked_at() {
    let (code, out, err) = folder().told(&["state", "show", "A", "--offline"]);
    assert_eq!((code, err.as_str()), (0, "no daemon is asked: this works on the store itself\n"));
    let (first, rest) = out.split_once('\n').unwrap();
    assert_eq!(first, "a, on DIR/local_state: 3 bytes, batch 4");
    assert!(rest.starts_with("not described: ") && rest.contains("libnothing"), "{rest}");
}

#[test]
fn an_export_is_readable_by_its_owner_alone() {
    let folder = folder();
    let file = folder.write("a.json", "open to all");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(folder.told(&["state", "export", "a", "--offline", "--output", "a.json"]).0, 0);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!((&document["key"], &document["state"]), (&"a".into(), &"YWJj".into()));
}

#[test]
fn a_reset_that_nobody_confirmed_changes_nothing() {
    let folder = folder();
    let (code, out, err) = folder.told(&["state", "reset", "a", "--offline"]);
    assert_eq!((code, out.as_str()), (4, ""));
    assert!(err.contains("the source begins afresh: what it sent before is sent again"), "{err}");
    assert!(
        err.ends_with("nothing was changed; confirm with --yes, or type the key where it is asked for\n"),
        "{err}"
    );
    assert!(is_saved(&folder));

    let (code, out, _) = folder.told(&["state", "reset", "a", "--offline", "--yes"]);
    assert_eq!((code, out.as_str()), (0, "done; start it with `pico-connectors start a`\n"));
    assert!(!is_saved(&folder));
}

#[test]
fn a_damaged_state_is_named_and_can_be_reset() {
    let folder = folder();
    std::fs::write(folder.path().join("local_state/a.state"), "torn").unwrap();
    let (code, _, err) = folder.told(&["state", "show", "a", "--offline"]);
    assert!(
        code == 3 && err.contains("state.unreadable") && err.contains("DIR/local_state/a.state"),
        "{err}"
    );
    let (code, _, err) = folder.told(&["state", "reset", "a", "--offline", "--yes"]);
    assert!(code == 0 && err.contains("(unreadable)"), "{err}");
    assert!(!is_saved(&folder));
}

#[test]
fn a_folder_that_is_not_there_is_not_made() {
    let folder = Folder::new();
    let (code, _, err) = folder.told(&["state", "show", "a", "--offline"]);
    assert!(code == 3 && err.contains("state.no_folder") && err.contains("--config"), "{err}");
    assert!(!folder.path().join("local_state").exists());
}

#[test]
fn what_another_process_runs_is_not_written() {
    let folder = folder();
    let store = FileStore::open_folder(&folder.path().join("local_state")).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (_lease, _) = runtime.block_on(store.open(&"a".parse().unwrap())).unwrap();
    let (code, _, err) = folder.told(&["state", "reset", "a", "--offline", "--yes"]);
    assert!(code == 3 && err.contains("state.locked") && err.contains("name it with --url"), "{err}");
    assert!(is_saved(&folder));
}

#[test]
fn a_document_that_is_none_is_refused_before_anything_is_asked() {
    let folder = folder();
    folder.write("b.json", "{\"key\": \"b\"}");
    let (code, _, err) = folder.told(&["state", "import", "a", "b.json", "--yes", "--offline"]);
    assert!(code == 1 && err.contains("it holds no state") && err.contains("state export"), "{err}");
}

#[test]
fn a_daemon_that_answers_is_asked() {
    let folder = folder();
    let running = DISABLED.replace("enabled = false\n", "").replace("\"a\"", "\"b\"");
    folder.write("sources/b.toml", &running);
    let daemon = Daemon::start(&folder);
    let url = format!("http://127.0.0.1:{}", daemon.port());
    let told = |arguments: &[&str]| folder.told(&[arguments, &["--url", &url]].concat());

    let (code, out, err) = told(&["state", "show", "a", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, err.as_str(), &document["saved"]["number"]), (0, "", &4.into()));
    daemon.wait_for("status error", || daemon.get("/sources/b").1.contains("\"status\":\"error\""));
    let (code, _, err) = told(&["state", "reset", "b", "--yes"]);
    assert!(
        code == 1 && err.contains("the source is error") && err.contains("pico-connectors stop b"),
        "{err}"
    );
    let (code, _, err) = told(&["state", "show", "nobody"]);
    assert!(code == 1 && err.contains("source_not_found"), "{err}");
    let (code, out, _) = told(&["state", "reset", "a", "--yes", "--json"]);
    let change: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &change["then"], &change["now"]["bytes"]), (0, &serde_json::Value::Null, &3.into()));
    assert!(!is_saved(&folder));
}

#[test]
fn a_state_on_a_server_is_shown_and_reset_there() {
    let server = StateServer::start().unwrap();
    server.put("a", "abc");
    let folder = Folder::new();
    folder.write("sources/a.toml", DISABLED);
    folder.write(
        "config.toml",
        &format!("[state]\nstorage = \"http\"\nhttp = {{ url = \"{}\" }}\n", server.url()),
    );
    let (code, out, _) = folder.told(&["state", "show", "a", "--offline"]);
    assert!(code == 0 && out.contains("on http://127.0.0.1:") && out.contains("3 bytes\n"), "{out}");
    assert_eq!(folder.told(&["state", "reset", "a", "--offline", "--yes"]).0, 0);
    assert_eq!(server.saved("a"), None);
    assert!(server.faults_of_clients().is_empty(), "{:?}", server.faults_of_clients());
}

#[test]
fn a_server_is_held_against_its_contract_before_anything_rests_on_it() {
    let server = StateServer::start().unwrap();
    let folder = Folder::new();
    folder.write(
        "config.toml",
        &format!("[state]\nstorage = \"http\"\nhttp = {{ url = \"{}\" }}\n", server.url()),
    );
    let (code, out, err) = folder.told(&["state", "check-server"]);
    assert_eq!((code, out.matches('✓').count(), out.matches('✗').count()), (0, 11, 0), "{out}{err}");

    server.forget_keys();
    let (code, out, _) = folder.told(&["state", "check-server"]);
    assert_eq!(code, 3);
    assert!(out.contains("✗ the same request again is answered as the first time\n"), "{out}");
    server.give_tags(Tags::Weak);
    let (code, out, _) = folder.told(&["state", "check-server", "--json"]);
    let checks: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &checks[1]["is_kept"]), (3, &false.into()), "{out}");
    assert!(checks[1]["fault"].as_str().unwrap().contains("without a strong ETag"), "{out}");
}

#[test]
fn a_person_and_an_opening_never_have_one_file_at_once() {
    let folder = folder();
    let store = FileStore::open_folder(&folder.path().join("local_state")).unwrap();
    let store = AnyStore::File(store);
    let key = "a".parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(async {
        store.replace(&key, Some(b"new".to_vec())).await.unwrap();
        let (lease, loaded) = store.open(&key).await.unwrap();
        assert_eq!((loaded.number, loaded.state.as_deref()), (5, Some(&b"new"[..])));
        assert_eq!(store.replace(&key, None).await.unwrap_err().code(), "state.in_use");
        lease.release().await;
        store.replace(&key, None).await.unwrap();
        assert_eq!(store.read(&key).await.unwrap().state, None);
    });
}
