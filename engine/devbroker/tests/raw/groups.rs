//! Groups over the wire: what only shows with connections. The rules themselves are tested in `src/groups`.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    DescribeGroupsRequest, GroupId, JoinGroupRequest, JoinGroupResponse, SyncGroupRequest,
};

use super::wire::{Client, scene, text};

/// Version 3, in which a newcomer need not come twice.
const JOIN_VERSION: i16 = 3;

fn join(member: &str, session_ms: i32) -> JoinGroupRequest {
    let protocol = JoinGroupRequestProtocol::default().with_name(text("range"));
    JoinGroupRequest::default()
        .with_group_id(GroupId(text("g")))
        .with_member_id(text(member))
        .with_session_timeout_ms(session_ms)
        .with_rebalance_timeout_ms(20_000)
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol])
}

fn sync(joined: &JoinGroupResponse, assignments: &[(&str, &str)]) -> SyncGroupRequest {
    let assignment = |(member, assignment): &(&str, &str)| {
        SyncGroupRequestAssignment::default()
            .with_member_id(text(member))
            .with_assignment(assignment.to_string().into())
    };
    SyncGroupRequest::default()
        .with_group_id(GroupId(text("g")))
        .with_member_id(joined.member_id.clone())
        .with_generation_id(joined.generation_id)
        .with_assignments(assignments.iter().map(assignment).collect())
}

#[tokio::test]
async fn two_connections_form_a_group_and_get_their_assignments() {
    let (broker, mut leader) = scene(&[]).await;
    let mut follower = Client::connect(broker.addr()).await;
    let alone = leader.call(JOIN_VERSION, &join("", 20_000)).await;

    follower.send(JOIN_VERSION, &join("", 20_000)).await;
    // Wait until the follower's join is there, so that the leader's comes second.
    while describe(&broker).await.len() < 2 {}
    let led = leader.call(JOIN_VERSION, &join(&alone.member_id, 20_000)).await;
    let followed = follower.receive::<JoinGroupRequest>(JOIN_VERSION).await.unwrap();
    assert_eq!((led.generation_id, followed.generation_id), (2, 2));
    assert_eq!(led.members.len(), 2);

    follower.send(2, &sync(&followed, &[])).await;
    let assignments = [(led.member_id.as_str(), "left"), (followed.member_id.as_str(), "right")];
    let left = leader.call(2, &sync(&led, &assignments)).await;
    let right = follower.receive::<SyncGroupRequest>(2).await.unwrap();

    assert_eq!((&left.assignment[..], &right.assignment[..]), (&b"left"[..], &b"right"[..]));
}

/// The member ids of the group, by a connection of its own.
async fn describe(broker: &pico_devbroker::DevBroker) -> Vec<String> {
    let mut client = Client::connect(broker.addr()).await;
    let request = DescribeGroupsRequest::default().with_groups(vec![GroupId(text("g"))]);
    let response = client.call(4, &request).await;
    response.groups[0].members.iter().map(|member| member.member_id.to_string()).collect()
}

#[tokio::test]
async fn a_member_whose_connection_died_while_joining_does_not_hold_up_the_rest() {
    let (broker, mut staying) = scene(&[]).await;
    let first = staying.call(JOIN_VERSION, &join("", 500)).await;
    let mut dying = Client::connect(broker.addr()).await;
    dying.send(JOIN_VERSION, &join("", 500)).await;
    while describe(&broker).await.len() < 2 {}
    drop(dying);

    let again = staying.call(JOIN_VERSION, &join(&first.member_id, 500)).await;

    // The dead one's answer was lost. It may be in this generation still, but its silence takes it out.
    assert_eq!(again.error_code, 0);
    while describe(&broker).await.len() > 1 {
        let rejoined = staying.call(JOIN_VERSION, &join(&first.member_id, 500)).await;
        assert_eq!(rejoined.error_code, 0);
    }
}

#[tokio::test]
async fn a_waiting_join_is_cut_when_the_broker_stops() {
    let (broker, mut first) = scene(&[]).await;
    first.call(JOIN_VERSION, &join("", 20_000)).await;
    let mut waiting = Client::connect(broker.addr()).await;
    waiting.send(JOIN_VERSION, &join("", 20_000)).await;
    while describe(&broker).await.len() < 2 {}

    broker.shutdown().await;

    assert!(waiting.is_cut().await);
}

#[tokio::test]
async fn a_group_without_a_name_is_refused() {
    let (_broker, mut client) = scene(&[]).await;

    let nameless = join("", 20_000).with_group_id(GroupId(text("")));

    assert_eq!(client.call(JOIN_VERSION, &nameless).await.error_code, ResponseError::InvalidGroupId.code());
}
