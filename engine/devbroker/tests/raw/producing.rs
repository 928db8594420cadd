//! What is taken, what is refused, and that nothing is in the log twice.

use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::TransactionalId;
use pico_devbroker::Config;

use super::wire::{Client, From, batch, broker_with, plain, produce_request, scene, text, values};

const FROM: From = From { producer: 9, epoch: 0, sequence: 0 };

fn code(error: ResponseError) -> i16 {
    error.code()
}

#[tokio::test]
async fn records_get_running_offsets_and_come_out_as_they_went_in() {
    let (broker, mut client) = scene(&["t"]).await;

    assert_eq!(client.produce("t", plain(&["a", "b"])).await.base_offset, 0);
    assert_eq!(client.produce("t", plain(&["c"])).await.base_offset, 2);

    assert_eq!(values(&broker, "t"), ["a", "b", "c"]);
}

#[tokio::test]
async fn a_repeated_batch_is_answered_with_its_first_offset_and_not_appended() {
    let (broker, mut client) = scene(&["t"]).await;
    let first = batch(&["a", "b"], FROM);
    client.produce("t", plain(&["before"])).await;
    client.produce("t", first.clone()).await;
    client.produce("t", batch(&["c"], From { sequence: 2, ..FROM })).await;

    let again = client.produce("t", first).await;

    assert_eq!((again.error_code, again.base_offset), (0, 1));
    assert_eq!(values(&broker, "t"), ["before", "a", "b", "c"]);
}

#[tokio::test]
async fn a_gap_and_an_old_epoch_are_refused_and_leave_no_trace() {
    let (broker, mut client) = scene(&["t"]).await;
    client.produce("t", batch(&["a"], FROM)).await;

    let gap = client.produce("t", batch(&["c"], From { sequence: 2, ..FROM })).await;
    client.produce("t", batch(&["A"], From { epoch: 1, ..FROM })).await;
    let old = client.produce("t", batch(&["b"], From { sequence: 1, ..FROM })).await;

    assert_eq!(gap.error_code, code(ResponseError::OutOfOrderSequenceNumber));
    assert_eq!(old.error_code, code(ResponseError::InvalidProducerEpoch));
    assert_eq!(values(&broker, "t"), ["a", "A"]);
}

#[tokio::test]
async fn what_is_not_one_good_batch_is_refused_by_its_own_code() {
    let (broker, mut client) = scene(&["t"]).await;
    let good = plain(&["a"]);
    let mut flipped = BytesMut::from(&good[..]);
    flipped[65] ^= 1;
    let mut old_format = BytesMut::from(&good[..]);
    old_format[16] = 1;
    let two = [&good[..], &good[..]].concat();

    for (bytes, error) in [
        (flipped.freeze(), ResponseError::CorruptMessage),
        (good.slice(..good.len() - 1), ResponseError::CorruptMessage),
        (Bytes::new(), ResponseError::CorruptMessage),
        (old_format.freeze(), ResponseError::UnsupportedForMessageFormat),
        (two.into(), ResponseError::InvalidRecord),
    ] {
        assert_eq!(client.produce("t", bytes).await.error_code, code(error));
    }
    assert_eq!(values(&broker, "t"), Vec::<String>::new());
}

#[tokio::test]
async fn a_batch_over_the_limit_is_too_large_and_the_connection_goes_on() {
    let broker = broker_with(Config { message_bytes_max: 1_000, ..Config::default() }, &["t"]).await;
    let mut client = Client::connect(broker.addr()).await;

    let refused = client.produce("t", plain(&[&"x".repeat(1_000)])).await;
    let taken = client.produce("t", plain(&[&"x".repeat(900)])).await;

    assert_eq!(refused.error_code, code(ResponseError::MessageTooLarge));
    assert_eq!(taken.error_code, 0);
}

#[tokio::test]
async fn unknown_topics_and_partitions_are_refused_and_not_created() {
    let (broker, mut client) = scene(&["t"]).await;
    let mut elsewhere = produce_request("t", plain(&["a"]));
    elsewhere.topic_data[0].partition_data[0].index = 1;

    let unknown = client.produce("none", plain(&["a"])).await.error_code;
    let response = client.call(8, &elsewhere).await;

    assert_eq!(unknown, code(ResponseError::UnknownTopicOrPartition));
    let elsewhere = &response.responses[0].partition_responses[0];
    assert_eq!(elsewhere.error_code, code(ResponseError::UnknownTopicOrPartition));
    assert_eq!(broker.handle().topics().len(), 1);
}

#[tokio::test]
async fn transactions_and_senseless_acks_are_refused() {
    let (broker, mut client) = scene(&["t"]).await;
    let request = produce_request("t", plain(&["a"]));

    let transactional = request.clone().with_transactional_id(Some(TransactionalId(text("x"))));
    let senseless = request.with_acks(2);
    for (request, error) in [
        (transactional, ResponseError::TransactionalIdAuthorizationFailed),
        (senseless, ResponseError::InvalidRequiredAcks),
    ] {
        let response = client.call(8, &request).await;
        assert_eq!(response.responses[0].partition_responses[0].error_code, code(error));
    }
    assert_eq!(values(&broker, "t"), Vec::<String>::new());
}

#[tokio::test]
async fn without_acknowledgement_success_is_silent_and_failure_closes() {
    let (broker, mut client) = scene(&["t"]).await;

    client.send(8, &produce_request("t", plain(&["a"])).with_acks(0)).await;
    assert_eq!(
        client.produce("t", plain(&["b"])).await.base_offset,
        1,
        "the next answer is the next request's"
    );
    client.send(8, &produce_request("none", plain(&["c"])).with_acks(0)).await;

    assert!(client.is_cut().await);
    assert_eq!(values(&broker, "t"), ["a", "b"]);
}
