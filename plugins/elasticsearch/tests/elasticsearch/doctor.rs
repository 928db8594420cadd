//! What `doctor` is told of a source that does not run, over the border as the engine asks it.

use picomq_connector_sdk::State;
use picomq_connector_sdk::conformance;
use serde_json::{Value, json};

use crate::reading::{Reading, config};
use crate::server::{KINDS, Place, documents};

async fn doctor(settings: Value, state: Option<&State>) -> Vec<(String, String, String)> {
    let answer = conformance::doctor(env!("CARGO_PKG_NAME"), &settings, state).await;
    let word = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let checks = answer["checks"].as_array().unwrap().iter();
    checks.map(|check| (word(check, "name"), word(check, "status"), word(check, "detail"))).collect()
}

fn told(name: &str, status: &str, detail: &str) -> (String, String, String) {
    (name.to_owned(), status.to_owned(), detail.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_tells_field_position_and_what_lacks_the_field() {
    for kind in KINDS {
        let place = Place::with_index(kind, 1, json!({ "at": { "type": "date" } })).await;
        place.put(documents("d", 30, "2026-01-01T00:00:00Z")).await;
        place.put([("none".to_owned(), json!({ "n": 1 }))]).await;
        let config = config(&place, json!({ "batch_size": 10 }));
        let mut reading = Reading::open(config.clone(), None).await;
        reading.keys(10).await;
        assert_eq!(
            doctor(config, reading.saved.as_ref()).await,
            [
                told("index", "ok", "at is there and counted in millis"),
                told("position", "ok", "10 documents delivered, 20 to be read"),
                told("missing_timestamps", "warning", "1 documents have no timestamp_field and are not read"),
                told("future_timestamps", "ok", "no document is dated ahead of the server's clock"),
            ],
            "{kind:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_tells_an_index_that_is_not_there() {
    let place = Place::new(KINDS[0]).await;
    let checks = doctor(config(&place, json!({})), None).await;
    assert_eq!((checks.len(), &*checks[0].0, &*checks[0].1), (1, "index", "error"));
    assert!(checks[0].2.contains("no such index"), "{checks:?}");
}
