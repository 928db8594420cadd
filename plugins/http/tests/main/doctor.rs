//! What `doctor` is told, over the border as the engine asks it.

use picomq_connector_sdk::conformance;
use serde_json::{Value, json};

use crate::support::free_port;

/// Each look as `name status`, and all details.
async fn doctor(settings: Value) -> (Vec<String>, String) {
    let answer = conformance::doctor(env!("CARGO_PKG_NAME"), &settings, None).await;
    let word = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let checks = answer["checks"].as_array().unwrap();
    let looks = checks.iter().map(|check| format!("{} {}", word(check, "name"), word(check, "status")));
    (looks.collect(), answer.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_tells_what_cannot_be_had_and_takes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let base = |more: Value| {
        let mut settings = json!({ "listen_addr": address, "topic_path": "a" });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        settings
    };
    assert_eq!(doctor(base(json!({}))).await.0, ["listen ok"]);

    let taken = std::net::TcpListener::bind(&address).unwrap();
    let (looks, said) = doctor(base(json!({}))).await;
    assert_eq!(looks, ["listen warning"]);
    assert!(said.contains(&format!("{address} is taken")), "{said}");
    drop(taken);

    let tls = json!({ "cert_file": "/nowhere.pem", "key_file": "/nowhere.key" });
    let (looks, said) = doctor(base(json!({ "tls": tls }))).await;
    assert_eq!(looks, ["listen ok", "tls error"]);
    assert!(said.contains("/nowhere.pem"), "{said}");

    let spool = json!({ "ack": "spooled", "spool_dir": folder.path() });
    assert_eq!(doctor(base(spool)).await.0, ["listen ok", "spool ok"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "to look makes nothing");
    let file = folder.path().join("a file");
    std::fs::write(&file, "").unwrap();
    let spool = json!({ "ack": "spooled", "spool_dir": file });
    assert_eq!(doctor(base(spool)).await.0, ["listen ok", "spool error"]);
}
