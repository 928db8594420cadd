//! CreateTopics, DeleteTopics and DescribeConfigs.

use std::collections::BTreeMap;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult,
};
use kafka_protocol::messages::{
    CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse,
    DescribeConfigsRequest, DescribeConfigsResponse, TopicName,
};

use super::call::{Call, code, text};
use crate::node::{NODE_ID, Node};
use crate::topic::Topic;
use crate::topic_settings::TopicSettings;

/// "As the broker thinks best", for partitions and replicas.
const DEFAULT: i32 = -1;
const TOPIC_RESOURCE: i8 = 2;
const BROKER_RESOURCE: i8 = 4;
const SOURCE_TOPIC: i8 = 1;
const SOURCE_STATIC_BROKER: i8 = 4;
const SOURCE_DEFAULT: i8 = 5;

struct Refusal {
    error: ResponseError,
    message: Option<String>,
}

impl Refusal {
    fn new(error: ResponseError, message: impl Into<String>) -> Self {
        Self { error, message: Some(message.into()) }
    }
}

impl From<crate::error::CreateRefusal> for Refusal {
    fn from(refusal: crate::error::CreateRefusal) -> Self {
        Self::new(refusal.code(), refusal.to_string())
    }
}

/// Creates topics of one partition.
pub(super) async fn create_topics(call: &Call<'_>, request: CreateTopicsRequest) -> CreateTopicsResponse {
    let refuse = call.refuse;
    let is_rehearsal = request.validate_only;
    let mut counts: BTreeMap<TopicName, usize> = BTreeMap::new();
    for topic in &request.topics {
        *counts.entry(topic.name.clone()).or_default() += 1;
    }
    let work = move |node: &Node| -> Vec<CreatableTopicResult> {
        let answer = |topic: CreatableTopic| {
            let created = match refuse {
                Some(error) => Err(Refusal { error, message: None }),
                None if counts[&topic.name] > 1 => Err(Refusal::new(
                    ResponseError::InvalidRequest,
                    "the topic is named twice in one request",
                )),
                None => create(node, &topic, is_rehearsal),
            };
            create_answer(topic.name, created)
        };
        request.topics.into_iter().map(answer).collect()
    };
    CreateTopicsResponse::default().with_topics(call.node.blocking(work).await)
}

fn create_answer(name: TopicName, created: Result<(), Refusal>) -> CreatableTopicResult {
    let result = CreatableTopicResult::default().with_name(name);
    match created {
        Ok(()) => result,
        Err(Refusal { error, message }) => {
            result.with_error_code(error.code()).with_error_message(message.map(text))
        }
    }
}

fn create(node: &Node, topic: &CreatableTopic, is_rehearsal: bool) -> Result<(), Refusal> {
    let name = topic.name.as_str();
    node.topics.may_create(name)?;
    check_layout(topic)?;
    let mut entries = BTreeMap::new();
    for config in &topic.configs {
        if let Some(value) = &config.value {
            entries.insert(config.name.to_string(), value.to_string());
        }
    }
    let settings = TopicSettings::check(entries)?;
    if !is_rehearsal {
        node.topics.create(name, settings)?;
    }
    Ok(())
}

fn check_layout(topic: &CreatableTopic) -> Result<(), Refusal> {
    if !topic.assignments.is_empty() {
        return check_assignments(topic);
    }
    if !matches!(topic.num_partitions, DEFAULT | 1) {
        let message = "the development broker has one partition a topic";
        return Err(Refusal::new(ResponseError::InvalidPartitions, message));
    }
    if !matches!(i32::from(topic.replication_factor), DEFAULT | 1) {
        let message = "there is one broker, so the replication factor can only be 1";
        return Err(Refusal::new(ResponseError::InvalidReplicationFactor, message));
    }
    Ok(())
}

fn check_assignments(topic: &CreatableTopic) -> Result<(), Refusal> {
    if topic.num_partitions != DEFAULT || i32::from(topic.replication_factor) != DEFAULT {
        let message = "assignments go without partitions and replication factor";
        return Err(Refusal::new(ResponseError::InvalidRequest, message));
    }
    match topic.assignments.as_slice() {
        [only] if only.partition_index == 0 && only.broker_ids.iter().all(|id| *id == NODE_ID) => Ok(()),
        _ => {
            let message = "the only assignment there can be is partition 0 to broker 1";
            Err(Refusal::new(ResponseError::InvalidReplicaAssignment, message))
        }
    }
}

/// Deletes topics with their records.
pub(super) async fn delete_topics(call: &Call<'_>, request: DeleteTopicsRequest) -> DeleteTopicsResponse {
    let refuse = call.refuse;
    let work = move |node: &Node| -> Vec<DeletableTopicResult> {
        let answer = |name: TopicName| {
            let error = refuse.or_else(|| node.delete_topic(&name).err());
            DeletableTopicResult::default().with_name(Some(name)).with_error_code(code(error))
        };
        request.topic_names.into_iter().map(answer).collect()
    };
    DeleteTopicsResponse::default().with_responses(call.node.blocking(work).await)
}

/// Shows the settings of topics and of the broker.
pub(super) fn describe_configs(call: &Call<'_>, request: DescribeConfigsRequest) -> DescribeConfigsResponse {
    let answer = |resource: DescribeConfigsResource| {
        let result = DescribeConfigsResult::default()
            .with_resource_type(resource.resource_type)
            .with_resource_name(resource.resource_name.clone());
        match describe(call, &resource) {
            Err(error) => result.with_error_code(error.code()),
            Ok(mut configs) => {
                if let Some(keys) = &resource.configuration_keys {
                    configs.retain(|config| keys.contains(&config.name));
                }
                result.with_configs(configs)
            }
        }
    };
    DescribeConfigsResponse::default().with_results(request.resources.into_iter().map(answer).collect())
}

fn describe(
    call: &Call<'_>,
    resource: &DescribeConfigsResource,
) -> Result<Vec<DescribeConfigsResourceResult>, ResponseError> {
    if let Some(error) = call.refuse {
        return Err(error);
    }
    match resource.resource_type {
        TOPIC_RESOURCE => {
            let topic = call.node.topics.get(&resource.resource_name);
            Ok(topic_configs(&*topic.ok_or(ResponseError::UnknownTopicOrPartition)?))
        }
        BROKER_RESOURCE if resource.resource_name.as_str() == NODE_ID.to_string() => {
            Ok(broker_configs(call.node))
        }
        _ => Err(ResponseError::InvalidRequest),
    }
}

fn topic_configs(topic: &Topic) -> Vec<DescribeConfigsResourceResult> {
    let own = topic.settings().entries();
    let effective = [
        ("cleanup.policy", "delete".to_owned()),
        ("max.message.bytes", topic.message_bytes_max().to_string()),
        ("retention.bytes", topic.bytes_max().to_string()),
    ];
    let defaults = effective.into_iter().filter(|(name, _)| !own.contains_key(*name));
    let own = own.iter().map(|(name, value)| config(name, value.clone(), SOURCE_TOPIC));
    own.chain(defaults.map(|(name, value)| config(name, value, SOURCE_DEFAULT))).collect()
}

fn broker_configs(node: &Node) -> Vec<DescribeConfigsResourceResult> {
    let settings = &node.config;
    vec![
        config("auto.create.topics.enable", settings.auto_create.to_string(), SOURCE_STATIC_BROKER),
        config("default.replication.factor", "1".to_owned(), SOURCE_STATIC_BROKER),
        config("log.retention.bytes", settings.topic_bytes_max.to_string(), SOURCE_STATIC_BROKER),
        config("message.max.bytes", settings.message_bytes_max.to_string(), SOURCE_STATIC_BROKER),
        config("num.partitions", "1".to_owned(), SOURCE_STATIC_BROKER),
    ]
}

fn config(name: &str, value: String, source: i8) -> DescribeConfigsResourceResult {
    DescribeConfigsResourceResult::default()
        .with_name(text(name))
        .with_value(Some(text(value)))
        .with_read_only(true)
        .with_config_source(source)
}
