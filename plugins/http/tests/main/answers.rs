//! What is taken and what is not, and the record it makes.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::support::{Served, post};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_body_travels_byte_for_byte_with_key_id_and_headers() {
    let served = Served::start(json!({
        "key": "{header:X-Shop}/{field:order.id}", "id_header": "X-Delivery", "forward_headers": ["X-Shop", "X-Topic"],
    }))
    .await;
    let body = "{ \"order\" : {\"id\": 1.0},\t\"e\": \"\\u0061\" }\n";
    let ask =
        post(body).with("x-shop", "s1").with("X-Delivery", "d-1").with("x-topic", "t").with("X-Topic", "u");
    let record = served.record_of(ask).await;
    assert_eq!(record.payload, body.as_bytes());
    assert_eq!(record.key.as_deref(), Some(&b"s1/1.0"[..]));
    assert_eq!(record.id.as_deref(), Some("d-1"));
    let named = |name: &str| record.header(name).unwrap();
    assert_eq!(
        (named("picomq.http.source"), named("picomq.http.path")),
        ("bench".into(), "/topics/a".into())
    );
    assert!(named("picomq.http.remote_addr").starts_with("127.0.0.1:"));
    assert!(named("picomq.http.received_at").len() >= 16);
    let topics: Vec<_> = record.headers.iter().filter(|(name, _)| name == "x-topic").collect();
    assert_eq!(topics.len(), 2, "{:?}", record.headers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_metadata_a_record_is_the_body_alone() {
    let served = Served::start(json!({ "include_http_metadata": false })).await;
    let record = served.record_of(post("{}").with("x-other", "1")).await;
    assert_eq!((record.headers, record.key, record.id), (Vec::new(), None, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_is_refused_and_never_part_of_a_batch_b109() {
    let served = Served::start(json!({})).await;
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let cases = [
        (post("{\"a\": }"), 400),
        (post(&b"{\"a\": \"\xff\"}"[..]), 400),
        (post(""), 400),
        (post(deep), 400),
        (post("").method("GET"), 405),
        (post("{}").method("PUT"), 405),
        (post("{}").method("OPTIONS"), 405),
        (post("{}").to("/topics/b"), 404),
        (post("{}").to("/topics/a/"), 404),
        (post("{}").to("/"), 404),
        (post("{}").to("/e/0123456789abcdef0123456789abcdef"), 404),
        (post("{}").with("content-type", "text/html"), 415),
        (post("{}").with("content-encoding", "br"), 415),
        (post("no gzip").with("content-encoding", "gzip"), 400),
        (post("{}").with("origin", "http://localhost"), 403),
    ];
    for (ask, right) in cases {
        let reply = served.send(ask.clone()).await;
        assert_eq!(reply.status, right, "{} {}", ask.method, ask.path);
        assert!(!reply.head.contains("access-control-"), "{}", reply.head);
    }
    assert_eq!(served.record_of(post("{\"good\": 1}")).await.payload, b"{\"good\": 1}");
    assert_eq!(served.records().len(), 1);
    let answers = &served.open.status().await["answers"];
    assert_eq!((&answers["400"], &answers["405"], &answers["200"]), (&json!(5), &json!(3), &json!(1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_content_type_that_fits_is_taken_and_a_list_goes_before() {
    let served = Served::start(json!({})).await;
    for good in ["application/json", "Application/JSON; charset=utf-8", "application/cloudevents+json"] {
        served.record_of(post("{}").with("content-type", good)).await;
    }
    let served = Served::start(json!({ "schema": "text", "content_types": ["text/csv"] })).await;
    served.record_of(post("a,b").with("content-type", "text/csv; header=present")).await;
    assert_eq!(served.send(post("a,b").with("content-type", "text/plain")).await.status, 415);
    let served = Served::start(json!({ "schema": "raw" })).await;
    let record = served.record_of(post(&b"\xff\x00"[..]).with("content-type", "image/png")).await;
    assert_eq!(record.payload, b"\xff\x00");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gzip_is_taken_apart_up_to_the_limit_and_no_further() {
    let served = Served::start(json!({ "max_body_size_bytes": 10_000 })).await;
    let body = format!("\"{}\"", "x".repeat(9_000));
    let record = served.record_of(post(gzip(body.as_bytes())).with("content-encoding", "gzip")).await;
    assert_eq!(record.payload, body.as_bytes());
    let bomb = gzip(&vec![b' '; 9 << 20]);
    assert!(bomb.len() < 10_000);
    assert_eq!(served.send(post(bomb).with("content-encoding", "gzip")).await.status, 413);
    let served = Served::start(json!({ "gzip": false })).await;
    assert_eq!(served.send(post(gzip(b"{}")).with("content-encoding", "gzip")).await.status, 415);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_just_too_large_is_refused_however_its_length_is_told() {
    let served = Served::start(json!({ "max_body_size_bytes": 100, "schema": "text" })).await;
    let chunked = |bytes: usize| {
        let body = format!("{bytes:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(bytes));
        post(body).with("transfer-encoding", "chunked")
    };
    assert_eq!(served.record_of(post("x".repeat(100))).await.payload.len(), 100);
    assert_eq!(served.record_of(chunked(100)).await.payload.len(), 100);
    assert_eq!(served.send(post("x".repeat(101))).await.status, 413);
    assert_eq!(served.send(chunked(101)).await.status, 413);
    let lying = post("x").with("content-length", "99999999999999999999");
    assert_eq!(served.send(lying).await.status, 400);
}

/// The kit's engine takes records of 1,000,000 bytes, the default of the key is more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_the_engine_could_not_deliver_is_refused_at_the_door() {
    let served = Served::start(json!({ "schema": "text" })).await;
    let sent = served.send(post("x".repeat(1_000_000))).await;
    assert_eq!(sent.status, 413);
    // The body fits, but not with a long header beside it.
    let served = Served::start(json!({ "schema": "text", "forward_headers": ["x-long"] })).await;
    let body = "x".repeat(995_000);
    assert_eq!(served.send(post(body.clone()).with("x-long", "y".repeat(20_000))).await.status, 413);
    assert_eq!(served.record_of(post(body)).await.payload.len(), 995_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_health_check_needs_no_token_and_says_how_it_stands() {
    let served = Served::start(json!({ "auth_bearer_token": "t" })).await;
    let ask = post("").method("GET").to("/health");
    assert_eq!(served.send(ask).await.status, 200);
}
