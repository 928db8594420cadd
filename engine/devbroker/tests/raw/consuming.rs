//! Fetching: waiting, limits, the moving start; and reading without a client.

use std::time::{Duration, Instant};

use kafka_protocol::ResponseError;
use kafka_protocol::messages::FetchRequest;
use pico_devbroker::{Config, Error, TailEvent};

use super::wire::{Client, SOON, broker_with, fetch_request, only_partition, plain, scene};

fn patient(offset: i64, wait: Duration, bytes_min: i32) -> FetchRequest {
    fetch_request("t", offset).with_max_wait_ms(wait.as_millis() as i32).with_min_bytes(bytes_min)
}

#[tokio::test]
async fn a_waiting_fetch_is_answered_when_a_record_comes() {
    let (broker, mut consumer) = scene(&["t", "other"]).await;
    let mut producer = Client::connect(broker.addr()).await;
    consumer.send(11, &patient(0, SOON, 1)).await;

    producer.produce("other", plain(&["x"])).await;
    producer.produce("t", plain(&["a"])).await;

    let answer = only_partition(consumer.receive::<FetchRequest>(11).await.unwrap());
    assert_eq!(answer.high_watermark, 1);
    assert_eq!(answer.records.unwrap().len(), plain(&["a"]).len());
}

#[tokio::test]
async fn a_waiting_fetch_wants_enough_bytes() {
    let (broker, mut consumer) = scene(&["t"]).await;
    let mut producer = Client::connect(broker.addr()).await;
    let one = plain(&["a"]).len();
    consumer.send(11, &patient(0, SOON, one as i32 + 1)).await;

    producer.produce("t", plain(&["a"])).await;
    producer.produce("t", plain(&["b"])).await;

    let answer = only_partition(consumer.receive::<FetchRequest>(11).await.unwrap());
    assert_eq!(answer.records.unwrap().len(), 2 * one);
}

#[tokio::test]
async fn patience_ends_with_an_empty_answer() {
    let (_broker, mut client) = scene(&["t"]).await;
    let wait = Duration::from_millis(200);
    let started = Instant::now();

    let answer = only_partition(client.call(11, &patient(0, wait, 1)).await);

    assert!(started.elapsed() >= wait);
    assert_eq!((answer.error_code, answer.records.unwrap().len()), (0, 0));
}

#[tokio::test]
async fn a_deleted_topic_ends_the_wait() {
    let (broker, mut client) = scene(&["t"]).await;
    client.send(11, &patient(0, SOON, 1)).await;

    broker.handle().delete_topic("t").await.unwrap();

    let answer = only_partition(client.receive::<FetchRequest>(11).await.unwrap());
    assert_eq!(answer.error_code, ResponseError::UnknownTopicOrPartition.code());
}

#[tokio::test]
async fn one_batch_comes_even_if_it_is_larger_than_asked_for_but_no_second() {
    let (_broker, mut client) = scene(&["t"]).await;
    client.produce("t", plain(&["a"])).await;
    client.produce("t", plain(&["b"])).await;

    let answer = only_partition(client.call(11, &fetch_request("t", 0).with_max_bytes(1)).await);

    assert_eq!(answer.records.unwrap().len(), plain(&["a"]).len());
}

#[tokio::test]
async fn dropped_offsets_are_out_of_range_and_the_start_is_told() {
    let size = plain(&["a"]).len() as u64;
    let broker = broker_with(Config { topic_bytes_max: 2 * size, ..Config::default() }, &["t"]).await;
    let mut client = Client::connect(broker.addr()).await;
    for _ in 0..5 {
        client.produce("t", plain(&["a"])).await;
    }

    let answer = client.fetch("t", 0).await;

    assert_eq!(answer.error_code, ResponseError::OffsetOutOfRange.code());
    assert_eq!((answer.log_start_offset, answer.high_watermark), (3, 5));
    let refused = broker.handle().records("t", 0, 1).unwrap_err();
    assert!(matches!(refused, Error::OffsetOutOfRange { start: 3, end: 5, .. }));
}

#[tokio::test]
async fn sessions_are_not_kept() {
    let (_broker, mut client) = scene(&["t"]).await;

    let response = client.call(11, &fetch_request("t", 0).with_session_id(5)).await;

    assert_eq!(response.error_code, ResponseError::FetchSessionIdNotFound.code());
}

#[tokio::test]
async fn a_tail_shows_new_records_of_all_topics() {
    let (broker, mut client) = scene(&["t", "u"]).await;
    client.produce("t", plain(&["before"])).await;
    let mut tail = broker.handle().subscribe();

    client.produce("u", plain(&["a"])).await;
    client.produce("t", plain(&["b"])).await;

    for (wanted_topic, wanted_offset) in [("u", 0), ("t", 1)] {
        let event = tokio::time::timeout(SOON, tail.next()).await.unwrap().unwrap();
        assert!(matches!(event, TailEvent::Record { topic, record }
            if topic == wanted_topic && record.offset == wanted_offset));
    }
    broker.shutdown().await;
    assert_eq!(tail.next().await, None);
}
