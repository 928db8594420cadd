//! Topics: made, refused, made by asking, deleted, reset.

use std::collections::BTreeMap;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{BrokerId, CreateTopicsRequest, MetadataRequest};
use pico_devbroker::{Config, Error};

use super::wire::{Client, From, batch, broker_with, name, plain, scene, text, values};

fn topic(topic: &str, partitions: i32, replicas: i16) -> CreatableTopic {
    CreatableTopic::default()
        .with_name(name(topic))
        .with_num_partitions(partitions)
        .with_replication_factor(replicas)
}

async fn create(client: &mut Client, topics: Vec<CreatableTopic>) -> BTreeMap<String, Option<ResponseError>> {
    let response = client.call(4, &CreateTopicsRequest::default().with_topics(topics)).await;
    let error = |code| ResponseError::try_from_code(code);
    response.topics.into_iter().map(|topic| (topic.name.to_string(), error(topic.error_code))).collect()
}

#[tokio::test]
async fn each_topic_of_one_request_is_judged_by_itself() {
    let (broker, mut client) = scene(&["there", "dotted.name"]).await;

    let answers = create(
        &mut client,
        vec![
            topic("good", 1, 1),
            topic("default", -1, -1),
            topic("there", 1, 1),
            topic("wide", 2, 1),
            topic("none", 0, 1),
            topic("safe", 1, 2),
            topic("bad/name", 1, 1),
            topic("dotted_name", 1, 1),
            topic("twice", 1, 1),
            topic("twice", 1, 1),
        ],
    )
    .await;

    let expected = [
        ("good", None),
        ("default", None),
        ("there", Some(ResponseError::TopicAlreadyExists)),
        ("wide", Some(ResponseError::InvalidPartitions)),
        ("none", Some(ResponseError::InvalidPartitions)),
        ("safe", Some(ResponseError::InvalidReplicationFactor)),
        ("bad/name", Some(ResponseError::InvalidTopicException)),
        ("dotted_name", Some(ResponseError::InvalidTopicException)),
        ("twice", Some(ResponseError::InvalidRequest)),
    ];
    for (topic, error) in expected {
        assert_eq!(answers[topic], error, "{topic}");
    }
    let names: Vec<String> = broker.handle().topics().into_iter().map(|topic| topic.name).collect();
    assert_eq!(names, ["default", "dotted.name", "good", "there"]);
}

#[tokio::test]
async fn assignments_may_only_name_this_broker() {
    let (_broker, mut client) = scene(&[]).await;
    let assigned = |topic_name: &str, index: i32, broker: i32| {
        let assignment = CreatableReplicaAssignment::default()
            .with_partition_index(index)
            .with_broker_ids(vec![BrokerId(broker)]);
        topic(topic_name, -1, -1).with_assignments(vec![assignment])
    };

    let answers = create(
        &mut client,
        vec![assigned("good", 0, 1), assigned("other-broker", 0, 2), assigned("second", 1, 1)],
    )
    .await;

    assert_eq!(answers["good"], None);
    assert_eq!(answers["other-broker"], Some(ResponseError::InvalidReplicaAssignment));
    assert_eq!(answers["second"], Some(ResponseError::InvalidReplicaAssignment));
}

#[tokio::test]
async fn a_topics_own_limit_is_obeyed_and_an_unknown_setting_refused() {
    let (_broker, mut client) = scene(&[]).await;
    let with = |topic_name: &str, setting: &str| {
        let config = CreatableTopicConfig::default().with_name(text(setting)).with_value(Some(text("100")));
        topic(topic_name, 1, 1).with_configs(vec![config])
    };

    let answers =
        create(&mut client, vec![with("small", "max.message.bytes"), with("typo", "max.mesage.bytes")]).await;

    assert_eq!(answers["typo"], Some(ResponseError::InvalidConfig));
    let refused = client.produce("small", plain(&[&"x".repeat(100)])).await;
    assert_eq!(refused.error_code, ResponseError::MessageTooLarge.code());
}

#[tokio::test]
async fn a_rehearsal_creates_nothing() {
    let (broker, mut client) = scene(&[]).await;
    let request = CreateTopicsRequest::default().with_topics(vec![topic("t", 1, 1)]).with_validate_only(true);

    assert_eq!(client.call(4, &request).await.topics[0].error_code, 0);

    assert!(broker.handle().topics().is_empty());
}

#[tokio::test]
async fn asking_creates_a_topic_only_if_both_sides_want_that() {
    for (broker_wants, client_wants) in [(true, true), (true, false), (false, true)] {
        let broker = broker_with(Config { auto_create: broker_wants, ..Config::default() }, &[]).await;
        let mut client = Client::connect(broker.addr()).await;
        let wanted = MetadataRequestTopic::default().with_name(Some(name("t")));
        let request = MetadataRequest::default()
            .with_topics(Some(vec![wanted]))
            .with_allow_auto_topic_creation(client_wants);

        let answer = client.call(8, &request).await.topics[0].error_code;

        let is_created = broker_wants && client_wants;
        assert_eq!(answer == 0, is_created, "broker {broker_wants}, client {client_wants}");
        assert_eq!(broker.handle().topic("t").is_ok(), is_created);
    }
}

#[tokio::test]
async fn a_reset_topic_is_empty_new_and_knows_no_producer() {
    let (broker, mut client) = scene(&["t"]).await;
    let handle = broker.handle();
    let from = |sequence| From { producer: 1, epoch: 0, sequence };
    client.produce("t", batch(&["a"], from(0))).await;
    let before = handle.topic("t").unwrap().id;

    handle.reset_topic("t").await.unwrap();

    assert_ne!(handle.topic("t").unwrap().id, before);
    let running_on = client.produce("t", batch(&["b"], from(1))).await;
    assert_eq!(running_on.error_code, ResponseError::OutOfOrderSequenceNumber.code());
    client.produce("t", batch(&["again"], from(0))).await;
    assert_eq!(values(&broker, "t"), ["again"]);
    assert!(matches!(handle.reset_topic("none").await, Err(Error::UnknownTopic { .. })));
}
