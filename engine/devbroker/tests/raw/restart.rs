//! With a data folder: what was acknowledged is there after a restart.

use std::path::Path;

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::{GroupId, InitProducerIdRequest, OffsetCommitRequest, OffsetFetchRequest};
use pico_devbroker::{Config, Error};

use super::wire::{Client, From, batch, broker_with, name, plain, text, values};

fn config(folder: &Path) -> Config {
    Config { data: Some(folder.to_owned()), ..Config::default() }
}

async fn new_producer(client: &mut Client) -> i64 {
    client.call(1, &InitProducerIdRequest::default().with_transactional_id(None)).await.producer_id.0
}

#[tokio::test]
async fn records_and_sequences_go_on_where_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let broker = broker_with(config(folder.path()), &["t"]).await;
    let mut client = Client::connect(broker.addr()).await;
    let producer = new_producer(&mut client).await;
    let from = |sequence| From { producer, epoch: 0, sequence };
    client.produce("t", batch(&["a", "b"], from(0))).await;
    broker.shutdown().await;

    let broker = broker_with(config(folder.path()), &[]).await;
    let mut client = Client::connect(broker.addr()).await;
    let repeated = client.produce("t", batch(&["a", "b"], from(0))).await;
    let next = client.produce("t", batch(&["c"], from(2))).await;

    assert_eq!((repeated.error_code, repeated.base_offset), (0, 0));
    assert_eq!((next.error_code, next.base_offset), (0, 2));
    assert_eq!(values(&broker, "t"), ["a", "b", "c"]);
    assert!(new_producer(&mut client).await > producer, "ids are never given twice");
}

#[tokio::test]
async fn a_broker_that_was_dropped_without_a_word_lost_nothing_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let broker = broker_with(config(folder.path()), &["t", "deleted"]).await;
    let mut client = Client::connect(broker.addr()).await;
    for value in ["1", "2", "3"] {
        client.produce("t", plain(&[value])).await;
    }
    broker.handle().delete_topic("deleted").await.unwrap();
    drop(broker);

    let broker = loop {
        // The folder is free once the last connection of the first broker has ended.
        match pico_devbroker::start(config(folder.path())).await {
            Ok(broker) => break broker,
            Err(Error::DataInUse { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };

    assert_eq!(values(&broker, "t"), ["1", "2", "3"]);
    assert_eq!(broker.handle().topics().len(), 1);
}

#[tokio::test]
async fn two_brokers_do_not_share_a_folder_and_a_stopped_one_lets_go() {
    let folder = tempfile::tempdir().unwrap();
    let first = broker_with(config(folder.path()), &["t"]).await;
    let handle = first.handle();

    assert!(matches!(pico_devbroker::start(config(folder.path())).await, Err(Error::DataInUse { .. })));
    first.shutdown().await;

    let second = broker_with(config(folder.path()), &[]).await;
    assert!(second.handle().topic("t").is_ok());
    assert!(handle.topic("t").is_ok(), "the handle of the first still reads");
}

fn commit_request(topic: &str, offset: i64) -> OffsetCommitRequest {
    let partition = OffsetCommitRequestPartition::default().with_committed_offset(offset);
    let topic = OffsetCommitRequestTopic::default().with_name(name(topic)).with_partitions(vec![partition]);
    OffsetCommitRequest::default()
        .with_group_id(GroupId(text("g")))
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![topic])
}

async fn committed(client: &mut Client, topic: &str) -> i64 {
    let topic = OffsetFetchRequestTopic::default().with_name(name(topic)).with_partition_indexes(vec![0]);
    let request =
        OffsetFetchRequest::default().with_group_id(GroupId(text("g"))).with_topics(Some(vec![topic]));
    client.call(5, &request).await.topics[0].partitions[0].committed_offset
}

#[tokio::test]
async fn groups_resume_but_not_in_a_topic_that_was_deleted_in_between() {
    let folder = tempfile::tempdir().unwrap();
    let broker = broker_with(config(folder.path()), &["kept", "reset"]).await;
    let mut client = Client::connect(broker.addr()).await;
    for (topic, offset) in [("kept", 1), ("reset", 2), ("kept", 3)] {
        let response = client.call(6, &commit_request(topic, offset)).await;
        assert_eq!(response.topics[0].partitions[0].error_code, 0);
    }
    broker.handle().reset_topic("reset").await.unwrap();
    broker.shutdown().await;

    for _ in 0..2 {
        let broker = broker_with(config(folder.path()), &[]).await;
        let mut client = Client::connect(broker.addr()).await;
        assert_eq!(committed(&mut client, "kept").await, 3);
        assert_eq!(committed(&mut client, "reset").await, -1);
        broker.shutdown().await;
    }
}

#[tokio::test]
async fn many_clients_at_once_leave_a_log_without_gap_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let broker = broker_with(config(folder.path()), &["t"]).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let address = broker.addr();
        tasks.spawn(async move {
            let mut client = Client::connect(address).await;
            for _ in 0..25 {
                assert_eq!(client.produce("t", plain(&["x", "y"])).await.error_code, 0);
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    broker.shutdown().await;

    let broker = broker_with(config(folder.path()), &[]).await;

    assert_eq!(broker.handle().topic("t").unwrap().end, 400);
    assert_eq!(values(&broker, "t").len(), 400);
}
