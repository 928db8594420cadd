//! Every offered version of every API can be asked and is answered. The codec refuses an answer with a field that its
//! version does not have, so each is driven once with everything filled in.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::*;
use pico_devbroker::Api;

use super::wire::{Client, fetch_request, name, plain, produce_request, scene, text};

/// First and last offered version of an API, as the broker tells.
async fn offered(client: &mut Client, key: ApiKey) -> std::ops::RangeInclusive<i16> {
    let response = client.call(3, &ApiVersionsRequest::default()).await;
    let found = response.api_keys.into_iter().find(|api| api.api_key == key as i16).expect("offered");
    found.min_version..=found.max_version
}

#[tokio::test]
async fn all_apis_are_offered_and_metadata_does_not_end_at_nine() {
    let (_broker, mut client) = scene(&[]).await;

    let response = client.call(0, &ApiVersionsRequest::default()).await;

    assert_eq!(response.api_keys.len(), Api::ALL.len());
    assert_eq!(*offered(&mut client, ApiKey::Metadata).await.end(), 8);
}

#[tokio::test]
async fn a_client_too_new_is_told_the_versions_in_the_oldest_form() {
    let (_broker, mut client) = scene(&[]).await;

    client.send(4, &ApiVersionsRequest::default()).await;
    let response = client.receive::<ApiVersionsRequest>(0).await.unwrap();

    assert_eq!(response.error_code, ResponseError::UnsupportedVersion.code());
    assert_eq!(response.api_keys.len(), Api::ALL.len());
    assert_eq!(client.call(3, &ApiVersionsRequest::default()).await.error_code, 0, "and may go on");
}

#[tokio::test]
async fn producing_and_fetching_work_in_every_version() {
    let (_broker, mut client) = scene(&["t"]).await;

    for (index, version) in offered(&mut client, ApiKey::Produce).await.enumerate() {
        let response = client.call(version, &produce_request("t", plain(&["x"]))).await;
        let answer = &response.responses[0].partition_responses[0];
        assert_eq!((answer.error_code, answer.base_offset), (0, index as i64), "version {version}");
    }
    for version in offered(&mut client, ApiKey::Fetch).await {
        let good = client.call(version, &fetch_request("t", 0)).await;
        assert!(!good.responses[0].partitions[0].records.as_ref().unwrap().is_empty(), "version {version}");
        let beyond = client.call(version, &fetch_request("t", 99)).await;
        let code = ResponseError::OffsetOutOfRange.code();
        assert_eq!(beyond.responses[0].partitions[0].error_code, code, "version {version}");
    }
}

#[tokio::test]
async fn offsets_are_listed_in_every_version() {
    let (_broker, mut client) = scene(&["t"]).await;
    client.produce("t", plain(&["a", "b"])).await;

    for version in offered(&mut client, ApiKey::ListOffsets).await {
        for (timestamp, expected) in [(-1, 2), (-2, 0), (1_700_000_000_001, 1), (i64::MAX, -1)] {
            let partition = ListOffsetsPartition::default().with_timestamp(timestamp);
            let topic = ListOffsetsTopic::default().with_name(name("t")).with_partitions(vec![partition]);
            let response =
                client.call(version, &ListOffsetsRequest::default().with_topics(vec![topic])).await;
            assert_eq!(
                response.topics[0].partitions[0].offset, expected,
                "version {version}, time {timestamp}"
            );
        }
    }
}

#[tokio::test]
async fn metadata_names_broker_topics_and_faults_in_every_version() {
    let (broker, mut client) = scene(&["t"]).await;
    let wanted = |topic| MetadataRequestTopic::default().with_name(Some(name(topic)));
    let named =
        MetadataRequest::default().with_topics(Some(vec![wanted("t"), wanted("none"), wanted("bad name")]));

    for version in offered(&mut client, ApiKey::Metadata).await {
        let response = client.call(version, &named).await;
        assert_eq!(response.brokers[0].port, i32::from(broker.addr().port()));
        let answers: Vec<_> = response.topics.iter().map(|t| (t.error_code, t.partitions.len())).collect();
        let unknown = ResponseError::UnknownTopicOrPartition.code();
        let invalid = ResponseError::InvalidTopicException.code();
        assert_eq!(answers, [(0, 1), (unknown, 0), (invalid, 0)], "version {version}");

        let all = MetadataRequest::default().with_topics(if version == 0 { Some(Vec::new()) } else { None });
        assert_eq!(client.call(version, &all).await.topics.len(), 1, "version {version}");
        if version > 0 {
            let none = MetadataRequest::default().with_topics(Some(Vec::new()));
            assert_eq!(client.call(version, &none).await.topics.len(), 0, "version {version}");
        }
    }
}

#[tokio::test]
async fn administration_works_in_every_version() {
    let (_broker, mut client) = scene(&[]).await;

    for version in offered(&mut client, ApiKey::CreateTopics).await {
        let creatable = CreatableTopic::default().with_num_partitions(1).with_replication_factor(1);
        let good = creatable.clone().with_name(name(&format!("made-{version}")));
        let bad = creatable.with_name(name("bad name"));
        let response =
            client.call(version, &CreateTopicsRequest::default().with_topics(vec![good, bad])).await;
        let codes: Vec<i16> = response.topics.iter().map(|topic| topic.error_code).collect();
        assert_eq!(codes, [0, ResponseError::InvalidTopicException.code()], "version {version}");
    }
    for version in offered(&mut client, ApiKey::DescribeConfigs).await {
        let topic =
            DescribeConfigsResource::default().with_resource_type(2).with_resource_name(text("made-2"));
        let topic = topic.with_configuration_keys(None);
        let broker = topic.clone().with_resource_type(4).with_resource_name(text("1"));
        let request = DescribeConfigsRequest::default().with_resources(vec![topic, broker]);
        let response = client.call(version, &request).await;
        assert!(
            response.results.iter().all(|r| r.error_code == 0 && !r.configs.is_empty()),
            "version {version}"
        );
    }
    for version in offered(&mut client, ApiKey::DeleteTopics).await {
        let names = vec![name(&format!("made-{}", version + 1)), name("none")];
        let response = client.call(version, &DeleteTopicsRequest::default().with_topic_names(names)).await;
        let codes: Vec<i16> = response.responses.iter().map(|topic| topic.error_code).collect();
        assert_eq!(codes, [0, ResponseError::UnknownTopicOrPartition.code()], "version {version}");
    }
}

#[tokio::test]
async fn producer_ids_and_coordinators_are_found_in_every_version_and_transactions_refused() {
    let (broker, mut client) = scene(&[]).await;
    let refused = ResponseError::TransactionalIdAuthorizationFailed.code();
    let mut ids = Vec::new();

    for version in offered(&mut client, ApiKey::InitProducerId).await {
        let plain = InitProducerIdRequest::default().with_transactional_id(None);
        ids.push(client.call(version, &plain).await.producer_id.0);
        let transactional = plain.with_transactional_id(Some(TransactionalId(text("t"))));
        assert_eq!(client.call(version, &transactional).await.error_code, refused, "version {version}");
    }
    for version in offered(&mut client, ApiKey::FindCoordinator).await {
        let of_group = FindCoordinatorRequest::default().with_key(text("g"));
        let response = client.call(version, &of_group).await;
        assert_eq!(response.port, i32::from(broker.addr().port()), "version {version}");
        if version > 0 {
            let of_transaction = of_group.with_key_type(1);
            assert_eq!(client.call(version, &of_transaction).await.error_code, refused, "version {version}");
        }
    }

    ids.dedup();
    assert_eq!(ids.len(), 2, "each id is new");
}

#[tokio::test]
async fn a_group_lives_and_is_shown_in_every_version() {
    let (_broker, mut client) = scene(&["t"]).await;

    for version in offered(&mut client, ApiKey::JoinGroup).await {
        let group = GroupId(text(&format!("g{version}")));
        let (member, generation) = joined(&mut client, version, &group).await;
        // The others' last version is 2, and commits begin at 2.
        let version = version.min(2);
        let sync = SyncGroupRequest::default().with_group_id(group.clone()).with_member_id(text(&member));
        let sync = sync.with_generation_id(generation);
        assert_eq!(client.call(version, &sync).await.error_code, 0, "version {version}");
        let beat = HeartbeatRequest::default().with_group_id(group.clone()).with_member_id(text(&member));
        let beat = beat.with_generation_id(generation);
        assert_eq!(client.call(version, &beat).await.error_code, 0, "version {version}");
        let leave = LeaveGroupRequest::default().with_group_id(group.clone()).with_member_id(text(&member));
        assert_eq!(client.call(version, &leave).await.error_code, 0, "version {version}");
        assert_eq!(
            client.call(version, &leave).await.error_code,
            ResponseError::UnknownMemberId.code(),
            "version {version}"
        );
    }
}

/// Joins a group of its own, coming again with the id if told to.
async fn joined(client: &mut Client, version: i16, group: &GroupId) -> (String, i32) {
    let protocol = JoinGroupRequestProtocol::default().with_name(text("range"));
    let mut request = JoinGroupRequest::default()
        .with_group_id(group.clone())
        .with_session_timeout_ms(10_000)
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol]);
    if version > 0 {
        request = request.with_rebalance_timeout_ms(10_000);
    }
    let mut response = client.call(version, &request).await;
    if version >= 4 {
        assert_eq!(response.error_code, ResponseError::MemberIdRequired.code());
        response = client.call(version, &request.with_member_id(response.member_id)).await;
    }
    assert_eq!((response.error_code, response.members.len()), (0, 1), "version {version}");
    (response.member_id.to_string(), response.generation_id)
}

#[tokio::test]
async fn group_offsets_are_kept_and_shown_in_every_version() {
    let (_broker, mut client) = scene(&["t"]).await;
    let group = GroupId(text("g"));

    for version in offered(&mut client, ApiKey::OffsetCommit).await {
        let partition = OffsetCommitRequestPartition::default().with_committed_offset(version.into());
        let topic = OffsetCommitRequestTopic::default().with_name(name("t")).with_partitions(vec![partition]);
        let unknown = topic.clone().with_name(name("none"));
        let request = OffsetCommitRequest::default()
            .with_group_id(group.clone())
            .with_generation_id_or_member_epoch(-1)
            .with_topics(vec![topic, unknown]);
        let response = client.call(version, &request).await;
        let codes: Vec<i16> = response.topics.iter().map(|t| t.partitions[0].error_code).collect();
        assert_eq!(codes, [0, ResponseError::UnknownTopicOrPartition.code()], "version {version}");
    }
    for version in offered(&mut client, ApiKey::OffsetFetch).await {
        let topic =
            OffsetFetchRequestTopic::default().with_name(name("t")).with_partition_indexes(vec![0, 1]);
        let request =
            OffsetFetchRequest::default().with_group_id(group.clone()).with_topics(Some(vec![topic]));
        let response = client.call(version, &request).await;
        let offsets: Vec<i64> = response.topics[0].partitions.iter().map(|p| p.committed_offset).collect();
        assert_eq!(offsets, [6, -1], "version {version}");
        if version >= 2 {
            let all = client.call(version, &request.with_topics(None)).await;
            assert_eq!(all.topics[0].partitions[0].committed_offset, 6, "version {version}");
        }
    }
    for version in offered(&mut client, ApiKey::ListGroups).await {
        let response = client.call(version, &ListGroupsRequest::default()).await;
        assert_eq!(response.groups[0].group_id, group, "version {version}");
    }
    for version in offered(&mut client, ApiKey::DescribeGroups).await {
        let groups = vec![group.clone(), GroupId(text("none"))];
        let response = client.call(version, &DescribeGroupsRequest::default().with_groups(groups)).await;
        let states: Vec<_> = response.groups.iter().map(|group| group.group_state.to_string()).collect();
        assert_eq!(states, ["Empty", "Dead"], "version {version}");
    }
}
