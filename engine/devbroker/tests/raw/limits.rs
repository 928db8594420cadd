//! Hostile, broken and too many clients.

use std::time::Duration;

use bytes::BytesMut;
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, MetadataRequest, RequestHeader};
use kafka_protocol::protocol::Encodable;
use pico_devbroker::{Api, Config};
use tokio::io::AsyncWriteExt;

use super::wire::{Client, broker_with, plain, scene};

fn header(key: i16, version: i16) -> BytesMut {
    let header = RequestHeader::default()
        .with_request_api_key(key)
        .with_request_api_version(version)
        .with_correlation_id(1)
        .with_client_id(None);
    let mut bytes = BytesMut::new();
    header.encode(&mut bytes, 1).unwrap();
    bytes
}

#[tokio::test]
async fn counts_that_promise_more_than_there_is_are_cut_before_memory_is_reserved() {
    let (broker, _) = scene(&[]).await;
    let mut client = Client::connect(broker.addr()).await;
    let versions = client.call(0, &ApiVersionsRequest::default()).await.api_keys;

    for api in versions.iter().filter(|api| api.api_key != ApiKey::ApiVersions as i16) {
        for version in api.min_version..=api.max_version {
            let mut frame = header(api.api_key, version);
            frame.extend_from_slice(&[0x7f; 64]);
            let mut client = Client::connect(broker.addr()).await;
            client.send_frame(&frame).await;
            // ListGroups has no fields in the offered versions, so there is nothing to promise.
            if api.api_key == ApiKey::ListGroups as i16 {
                assert!(client.receive_frame().await.is_some());
            } else {
                assert!(client.is_cut().await, "API {} version {version}", api.api_key);
            }
        }
    }
    assert!(Client::connect(broker.addr()).await.try_call(0, &ApiVersionsRequest::default()).await.is_some());
}

#[tokio::test]
async fn what_is_no_kafka_is_cut() {
    let (broker, _) = scene(&[]).await;
    let unknown_api = header(999, 0);
    let unknown_version = header(ApiKey::Metadata as i16, 9);

    for bytes in [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc],
        vec![0xff; 8],
        vec![0, 0, 0, 0],
        vec![0, 0, 0, 3, 1, 2, 3],
        [&(unknown_api.len() as u32).to_be_bytes()[..], &unknown_api].concat(),
        [&(unknown_version.len() as u32).to_be_bytes()[..], &unknown_version].concat(),
    ] {
        let mut client = Client::connect(broker.addr()).await;
        client.send_bytes(&bytes).await;
        assert!(client.is_cut().await, "{bytes:?}");
    }
}

#[tokio::test]
async fn random_bytes_after_every_header_never_end_the_broker() {
    let (broker, _) = scene(&["t"]).await;
    let seed = std::env::var("PICO_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x5eed_u64);
    println!("PICO_TEST_SEED={seed}");
    let mut random = seed;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 56) as u8
    };

    for round in 0..40 {
        for key in (0..40).chain([999]) {
            let mut frame = header(key, i16::from(next() % 12));
            let small = round % 2 == 0;
            frame.extend((0..usize::from(next())).map(|_| if small { next() % 4 } else { next() }));
            let mut client = Client::connect(broker.addr()).await;
            client.send_frame(&frame).await;
            // Some are answered, some cut; the connection is closed either way so that nothing waits.
            drop(client);
        }
    }

    let mut client = Client::connect(broker.addr()).await;
    assert_eq!(client.produce("t", plain(&["alive"])).await.error_code, 0);
}

#[tokio::test]
async fn a_frame_can_be_answered_without_a_socket() {
    let (broker, _) = scene(&[]).await;
    let good = header(ApiKey::ListGroups as i16, 0).freeze();

    let answer = broker.handle().answer_frame(good.clone()).await.unwrap();

    assert_eq!(answer[4..8], 1_i32.to_be_bytes(), "the correlation id, after the length");
    for length in 0..good.len() {
        assert_eq!(broker.handle().answer_frame(good.slice(..length)).await, None);
    }
}

#[tokio::test]
async fn a_frame_over_the_limit_is_cut_at_its_announcement() {
    let broker = broker_with(Config { frame_bytes_max: 1_000, ..Config::default() }, &["t"]).await;
    let mut client = Client::connect(broker.addr()).await;
    assert_eq!(client.produce("t", plain(&[&"x".repeat(800)])).await.error_code, 0);

    client.send_bytes(&1_001_u32.to_be_bytes()).await;

    assert!(client.is_cut().await);
}

#[tokio::test]
async fn one_connection_too_many_is_closed_and_a_free_place_is_given_again() {
    let broker = broker_with(Config { connections_max: 2, ..Config::default() }, &[]).await;
    let mut clients = [Client::connect(broker.addr()).await, Client::connect(broker.addr()).await];
    for client in &mut clients {
        client.call(0, &ApiVersionsRequest::default()).await;
    }

    assert!(Client::connect(broker.addr()).await.is_cut().await);

    drop(clients);
    while Client::connect(broker.addr()).await.try_call(0, &ApiVersionsRequest::default()).await.is_none() {}
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let broker = broker_with(Config { idle_max: Duration::from_millis(100), ..Config::default() }, &[]).await;

    let mut silent = Client::connect(broker.addr()).await;
    let mut half = Client::connect(broker.addr()).await;
    half.send_bytes(&[0, 0, 0, 50, 1]).await;

    assert!(silent.is_cut().await);
    assert!(half.is_cut().await);
}

#[tokio::test]
async fn requests_sent_at_once_are_answered_in_order() {
    let (_broker, mut client) = scene(&["t"]).await;
    for _ in 0..50 {
        client.send(8, &MetadataRequest::default().with_topics(None)).await;
    }

    for correlation in 1..=50_i32 {
        let frame = client.receive_frame().await.unwrap();
        assert_eq!(frame[..4], correlation.to_be_bytes());
    }
}

#[test]
fn each_api_has_its_own_key() {
    let mut all = Api::ALL.to_vec();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), Api::ALL.len());
}

#[tokio::test]
async fn a_dropped_broker_frees_its_port() {
    let (broker, _client) = scene(&[]).await;
    let address = broker.addr();
    drop(broker);

    let config = Config { address, ..Config::default() };
    let again = loop {
        // The acceptor is told to end, not waited for.
        match pico_devbroker::start(config.clone()).await {
            Ok(broker) => break broker,
            Err(pico_devbroker::Error::Bind { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(again.addr(), address);
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(&[0]).await.unwrap();
}
