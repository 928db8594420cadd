//! One address for several sources, and an address that comes and goes.

use picomq_connector_http_source::HttpSource;
use picomq_connector_sdk::conformance::{Bench, Setting};
use picomq_connector_sdk::{Error, Source};
use serde_json::{Value, json};

use crate::support::{Open, config, free_port, post, send};

async fn open_at(port: u16, name: &str, topic: &str, keys: Value) -> Result<Open, Error> {
    let mut config = config(keys);
    config["listen_addr"] = json!(format!("127.0.0.1:{port}"));
    config["instance_name"] = json!(name);
    config["topic_path"] = json!(topic);
    let bench = Bench::<HttpSource>::open(Setting::new(config)).await?;
    let address = bench.source().local_addr().unwrap();
    Ok(Open { bench: std::sync::Arc::new(bench), address })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sources_share_an_address_each_with_its_own_path_b110() {
    let port = free_port();
    let one = open_at(port, "one", "a", json!({})).await.unwrap();
    let two = open_at(port, "two", "b", json!({})).await.unwrap();
    let (first, second) =
        (one.sending(post("{\"to\":1}").to("/topics/a")), one.sending(post("{\"to\":2}").to("/topics/b")));
    assert_eq!(one.poll().await.record(0).payload, Some(&b"{\"to\":1}"[..]));
    assert_eq!(two.poll().await.record(0).payload, Some(&b"{\"to\":2}"[..]));
    one.ack().await;
    two.ack().await;
    assert_eq!((first.await.unwrap().status, second.await.unwrap().status), (200, 200));
    // One leaves, the other is still served.
    one.bench.source().close().await;
    assert_eq!(send(two.address, post("{}").to("/topics/a")).await.status, 404);
    let sending = two.sending(post("{}").to("/topics/b"));
    two.poll().await;
    two.ack().await;
    assert_eq!(sending.await.unwrap().status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_source_with_the_same_path_or_name_or_other_settings_is_refused_b110() {
    let port = free_port();
    let _one = open_at(port, "one", "a", json!({})).await.unwrap();
    for (name, topic, keys, part) in [
        ("two", "a", json!({}), "/topics/a"),
        ("one", "b", json!({}), "instance_name"),
        ("two", "b", json!({ "max_connections": 5 }), "must be the same"),
    ] {
        let error = open_at(port, name, topic, keys).await.err().unwrap();
        assert!(matches!(&error, Error::Config(_)) && error.to_string().contains(part), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reopened_source_gets_its_port_back_at_once_b110() {
    let port = free_port();
    for round in 0..10 {
        let source = open_at(port, "one", "a", json!({ "buffer_capacity": round + 1 })).await.unwrap();
        let sending = source.sending(post("{}").to("/topics/a"));
        source.poll().await;
        source.ack().await;
        assert_eq!(sending.await.unwrap().status, 200);
        // In turn as a reload does it, and as a panic does.
        if round % 2 == 0 {
            source.bench.source().close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_that_another_process_has_is_waited_for_b110() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = open_at(port, "one", "a", json!({})).await.err().unwrap();
    assert!(
        matches!(&error, Error::Transient(_)) && error.to_string().contains(&port.to_string()),
        "{error}"
    );
    drop(taken);
    open_at(port, "one", "a", json!({})).await.unwrap();
}
