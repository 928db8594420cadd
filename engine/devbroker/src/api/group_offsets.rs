//! OffsetCommit and OffsetFetch.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponsePartition, OffsetFetchResponseTopic,
};
use kafka_protocol::messages::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse, TopicName,
};
use tokio::time::Instant;

use super::call::{Call, code, text};
use crate::group_words::{Committed, Speaker};
use crate::node::Node;

/// Versions from this on tell the leader epoch; the codec refuses the field in older ones.
const LEADER_EPOCH_SINCE: i16 = 5;
/// Versions from this on have an error for the whole answer.
const TOP_LEVEL_ERROR_SINCE: i16 = 2;

/// Stores offsets of a group.
pub(super) async fn commit(call: &Call<'_>, request: OffsetCommitRequest) -> OffsetCommitResponse {
    let speaker = Speaker {
        group: request.group_id.to_string(),
        member: request.member_id.to_string(),
        generation: request.generation_id_or_member_epoch,
    };
    let may_commit = || call.node.groups().may_commit(&speaker, Instant::now()).err();
    let refuse = call.refuse.or_else(may_commit);
    let work = move |node: &Node| -> Vec<OffsetCommitResponseTopic> {
        let answer = |topic: &OffsetCommitRequestTopic| commit_topic(node, &speaker.group, topic, refuse);
        request.topics.iter().map(answer).collect()
    };
    OffsetCommitResponse::default().with_topics(call.node.blocking(work).await)
}

fn commit_topic(
    node: &Node,
    group: &str,
    topic: &OffsetCommitRequestTopic,
    refuse: Option<ResponseError>,
) -> OffsetCommitResponseTopic {
    let answer = |wanted: &OffsetCommitRequestPartition| {
        let error = refuse.or_else(|| commit_one(node, group, &topic.name, wanted).err());
        OffsetCommitResponsePartition::default()
            .with_partition_index(wanted.partition_index)
            .with_error_code(code(error))
    };
    let answers = topic.partitions.iter().map(answer).collect();
    OffsetCommitResponseTopic::default().with_name(topic.name.clone()).with_partitions(answers)
}

fn commit_one(
    node: &Node,
    group: &str,
    topic: &str,
    wanted: &OffsetCommitRequestPartition,
) -> Result<(), ResponseError> {
    if node.topics.get(topic).is_none() || wanted.partition_index != 0 {
        return Err(ResponseError::UnknownTopicOrPartition);
    }
    let offset = Committed {
        offset: wanted.committed_offset,
        leader_epoch: wanted.committed_leader_epoch,
        metadata: wanted.committed_metadata.as_ref().map(ToString::to_string).unwrap_or_default(),
    };
    offset.check()?;
    node.commit(group, topic, offset)
}

/// Shows offsets of a group; -1 where there is none.
pub(super) fn fetch(call: &Call<'_>, request: OffsetFetchRequest) -> OffsetFetchResponse {
    let group = request.group_id.as_str();
    let topics = match request.topics {
        Some(topics) => topics.into_iter().map(|topic| answer(call, group, topic)).collect(),
        None => all(call, group),
    };
    let response = OffsetFetchResponse::default().with_topics(topics);
    match call.refuse {
        Some(error) if call.version >= TOP_LEVEL_ERROR_SINCE => response.with_error_code(error.code()),
        Some(_) | None => response,
    }
}

fn answer(call: &Call<'_>, group: &str, topic: OffsetFetchRequestTopic) -> OffsetFetchResponseTopic {
    let groups = call.node.groups();
    let answer_one = |index: &i32| {
        let committed = groups.committed(group, &topic.name).filter(|_| *index == 0);
        partition(call, *index, committed)
    };
    let answers = topic.partition_indexes.iter().map(answer_one).collect();
    OffsetFetchResponseTopic::default().with_name(topic.name.clone()).with_partitions(answers)
}

fn all(call: &Call<'_>, group: &str) -> Vec<OffsetFetchResponseTopic> {
    let answer = |(topic, committed): (String, Committed)| {
        OffsetFetchResponseTopic::default()
            .with_name(TopicName(text(topic)))
            .with_partitions(vec![partition(call, 0, Some(&committed))])
    };
    call.node.groups().all_committed(group).into_iter().map(answer).collect()
}

fn partition(call: &Call<'_>, index: i32, committed: Option<&Committed>) -> OffsetFetchResponsePartition {
    let response = OffsetFetchResponsePartition::default()
        .with_partition_index(index)
        .with_error_code(code(call.refuse));
    let Some(committed) = committed.filter(|_| call.refuse.is_none()) else {
        return response.with_committed_offset(-1).with_metadata(Some(text("")));
    };
    let response = response
        .with_committed_offset(committed.offset)
        .with_metadata(Some(text(committed.metadata.clone())));
    if call.version < LEADER_EPOCH_SINCE {
        response
    } else {
        response.with_committed_leader_epoch(committed.leader_epoch)
    }
}
