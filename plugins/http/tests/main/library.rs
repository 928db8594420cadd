//! The library as it is shipped.

use std::sync::Arc;
use std::time::Duration;

use picomq_connector_sdk::Verdict;
use picomq_connector_sdk::conformance;
use picomq_connector_sdk::ffi::host::{Library, Limits, Mode, OpenRequest, TracingSink};
use serde_json::json;

use crate::support::{free_port, post, send};

fn path() -> std::path::PathBuf {
    conformance::library(env!("CARGO_PKG_NAME"))
}

#[test]
fn it_exports_nothing_but_our_one_symbol_b121() {
    conformance::check_exports(&path());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_the_border_it_takes_posts_delivers_them_and_leaves_its_port() {
    let library = Library::load(&path()).unwrap();
    let info = library.info();
    assert!(info.capabilities.listener && info.capabilities.pipelined);
    let port = free_port();
    let address = format!("127.0.0.1:{port}").parse().unwrap();
    let request = || OpenRequest {
        key: "http".to_owned(),
        config_json: json!({ "listen_addr": format!("127.0.0.1:{port}"), "topic_path": "a" }).to_string(),
        state: None,
        mode: Mode::Run,
        limits: Limits { batch_records: 10_000, batch_bytes: 64 << 20 },
        record_bytes: 1_000_000,
        open_timeout: Duration::from_secs(30),
        verdict_timeout: Duration::from_secs(30),
        host: Arc::new(TracingSink::new("http")),
    };
    for _ in 0..3 {
        let source = library.open(request()).await.unwrap();
        let sending = tokio::spawn(send(address, post("{}")));
        assert_eq!(source.poll().await.unwrap().len(), 1);
        source.resolve(Verdict::Ack).await.unwrap();
        assert_eq!(sending.await.unwrap().status, 200);
        assert!(!source.close().await.leaked);
    }
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
