//! Fetch, with waiting for new records.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::{FetchableTopicResponse, PartitionData};
use kafka_protocol::messages::{FetchRequest, FetchResponse};
use tokio::time::{Instant, sleep_until};

use super::call::{Call, code};
use crate::batch::LEADER_EPOCH;
use crate::node::Node;
use crate::topic::Topic;

/// Longest wait, whatever the client asks for.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Most bytes of records in one answer, whatever the client asks for; one batch may exceed it.
const BYTES_MAX: usize = 32 << 20;
/// Versions from this on have an error for the whole answer.
const TOP_LEVEL_ERROR_SINCE: i16 = 7;

/// Answers as soon as there is enough, something is wrong, or the client's patience ends.
pub(super) async fn fetch(call: &Call<'_>, request: FetchRequest) -> FetchResponse {
    if let Some(error) = call.refuse {
        return refused(call, &request, error);
    }
    if request.session_id != 0 {
        // No sessions are handed out, so each request is complete.
        return refused(call, &request, ResponseError::FetchSessionIdNotFound);
    }
    wait(call.node, &request).await;
    let mut room = usize::try_from(request.max_bytes).unwrap_or_default().min(BYTES_MAX);
    let mut is_empty = true;
    let mut topic_answer = |topic: FetchTopic| {
        let mut answers = Vec::with_capacity(topic.partitions.len());
        for wanted in &topic.partitions {
            let answer = read(call.node, &topic.topic, wanted, room, is_empty);
            let length = answer.records.as_ref().map_or(0, Bytes::len);
            room = room.saturating_sub(length);
            is_empty &= length == 0;
            answers.push(answer);
        }
        FetchableTopicResponse::default().with_topic(topic.topic).with_partitions(answers)
    };
    let topics = request.topics.into_iter().map(&mut topic_answer).collect();
    FetchResponse::default().with_responses(topics)
}

async fn wait(node: &Node, request: &FetchRequest) {
    let patience = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or_default());
    let deadline = Instant::now() + patience.min(WAIT_MAX);
    let wanted = usize::try_from(request.min_bytes).unwrap_or_default().min(BYTES_MAX);
    // Armed before looking, so that an append between looking and waiting is not missed.
    let mut changes = node.watch_changes();
    loop {
        changes.mark_unchanged();
        if is_ready(node, request, wanted) {
            return;
        }
        tokio::select! {
            _ = changes.changed() => {}
            () = sleep_until(deadline) => return,
            () = node.stopped() => return,
        }
    }
}

/// Whether there is enough to answer, or an error to tell.
fn is_ready(node: &Node, request: &FetchRequest, wanted: usize) -> bool {
    let mut available = 0;
    for topic in &request.topics {
        for partition in &topic.partitions {
            match check(node, &topic.topic, partition) {
                Ok(topic) => match topic.available(partition.fetch_offset, wanted) {
                    Ok(bytes) => available += bytes,
                    Err(_) => return true,
                },
                Err(_) => return true,
            }
        }
    }
    available >= wanted
}

fn check(node: &Node, name: &str, wanted: &FetchPartition) -> Result<Arc<Topic>, ResponseError> {
    if wanted.current_leader_epoch > LEADER_EPOCH {
        return Err(ResponseError::UnknownLeaderEpoch);
    }
    let topic = node.topics.get(name).filter(|_| wanted.partition == 0);
    topic.ok_or(ResponseError::UnknownTopicOrPartition)
}

fn read(node: &Node, name: &str, wanted: &FetchPartition, room: usize, is_first: bool) -> PartitionData {
    let topic = match check(node, name, wanted) {
        Ok(topic) => topic,
        Err(error) => return failed(wanted, error),
    };
    let bytes_max = usize::try_from(wanted.partition_max_bytes).unwrap_or_default().min(room);
    let records = topic.read(wanted.fetch_offset, bytes_max, is_first);
    let (start, end) = topic.bounds();
    let answer = match records {
        Ok(records) => PartitionData::default().with_records(Some(records)),
        Err(_) => failed(wanted, ResponseError::OffsetOutOfRange),
    };
    answer
        .with_partition_index(wanted.partition)
        .with_high_watermark(end)
        .with_last_stable_offset(end)
        .with_log_start_offset(start)
}

fn failed(wanted: &FetchPartition, error: ResponseError) -> PartitionData {
    PartitionData::default()
        .with_partition_index(wanted.partition)
        .with_error_code(error.code())
        .with_high_watermark(-1)
        .with_records(Some(Bytes::new()))
}

fn refused(call: &Call<'_>, request: &FetchRequest, error: ResponseError) -> FetchResponse {
    if call.version >= TOP_LEVEL_ERROR_SINCE {
        return FetchResponse::default().with_error_code(code(Some(error)));
    }
    let answer = |topic: &FetchTopic| {
        let answers = topic.partitions.iter().map(|wanted| failed(wanted, error)).collect();
        FetchableTopicResponse::default().with_topic(topic.topic.clone()).with_partitions(answers)
    };
    FetchResponse::default().with_responses(request.topics.iter().map(answer).collect())
}
