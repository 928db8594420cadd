//! Each fault as a client meets it, and that the deed was or was not done.

use std::time::{Duration, Instant};

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{ApiVersionsRequest, FetchRequest, MetadataRequest};
use pico_devbroker::{Api, FaultCounts};
use tokio::net::TcpStream;

use super::wire::{Client, SOON, fetch_request, plain, produce_request, scene, values};

#[tokio::test]
async fn append_then_cut_leaves_the_record_and_no_answer() {
    let (broker, mut client) = scene(&["t"]).await;
    broker.handle().faults().cut_every(2);
    client.produce("t", plain(&["1"])).await;

    let cut = client.try_call(8, &produce_request("t", plain(&["2"]))).await;

    assert!(cut.is_none());
    assert_eq!(values(&broker, "t"), ["1", "2"]);
    assert_eq!(broker.handle().faults().counts(), FaultCounts { cut: 1, ..FaultCounts::default() });
    let mut again = Client::connect(broker.addr()).await;
    assert_eq!(again.produce("t", plain(&["3"])).await.base_offset, 2);
}

#[tokio::test]
async fn a_failure_is_answered_and_nothing_done_so_many_times() {
    let (broker, mut client) = scene(&["t"]).await;
    let faults = broker.handle().faults().clone();
    faults.fail_next(Api::Produce, ResponseError::NotLeaderOrFollower, 2);

    let codes = [
        client.produce("t", plain(&["1"])).await.error_code,
        client.produce("t", plain(&["2"])).await.error_code,
        client.produce("t", plain(&["3"])).await.error_code,
    ];

    let moved = ResponseError::NotLeaderOrFollower.code();
    assert_eq!(codes, [moved, moved, 0]);
    assert_eq!(values(&broker, "t"), ["3"]);
}

#[tokio::test]
async fn a_lie_is_answered_and_the_record_is_there() {
    let (broker, mut client) = scene(&["t"]).await;
    broker.handle().faults().fail_after_append(ResponseError::NotEnoughReplicasAfterAppend, 1);

    let answer = client.produce("t", plain(&["1"])).await;

    assert_eq!(answer.error_code, ResponseError::NotEnoughReplicasAfterAppend.code());
    assert_eq!(values(&broker, "t"), ["1"]);
}

#[tokio::test]
async fn other_apis_can_be_made_to_fail() {
    let (broker, mut client) = scene(&["t"]).await;
    let faults = broker.handle().faults().clone();
    faults.fail_next(Api::Metadata, ResponseError::LeaderNotAvailable, 1);
    faults.fail_next(Api::Fetch, ResponseError::UnknownServerError, 2);
    faults.fail_next(Api::ApiVersions, ResponseError::UnknownServerError, 1);

    let metadata = client.call(8, &MetadataRequest::default().with_topics(None)).await;
    let new_fetch = client.call(11, &fetch_request("t", 0)).await;
    let old_fetch = client.call(4, &fetch_request("t", 0)).await;
    let versions = client.call(3, &ApiVersionsRequest::default()).await;

    assert_eq!(metadata.topics[0].error_code, ResponseError::LeaderNotAvailable.code());
    assert_eq!(new_fetch.error_code, ResponseError::UnknownServerError.code());
    assert_eq!(old_fetch.responses[0].partitions[0].error_code, ResponseError::UnknownServerError.code());
    assert_eq!(versions.error_code, ResponseError::UnknownServerError.code());
    assert_eq!(faults.counts().failed, 4);
}

#[tokio::test]
async fn a_slow_broker_answers_late() {
    let (broker, mut client) = scene(&["t"]).await;
    let delay = Duration::from_millis(200);
    broker.handle().faults().delay_answers(delay);
    let started = Instant::now();

    client.produce("t", plain(&["1"])).await;

    assert!(started.elapsed() >= delay);
    assert_eq!(broker.handle().faults().counts().delayed, 1);
}

#[tokio::test]
async fn a_swallowed_answer_never_comes_though_the_deed_is_done() {
    let (broker, mut client) = scene(&["t"]).await;
    let faults = broker.handle().faults().clone();
    faults.swallow_answers(true);
    client.send(8, &produce_request("t", plain(&["1"]))).await;
    while faults.counts().swallowed == 0 {
        tokio::task::yield_now().await;
    }
    faults.swallow_answers(false);

    assert_eq!(
        client.produce("t", plain(&["2"])).await.base_offset,
        1,
        "the next answer is the next request's"
    );
    assert_eq!(values(&broker, "t"), ["1", "2"]);
}

#[tokio::test]
async fn a_broker_that_goes_down_cuts_what_is_open_and_takes_nobody_in() {
    let (broker, mut open) = scene(&["t"]).await;
    let mut waiting = Client::connect(broker.addr()).await;
    waiting
        .send(11, &fetch_request("t", 0).with_max_wait_ms(SOON.as_millis() as i32).with_min_bytes(1))
        .await;
    open.produce("t", plain(&["1"])).await;
    waiting.receive::<FetchRequest>(11).await.unwrap();

    let faults = broker.handle().faults().clone();
    faults.take_down();
    assert!(open.is_cut().await);
    assert!(waiting.is_cut().await);
    assert!(Client::connect(broker.addr()).await.is_cut().await);

    faults.bring_up();
    let mut again = Client::connect(broker.addr()).await;
    assert_eq!(again.produce("t", plain(&["2"])).await.base_offset, 1);
    assert_eq!(faults.counts().refused, 3);
}

#[tokio::test]
async fn a_broker_down_for_a_while_comes_back_by_itself() {
    let (broker, mut open) = scene(&["t"]).await;
    let period = Duration::from_millis(300);
    broker.handle().faults().take_down_for(period);
    let started = Instant::now();
    assert!(open.is_cut().await);

    loop {
        let stream = TcpStream::connect(broker.addr()).await.unwrap();
        drop(stream);
        let mut client = Client::connect(broker.addr()).await;
        if client.try_call(8, &produce_request("t", plain(&["1"]))).await.is_some() {
            break;
        }
    }

    assert!(started.elapsed() >= period);
}

#[tokio::test]
async fn a_full_topic_refuses_and_the_others_do_not() {
    let (broker, mut client) = scene(&["full", "free"]).await;
    broker.handle().faults().fill_up("full", Some(0));

    assert_eq!(
        client.produce("full", plain(&["1"])).await.error_code,
        ResponseError::KafkaStorageError.code()
    );
    assert_eq!(client.produce("free", plain(&["1"])).await.error_code, 0);
}

#[tokio::test]
async fn clients_are_sent_where_they_are_told() {
    let (broker, mut client) = scene(&["t"]).await;
    let proxy = "127.0.0.1:4711".parse().unwrap();

    broker.handle().advertise(Some(proxy));

    let response = client.call(8, &MetadataRequest::default().with_topics(None)).await;
    assert_eq!((response.brokers[0].host.as_str(), response.brokers[0].port), ("127.0.0.1", 4711));
}
