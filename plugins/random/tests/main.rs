//! The library as it is shipped.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use picomq_connector_sdk::Verdict;
use picomq_connector_sdk::conformance;
use picomq_connector_sdk::ffi::host::{Closed, Library, Limits, Mode, OpenRequest, PollError, TracingSink};

fn path() -> PathBuf {
    conformance::library(env!("CARGO_PKG_NAME"))
}

fn request(config: &str) -> OpenRequest {
    OpenRequest {
        key: "random".to_owned(),
        config_json: config.to_owned(),
        state: None,
        mode: Mode::Run,
        limits: Limits { batch_records: 10_000, batch_bytes: 64 << 20 },
        record_bytes: 1_000_000,
        open_timeout: Duration::from_secs(5),
        verdict_timeout: Duration::from_secs(5),
        host: Arc::new(TracingSink::new("random")),
    }
}

#[test]
fn it_exports_nothing_but_our_one_symbol_b121() {
    conformance::check_exports(&path());
}

#[test]
fn it_says_what_it_is_and_shows_every_key() {
    let library = Library::load(&path()).unwrap();
    let info = library.info();
    assert_eq!(info.name, "random");
    assert!(info.capabilities.pipelined && !info.capabilities.listener && !info.capabilities.own_runtime);
    let mut keys: Vec<&String> = info.config_schema["properties"].as_object().unwrap().keys().collect();
    keys.sort();
    let right =
        ["interval", "key_by_user", "max_count", "messages_range", "payload_size", "seed", "user_pool"];
    assert_eq!(keys, right);
}

#[tokio::test]
async fn a_whole_life_over_the_border() {
    let library = Library::load(&path()).unwrap();
    let config = r#"{"interval": "0s", "messages_range": [5, 5], "max_count": 7}"#;
    let source = library.open(request(config)).await.unwrap();
    let mut sizes = Vec::new();
    for _ in 0..3 {
        sizes.push(source.poll().await.unwrap().len());
        source.resolve(Verdict::Ack).await.unwrap();
    }
    assert_eq!(sizes, [5, 2, 0]);
    assert_eq!(source.close().await, Closed { leaked: false });
}

#[tokio::test]
async fn a_sleep_of_an_hour_does_not_hold_up_the_end_b141() {
    let library = Library::load(&path()).unwrap();
    let source = library.open(request(r#"{"interval": "1h"}"#)).await.unwrap();
    let poll = source.poll();
    let closing = tokio::time::timeout(Duration::from_secs(2), source.close()).await;
    assert_eq!(closing, Ok(Closed { leaked: false }));
    assert!(matches!(poll.await, Err(PollError::Interrupted)));
}
