//! Slow clients, huge heads, too many connections.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::support::{PATIENCE, Served, open, post, reply};

/// Writes a byte every 20 ms until the other side ends the connection; what it said meanwhile.
async fn drip(mut stream: TcpStream, bytes: Vec<u8>) -> Vec<u8> {
    let (mut reader, mut writer) = stream.split();
    let writing = async {
        for byte in bytes {
            if writer.write_all(&[byte]).await.is_err() {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
        std::future::pending::<()>().await;
    };
    let mut said = Vec::new();
    tokio::select! {
        () = writing => {}
        _ = reader.read_to_end(&mut said) => {}
    }
    said
}

/// 10,000 bytes at 50 a second would take minutes.
fn endless_head() -> Vec<u8> {
    format!("POST /topics/a HTTP/1.1\r\nx-slow: {}\r\n\r\n", "y".repeat(10_000)).into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_drips_is_cut_while_others_are_served() {
    let served = Served::start(json!({ "header_timeout": "300ms" })).await;
    let stream = TcpStream::connect(served.open.address).await.unwrap();
    let dripping = tokio::spawn(drip(stream, endless_head()));
    served.record_of(post("{}")).await;
    timeout(PATIENCE, dripping).await.expect("it is cut").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_drips_is_answered_408() {
    let served = Served::start(json!({ "body_timeout": "300ms", "schema": "text" })).await;
    let stream = TcpStream::connect(served.open.address).await.unwrap();
    let request = post("x".repeat(10_000)).bytes();
    let (head, body) = request.split_at(request.len() - 10_000);
    let mut stream = stream;
    stream.write_all(head).await.unwrap();
    let said = timeout(PATIENCE, drip(stream, body.to_vec())).await.expect("it is cut");
    assert_eq!(reply(&said).status, 408);
    assert!(served.records().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_outlives_the_time_for_heads_and_not_its_own() {
    let served = Served::start(json!({ "header_timeout": "50ms", "idle_timeout": "1s" })).await;
    let mut stream = TcpStream::connect(served.open.address).await.unwrap();
    let request = b"POST /topics/a HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}";
    for _ in 0..3 {
        stream.write_all(request).await.unwrap();
        let mut buffer = [0; 1000];
        let read = timeout(PATIENCE, stream.read(&mut buffer)).await.unwrap().unwrap();
        assert_eq!(reply(&buffer[..read]).status, 200);
        sleep(Duration::from_millis(200)).await;
    }
    let mut rest = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it is closed").unwrap();
    assert_eq!(served.records().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_head_or_too_many_headers_are_answered_431() {
    let served = Served::start(json!({ "max_head_bytes": 8192 })).await;
    assert_eq!(served.send(post("{}").with("x-huge", "y".repeat(9_000))).await.status, 431);
    let many = (0..200).fold(post("{}"), |ask, number| ask.with(&format!("x-{number}"), "1"));
    assert_eq!(served.send(many).await.status, 431);
    served.record_of(post("{}").with("x-large", "y".repeat(7_000))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_http_is_refused_and_the_next_one_is_served() {
    let served = Served::start(json!({})).await;
    for rubbish in [
        &b"\x16\x03\x01\x02\x00\x01"[..],
        b"GET\r\n\r\n",
        b"POST /topics/a HTTP/9.9\r\n\r\n",
        b"\r\n\r\n\r\n\0",
    ] {
        let mut stream = TcpStream::connect(served.open.address).await.unwrap();
        stream.write_all(rubbish).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut said = Vec::new();
        let _ = timeout(PATIENCE, stream.read_to_end(&mut said)).await.expect("it is closed");
        assert_ne!(reply(&said).status, 200);
    }
    // Two lengths: one for the proxy before us, one for us.
    let smuggling = post("{}").with("content-length", "2").with("transfer-encoding", "chunked");
    assert_ne!(served.send(smuggling).await.status, 200);
    served.record_of(post("{}")).await;
    assert_eq!(served.records().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connection_too_many_is_told_so_and_the_next_is_served_once_there_is_room() {
    let served = Served::start(json!({ "max_connections": 1, "header_timeout": "10m" })).await;
    let mut first = TcpStream::connect(served.open.address).await.unwrap();
    first.write_all(b"POST ").await.unwrap();
    // Until the first one was accepted, the other may still be.
    let mut status = 0;
    while status != 503 {
        status = served.send(post("{}")).await.status;
    }
    drop(first);
    while served.send(post("{}")).await.status != 200 {
        sleep(Duration::from_millis(5)).await;
    }
}

/// Few enough for one test process; the kill stories try two thousand against the daemon.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_slow_connections_are_cut_and_a_good_post_is_served_b109() {
    let served = Served::start(json!({ "header_timeout": "500ms", "max_connections": 150 })).await;
    let mut dripping = JoinSet::new();
    for _ in 0..100 {
        let stream = TcpStream::connect(served.open.address).await.unwrap();
        dripping.spawn(drip(stream, endless_head()));
    }
    served.record_of(post("{}")).await;
    let cut = async { while dripping.join_next().await.is_some() {} };
    timeout(PATIENCE, cut).await.expect("all of them are cut");
    served.record_of(post("{}")).await;
    assert_eq!(served.records().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_read_by_a_sender_that_is_still_sending() {
    let source = open(json!({ "auth_bearer_token": "x", "schema": "text" })).await;
    for _ in 0..20 {
        assert_eq!(source.send(post("x".repeat(100_000))).await.status, 401);
    }
}
