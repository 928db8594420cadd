//! ListOffsets: the ends of a log, and offsets by time.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};

use super::call::Call;
use crate::batch::LEADER_EPOCH;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
/// Versions from this on tell the leader epoch; the codec refuses the field in older ones.
const LEADER_EPOCH_SINCE: i16 = 4;

/// Answers each partition.
pub(super) fn list_offsets(call: &Call<'_>, request: ListOffsetsRequest) -> ListOffsetsResponse {
    let answer = |topic: ListOffsetsTopic| {
        let answers = topic.partitions.iter().map(|wanted| answer_one(call, &topic.name, wanted)).collect();
        ListOffsetsTopicResponse::default().with_name(topic.name).with_partitions(answers)
    };
    ListOffsetsResponse::default().with_topics(request.topics.into_iter().map(answer).collect())
}

fn answer_one(call: &Call<'_>, name: &str, wanted: &ListOffsetsPartition) -> ListOffsetsPartitionResponse {
    let response = ListOffsetsPartitionResponse::default().with_partition_index(wanted.partition_index);
    match find(call, name, wanted) {
        Err(error) => response.with_error_code(error.code()),
        Ok((offset, timestamp)) => {
            let response = response.with_offset(offset).with_timestamp(timestamp);
            if call.version < LEADER_EPOCH_SINCE {
                response
            } else {
                response.with_leader_epoch(LEADER_EPOCH)
            }
        }
    }
}

/// Offset and timestamp; -1 and -1 if no record is so new.
fn find(call: &Call<'_>, name: &str, wanted: &ListOffsetsPartition) -> Result<(i64, i64), ResponseError> {
    if let Some(error) = call.refuse {
        return Err(error);
    }
    let topic = call.node.topics.get(name).filter(|_| wanted.partition_index == 0);
    let topic = topic.ok_or(ResponseError::UnknownTopicOrPartition)?;
    match wanted.timestamp {
        LATEST => Ok((topic.bounds().1, -1)),
        EARLIEST => Ok((topic.bounds().0, -1)),
        timestamp if timestamp < 0 => Err(ResponseError::InvalidRequest),
        timestamp => Ok(topic.find_time(timestamp).unwrap_or((-1, -1))),
    }
}
