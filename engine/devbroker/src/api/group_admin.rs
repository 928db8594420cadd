//! ListGroups and DescribeGroups.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::{
    DescribeGroupsRequest, DescribeGroupsResponse, GroupId, ListGroupsRequest, ListGroupsResponse,
};

use super::call::{Call, code, text};
use crate::group_words::{GroupView, MemberView};

/// What Kafka calls a group that it does not know.
const DEAD: &str = "Dead";

/// All groups.
pub(super) fn list(call: &Call<'_>, _request: ListGroupsRequest) -> ListGroupsResponse {
    let response = ListGroupsResponse::default().with_error_code(code(call.refuse));
    if call.refuse.is_some() {
        return response;
    }
    let answer = |group: GroupView| {
        ListedGroup::default()
            .with_group_id(GroupId(text(group.id)))
            .with_protocol_type(text(group.protocol_type))
    };
    response.with_groups(call.node.groups().views().into_iter().map(answer).collect())
}

/// The groups asked for with their members.
pub(super) fn describe(call: &Call<'_>, request: DescribeGroupsRequest) -> DescribeGroupsResponse {
    let answer = |id: GroupId| match (call.refuse, call.node.groups().view(&id)) {
        (Some(error), _) => described_error(id, error),
        (None, None) => DescribedGroup::default().with_group_id(id).with_group_state(text(DEAD)),
        (None, Some(group)) => described(id, group),
    };
    DescribeGroupsResponse::default().with_groups(request.groups.into_iter().map(answer).collect())
}

fn described_error(id: GroupId, error: ResponseError) -> DescribedGroup {
    DescribedGroup::default().with_group_id(id).with_error_code(error.code())
}

fn described(id: GroupId, group: GroupView) -> DescribedGroup {
    let member = |member: MemberView| {
        DescribedGroupMember::default()
            .with_member_id(text(member.id))
            .with_client_id(text(member.client_id))
            .with_client_host(text(member.client_host))
            .with_member_metadata(member.metadata)
            .with_member_assignment(member.assignment)
    };
    DescribedGroup::default()
        .with_group_id(id)
        .with_group_state(text(group.state.name()))
        .with_protocol_type(text(group.protocol_type))
        .with_protocol_data(text(group.protocol))
        .with_members(group.members.into_iter().map(member).collect())
}
