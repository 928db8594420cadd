//! confluent-kafka for Python, on a current librdkafka.

use std::time::Duration;

use pico_devbroker::{Api, ResponseError};
use serde_json::json;

use super::programs::{broker_with, numbers, python, values};

#[tokio::test]
async fn produced_records_are_consumed_in_order_by_a_group_that_resumes() {
    let broker = broker_with(&["t"]).await;

    let produced = python(&broker, &["produce", "t", "1000", "enable.idempotence=true"]).await;
    let first = python(&broker, &["consume", "t", "g", "400"]).await;
    let second = python(&broker, &["consume", "t", "g", "600"]).await;

    assert_eq!(produced, json!({"delivered": 1000, "failed": 0, "left": 0}));
    let read: Vec<_> =
        [first, second].iter().flat_map(|part| part["values"].as_array().unwrap().clone()).collect();
    assert_eq!(json!(read), json!(numbers(1_000)));
    let group = python(&broker, &["groups", "g"]).await;
    assert_eq!(group, json!({"listed": ["g"], "state": "EMPTY", "members": 0}));
}

#[tokio::test]
async fn two_members_share_and_one_takes_over() {
    let broker = broker_with(&["t"]).await;

    let shared = python(&broker, &["share", "t", "g"]).await;

    assert_eq!(shared, json!({"owners": 1, "taken_over": 1}));
}

#[tokio::test]
async fn topics_are_administered_with_the_right_codes() {
    let broker = broker_with(&[]).await;

    let answers = python(&broker, &["admin"]).await;

    let expected = json!({
        "good": "NO_ERROR",
        "again": "TOPIC_ALREADY_EXISTS",
        "partitions": "INVALID_PARTITIONS",
        "replicas": "INVALID_REPLICATION_FACTOR",
        "defaults": "NO_ERROR",
        "name": "TOPIC_EXCEPTION",
        "dotted": "NO_ERROR",
        "collision": "TOPIC_EXCEPTION",
        "config": "NO_ERROR",
        "bad_config": "INVALID_CONFIG",
        "deleted": "NO_ERROR",
        "gone": "UNKNOWN_TOPIC_OR_PART",
        "max.message.bytes": "2000",
        "topics": ["a.b", "plain", "tuned"],
    });
    assert_eq!(answers, expected);
}

#[tokio::test]
async fn watermarks_and_times_are_right() {
    let broker = broker_with(&["t"]).await;
    python(&broker, &["produce", "t", "100"]).await;
    let records = broker.handle().records("t", 0, 100).unwrap();
    let (first, last) = (records[0].timestamp_ms, records[99].timestamp_ms);
    let of_last = records.iter().find(|record| record.timestamp_ms == last).unwrap().offset;

    let (before, at_last, after) = ((first - 1).to_string(), last.to_string(), (last + 1).to_string());
    let answer = python(&broker, &["offsets", "t", &before, &at_last, &after]).await;

    const END: i64 = -1;
    assert_eq!(answer, json!({"low": 0, "high": 100, "found": [0, of_last, END]}));
}

#[tokio::test]
async fn transactions_are_refused_at_once_and_for_good() {
    let broker = broker_with(&[]).await;

    let answer = python(&broker, &["transaction"]).await;

    assert_eq!(answer["error"], "TRANSACTIONAL_ID_AUTHORIZATION_FAILED");
    assert!(answer["seconds"].as_f64().unwrap() < 20.0, "not after the client's own 60 s: {answer}");
}

#[tokio::test]
async fn a_broker_down_for_a_while_loses_and_repeats_nothing() {
    let broker = broker_with(&["t"]).await;
    let faults = broker.handle().faults().clone();
    let producing = python(&broker, &["produce", "t", "20000", "enable.idempotence=true"]);
    let disturbing = async {
        while broker.handle().topic("t").unwrap().end < 500 {
            tokio::task::yield_now().await;
        }
        faults.take_down_for(Duration::from_millis(1_500));
    };

    let (produced, ()) = tokio::join!(producing, disturbing);

    assert_eq!(produced["delivered"], 20_000);
    assert!(faults.counts().refused > 0, "it was down while records were on their way");
    assert_eq!(values(&broker, "t"), numbers(20_000));
}

#[tokio::test]
async fn a_refused_batch_is_not_overtaken_by_those_behind_it() {
    let broker = broker_with(&["t"]).await;
    let faults = broker.handle().faults().clone();
    // Slow answers and batches of one record, so that others are in flight behind the first: librdkafka counts what an
    // idempotent producer has in flight in records. The topic knows nothing of the producer.
    faults.delay_answers(Duration::from_millis(20));
    faults.fail_next(Api::Produce, ResponseError::NotEnoughReplicas, 1);

    let settings = ["enable.idempotence=true", "batch.num.messages=1"];
    let produced = python(&broker, &[&["produce", "t", "60"][..], &settings].concat()).await;

    assert_eq!((produced["delivered"].as_u64(), faults.counts().failed), (Some(60), 1));
    assert_eq!(values(&broker, "t"), numbers(60));
}

#[tokio::test]
async fn an_error_after_the_append_repeats_nothing() {
    let broker = broker_with(&["t"]).await;
    let faults = broker.handle().faults().clone();
    faults.fail_after_append(ResponseError::NotEnoughReplicasAfterAppend, 2);

    let produced = python(&broker, &["produce", "t", "300", "enable.idempotence=true"]).await;

    assert_eq!((produced["delivered"].as_u64(), faults.counts().failed), (Some(300), 2));
    assert_eq!(values(&broker, "t"), numbers(300));
}
