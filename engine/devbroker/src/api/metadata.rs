//! What clients ask first: which versions, which brokers, which topics, which coordinator.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{
    ApiVersionsRequest, ApiVersionsResponse, BrokerId, FindCoordinatorRequest, FindCoordinatorResponse,
    MetadataRequest, MetadataResponse, TopicName,
};

use super::call::{Call, code, text};
use crate::batch::LEADER_EPOCH;
use crate::error::CreateRefusal;
use crate::node::{CLUSTER_ID, NODE_ID, Node};
use crate::offered::{Api, Offer};
use crate::topic_settings::TopicSettings;
use crate::topics::check_name;

/// Versions from this on can say "no topic"; before, an empty list means all.
const EMPTY_IS_NONE_SINCE: i16 = 1;
/// Versions from this on tell the leader epoch; the codec refuses the field in older ones.
const LEADER_EPOCH_SINCE: i16 = 7;
const COORDINATOR_OF_GROUPS: i8 = 0;

/// The offered versions.
pub(super) fn api_versions(call: &Call<'_>, _request: ApiVersionsRequest) -> ApiVersionsResponse {
    offered(call.refuse)
}

/// The offered versions with an error beside them.
pub(super) fn offered(error: Option<ResponseError>) -> ApiVersionsResponse {
    let version = |api: Api| {
        let Offer { key, min, max } = api.offer();
        ApiVersion::default().with_api_key(key).with_min_version(min).with_max_version(max)
    };
    let versions = Api::ALL.into_iter().map(version).collect();
    ApiVersionsResponse::default().with_error_code(code(error)).with_api_keys(versions)
}

/// This broker and the topics asked for, created on the way if that is on.
pub(super) async fn metadata(call: &Call<'_>, request: MetadataRequest) -> MetadataResponse {
    let address = call.node.advertised(call.peer.local);
    let broker = MetadataResponseBroker::default()
        .with_node_id(BrokerId(NODE_ID))
        .with_host(text(address.ip().to_string()))
        .with_port(address.port().into());
    let may_create = call.node.config.auto_create && request.allow_auto_topic_creation;
    let answers = match wanted(call.version, request) {
        None => all_topics(call),
        Some(names) => {
            let mut answers = Vec::with_capacity(names.len());
            for name in names {
                answers.push(one_topic(call, name, may_create).await);
            }
            answers
        }
    };
    MetadataResponse::default()
        .with_brokers(vec![broker])
        .with_cluster_id(Some(text(CLUSTER_ID)))
        .with_controller_id(BrokerId(NODE_ID))
        .with_topics(answers)
}

/// The names asked for; `None` means all.
fn wanted(version: i16, request: MetadataRequest) -> Option<Vec<TopicName>> {
    let topics = request.topics?;
    if topics.is_empty() && version < EMPTY_IS_NONE_SINCE {
        return None;
    }
    Some(topics.into_iter().filter_map(|topic| topic.name).collect())
}

fn all_topics(call: &Call<'_>) -> Vec<MetadataResponseTopic> {
    let topics = call.node.topics.all();
    let name = |name: &str| TopicName(text(name));
    topics.iter().map(|topic| topic_answer(call.version, name(topic.name()), call.refuse)).collect()
}

async fn one_topic(call: &Call<'_>, name: TopicName, may_create: bool) -> MetadataResponseTopic {
    let error = match call.refuse {
        Some(error) => Some(error),
        None => find_or_create(call, name.to_string(), may_create).await.err(),
    };
    topic_answer(call.version, name, error)
}

async fn find_or_create(call: &Call<'_>, name: String, may_create: bool) -> Result<(), ResponseError> {
    if call.node.topics.get(&name).is_some() {
        return Ok(());
    }
    check_name(&name).map_err(|refusal| refusal.code())?;
    if !may_create {
        return Err(ResponseError::UnknownTopicOrPartition);
    }
    let create = move |node: &Node| node.topics.create(&name, TopicSettings::default()).map(|_| ());
    match call.node.blocking(create).await {
        // Another client was faster.
        Ok(()) | Err(CreateRefusal::Exists) => Ok(()),
        Err(refusal) => Err(refusal.code()),
    }
}

fn topic_answer(version: i16, name: TopicName, error: Option<ResponseError>) -> MetadataResponseTopic {
    let node = BrokerId(NODE_ID);
    let mut partition = MetadataResponsePartition::default()
        .with_leader_id(node)
        .with_replica_nodes(vec![node])
        .with_isr_nodes(vec![node]);
    if version >= LEADER_EPOCH_SINCE {
        partition = partition.with_leader_epoch(LEADER_EPOCH);
    }
    let partitions = if error.is_none() { vec![partition] } else { Vec::new() };
    MetadataResponseTopic::default()
        .with_error_code(code(error))
        .with_name(Some(name))
        .with_partitions(partitions)
}

/// This broker coordinates all groups and no transaction.
pub(super) fn find_coordinator(call: &Call<'_>, request: FindCoordinatorRequest) -> FindCoordinatorResponse {
    let is_group = request.key_type == COORDINATOR_OF_GROUPS;
    let refused = (!is_group).then_some(ResponseError::TransactionalIdAuthorizationFailed);
    let response = FindCoordinatorResponse::default();
    match call.refuse.or(refused) {
        Some(error) => response
            .with_error_code(error.code())
            .with_error_message((!is_group).then(|| text("the development broker has no transactions")))
            .with_node_id(BrokerId(-1))
            .with_port(-1),
        None => {
            let address = call.node.advertised(call.peer.local);
            response
                .with_node_id(BrokerId(NODE_ID))
                .with_host(text(address.ip().to_string()))
                .with_port(address.port().into())
        }
    }
}
