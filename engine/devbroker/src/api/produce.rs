//! Produce and InitProducerId.

use std::sync::Arc;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::{
    InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse, ProducerId,
};

use super::call::{BadRequest, Call, code, text};
use crate::batch::{BadBatch, Batch};
use crate::node::Node;
use crate::topic::Appended;

/// A refusal with what to tell besides its code.
struct Refusal {
    error: ResponseError,
    message: Option<String>,
}

impl From<ResponseError> for Refusal {
    fn from(error: ResponseError) -> Self {
        Self { error, message: None }
    }
}

impl From<BadBatch> for Refusal {
    fn from(bad: BadBatch) -> Self {
        let error = match bad {
            BadBatch::Truncated | BadBatch::Checksum => ResponseError::CorruptMessage,
            BadBatch::OldFormat(_) => ResponseError::UnsupportedForMessageFormat,
            BadBatch::UnknownCompression => ResponseError::UnsupportedCompressionType,
            BadBatch::Transactional => ResponseError::TransactionalIdAuthorizationFailed,
            BadBatch::Trailing | BadBatch::Count | BadBatch::Control | BadBatch::Stamp => {
                ResponseError::InvalidRecord
            }
        };
        Self { error, message: Some(bad.to_string()) }
    }
}

/// Appends; `None` if the client wants no answer.
pub(super) async fn produce(
    call: &Call<'_>,
    request: ProduceRequest,
) -> Result<Option<ProduceResponse>, BadRequest> {
    let refuse = call.refuse.or_else(|| refusal_of_all(&request));
    let lie = call.lie;
    let topics = request.topic_data;
    let append = move |node: &Node| -> Vec<TopicProduceResponse> {
        topics.into_iter().map(|topic| append_topic(node, topic, refuse, lie)).collect()
    };
    let responses = call.node.blocking(append).await;
    if request.acks != 0 {
        return Ok(Some(ProduceResponse::default().with_responses(responses)));
    }
    let mut answers = responses.iter().flat_map(|topic| &topic.partition_responses);
    match answers.any(|answer| answer.error_code != 0) {
        true => Err(BadRequest::Unacknowledged),
        false => Ok(None),
    }
}

fn refusal_of_all(request: &ProduceRequest) -> Option<ResponseError> {
    if request.transactional_id.is_some() {
        return Some(ResponseError::TransactionalIdAuthorizationFailed);
    }
    (!(-1..=1).contains(&request.acks)).then_some(ResponseError::InvalidRequiredAcks)
}

fn append_topic(
    node: &Node,
    topic: TopicProduceData,
    refuse: Option<ResponseError>,
    lie: Option<ResponseError>,
) -> TopicProduceResponse {
    let answer = |data: PartitionProduceData| {
        let appended = match refuse {
            Some(error) => Err(error.into()),
            None => append(node, &topic.name, data.index, data.records),
        };
        let appended = match lie {
            Some(error) => appended.and(Err(error.into())),
            None => appended,
        };
        partition_response(data.index, appended)
    };
    let answers = topic.partition_data.into_iter().map(answer).collect();
    TopicProduceResponse::default().with_name(topic.name.clone()).with_partition_responses(answers)
}

fn append(node: &Node, name: &str, partition: i32, records: Option<Bytes>) -> Result<Appended, Refusal> {
    let topic = node.topics.get(name).filter(|_| partition == 0);
    let topic: Arc<_> = topic.ok_or(ResponseError::UnknownTopicOrPartition)?;
    let bytes = records.unwrap_or_default();
    if bytes.len() > topic.message_bytes_max() {
        return Err(ResponseError::MessageTooLarge.into());
    }
    Ok(node.append(&topic, Batch::check(bytes)?)?)
}

fn partition_response(index: i32, appended: Result<Appended, Refusal>) -> PartitionProduceResponse {
    let response = PartitionProduceResponse::default().with_index(index).with_log_append_time_ms(-1);
    match appended {
        Ok(appended) => {
            response.with_base_offset(appended.base_offset).with_log_start_offset(appended.log_start)
        }
        Err(Refusal { error, message }) => response
            .with_error_code(error.code())
            .with_base_offset(-1)
            .with_log_start_offset(-1)
            .with_error_message(message.map(text)),
    }
}

/// Hands out a fresh producer id. Transactions are refused with an error that no client retries.
pub(super) fn init_producer_id(call: &Call<'_>, request: InitProducerIdRequest) -> InitProducerIdResponse {
    let is_transactional = request.transactional_id.is_some();
    let refused = is_transactional.then_some(ResponseError::TransactionalIdAuthorizationFailed);
    let response = InitProducerIdResponse::default();
    match call.refuse.or(refused) {
        Some(error) => response
            .with_error_code(code(Some(error)))
            .with_producer_id(ProducerId(-1))
            .with_producer_epoch(-1),
        None => response.with_producer_id(ProducerId(call.node.next_producer())).with_producer_epoch(0),
    }
}
