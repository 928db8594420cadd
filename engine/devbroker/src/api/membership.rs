//! JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use kafka_protocol::messages::{
    GroupId, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
    LeaveGroupResponse, SyncGroupRequest, SyncGroupResponse,
};
use kafka_protocol::protocol::StrBytes;
use tokio::time::Instant;

use super::call::{BadRequest, Call, code, text};
use crate::group_words::{JoinAnswer, JoinRefused, JoinRequest, Joined, Reply, Speaker};

/// Versions from this on tell a newcomer its id before it joins.
const NEEDS_ID_SINCE: i16 = 4;

/// Waits until the group forms a new generation.
pub(super) async fn join(
    call: &Call<'_>,
    request: JoinGroupRequest,
) -> Result<JoinGroupResponse, BadRequest> {
    if let Some(error) = call.refuse {
        return Ok(join_response(Err(JoinRefused { error, member: request.member_id.to_string() })));
    }
    let reply = call.node.groups().join(join_request(call, request), Instant::now());
    Ok(join_response(settle(call, reply).await?))
}

/// Waits for a later answer, but not beyond the end of the broker.
async fn settle<T>(call: &Call<'_>, reply: Reply<T>) -> Result<T, BadRequest> {
    match reply {
        Reply::Now(answer) => Ok(answer),
        Reply::Later(answer) => tokio::select! {
            // No answer means that the member came again on another connection.
            answer = answer => answer.ok().ok_or(BadRequest::Dropped),
            () = call.node.stopped() => Err(BadRequest::Dropped),
        },
    }
}

fn join_request(call: &Call<'_>, request: JoinGroupRequest) -> JoinRequest {
    let session_timeout = milliseconds(request.session_timeout_ms);
    JoinRequest {
        group: request.group_id.to_string(),
        member: request.member_id.to_string(),
        client_id: call.client_id.clone(),
        client_host: format!("/{}", call.peer.address.ip()),
        session_timeout,
        rebalance_timeout: match request.rebalance_timeout_ms {
            // Version 0 does not have it.
            -1 => session_timeout,
            rebalance_timeout => milliseconds(rebalance_timeout),
        },
        protocol_type: request.protocol_type.to_string(),
        protocols: request
            .protocols
            .into_iter()
            .map(|p| (p.name.to_string(), detached(&p.metadata)))
            .collect(),
        needs_id_first: call.version >= NEEDS_ID_SINCE,
    }
}

/// A copy, so that what a group keeps does not keep the request alive.
fn detached(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

fn milliseconds(milliseconds: i32) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or_default())
}

fn join_response(answer: JoinAnswer) -> JoinGroupResponse {
    let response = JoinGroupResponse::default();
    match answer {
        Err(JoinRefused { error, member }) => response
            .with_error_code(error.code())
            .with_generation_id(-1)
            .with_protocol_name(Some(StrBytes::default()))
            .with_member_id(text(member)),
        Ok(Joined { generation, protocol, leader, member, members }) => {
            let member_answer = |(id, metadata): (String, Bytes)| {
                JoinGroupResponseMember::default().with_member_id(text(id)).with_metadata(metadata)
            };
            response
                .with_generation_id(generation)
                .with_protocol_name(Some(text(protocol)))
                .with_leader(text(leader))
                .with_member_id(text(member))
                .with_members(members.into_iter().map(member_answer).collect())
        }
    }
}

/// Waits until the leader has brought the assignments.
pub(super) async fn sync(
    call: &Call<'_>,
    request: SyncGroupRequest,
) -> Result<SyncGroupResponse, BadRequest> {
    let response = SyncGroupResponse::default();
    if let Some(error) = call.refuse {
        return Ok(response.with_error_code(error.code()));
    }
    let speaker = speaker(&request.group_id, &request.member_id, request.generation_id);
    let assignments =
        request.assignments.iter().map(|a| (a.member_id.to_string(), detached(&a.assignment))).collect();
    let reply = call.node.groups().sync(&speaker, assignments, Instant::now());
    Ok(match settle(call, reply).await? {
        Ok(assignment) => response.with_assignment(assignment),
        Err(error) => response.with_error_code(error.code()),
    })
}

/// A sign of life.
pub(super) fn heartbeat(call: &Call<'_>, request: HeartbeatRequest) -> HeartbeatResponse {
    let speaker = speaker(&request.group_id, &request.member_id, request.generation_id);
    let beat = || call.node.groups().heartbeat(&speaker, Instant::now()).err();
    HeartbeatResponse::default().with_error_code(code(call.refuse.or_else(beat)))
}

/// A member goes.
pub(super) fn leave(call: &Call<'_>, request: LeaveGroupRequest) -> LeaveGroupResponse {
    let leave = || -> Option<ResponseError> {
        call.node.groups().leave(&request.group_id, &request.member_id, Instant::now()).err()
    };
    LeaveGroupResponse::default().with_error_code(code(call.refuse.or_else(leave)))
}

fn speaker(group: &GroupId, member: &StrBytes, generation: i32) -> Speaker {
    Speaker { group: group.to_string(), member: member.to_string(), generation }
}
