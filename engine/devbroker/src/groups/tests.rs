//! Consumer groups: joining, handing over, falling silent, committing. Time is given, nothing waits.

use kafka_protocol::ResponseError::{
    GroupMaxSizeReached, IllegalGeneration, InconsistentGroupProtocol, InvalidSessionTimeout,
    MemberIdRequired, OffsetMetadataTooLarge, RebalanceInProgress, UnknownMemberId,
};

use tokio::sync::oneshot;

use super::*;
use crate::group_words::{GroupState, Joined, OFFSET_METADATA_BYTES_MAX};

const SESSION: Duration = Duration::from_secs(10);
const REBALANCE: Duration = Duration::from_secs(30);

fn request(member: &str) -> JoinRequest {
    JoinRequest {
        group: "g".to_owned(),
        member: member.to_owned(),
        client_id: "client".to_owned(),
        client_host: "/127.0.0.1".to_owned(),
        session_timeout: SESSION,
        rebalance_timeout: REBALANCE,
        protocol_type: "consumer".to_owned(),
        protocols: protocols(&["range"]),
        needs_id_first: false,
    }
}

fn protocols(names: &[&str]) -> Vec<(String, Bytes)> {
    names.iter().map(|name| (name.to_string(), Bytes::copy_from_slice(name.as_bytes()))).collect()
}

fn speaker(joined: &Joined) -> Speaker {
    Speaker { group: "g".to_owned(), member: joined.member.clone(), generation: joined.generation }
}

fn now<T>(reply: Reply<T>) -> T {
    match reply {
        Reply::Now(answer) => answer,
        Reply::Later(mut answer) => answer.try_recv().expect("the answer is there"),
    }
}

fn later<T>(reply: Reply<T>) -> oneshot::Receiver<T> {
    match reply {
        Reply::Now(_) => panic!("answered at once"),
        Reply::Later(mut answer) => {
            assert!(answer.try_recv().is_err(), "not answered yet");
            answer
        }
    }
}

/// A group whose only member is at work.
fn one_member(start: Instant) -> (Groups, Joined) {
    let mut groups = Groups::new(10, 10);
    let joined = now(groups.join(request(""), start)).unwrap();
    let assignment = vec![(joined.member.clone(), Bytes::from_static(b"all"))];
    assert_eq!(now(groups.sync(&speaker(&joined), assignment, start)), Ok(Bytes::from_static(b"all")));
    (groups, joined)
}

/// A group of two at work; the leader first.
fn two_members(start: Instant) -> (Groups, Joined, Joined) {
    let (mut groups, first) = one_member(start);
    let mut second = later(groups.join(request(""), start));
    let first = now(groups.join(request(&first.member), start)).unwrap();
    let second = second.try_recv().unwrap().unwrap();
    let waiting = later(groups.sync(&speaker(&second), Vec::new(), start));
    let assignments =
        vec![(first.member.clone(), Bytes::from("1")), (second.member.clone(), Bytes::from("2"))];
    assert_eq!(now(groups.sync(&speaker(&first), assignments, start)), Ok(Bytes::from("1")));
    assert_eq!(waiting.blocking_recv().unwrap(), Ok(Bytes::from("2")));
    (groups, first, second)
}

#[test]
fn the_first_member_leads_and_sees_all_metadata() {
    let mut groups = Groups::new(10, 10);

    let joined = now(groups.join(request(""), Instant::now())).unwrap();

    assert_eq!(joined.generation, 1);
    assert_eq!(joined.leader, joined.member);
    assert_eq!(joined.protocol, "range");
    assert_eq!(joined.members, [(joined.member.clone(), Bytes::from("range"))]);
}

#[test]
fn a_second_member_calls_the_first_back_and_each_gets_its_own_assignment() {
    let start = Instant::now();
    let (mut groups, first, second) = two_members(start);

    assert_eq!((first.generation, second.generation), (2, 2));
    assert_eq!(second.leader, first.member);
    assert_eq!(first.members.len(), 2);
    assert!(second.members.is_empty(), "only the leader assigns");
    assert_eq!(groups.heartbeat(&speaker(&first), start), Ok(()));
    assert_eq!(groups.view("g").unwrap().state, GroupState::Stable);
}

#[test]
fn a_heartbeat_during_a_rebalance_tells_to_rejoin() {
    let start = Instant::now();
    let (mut groups, first) = one_member(start);

    let _second = later(groups.join(request(""), start));

    assert_eq!(groups.heartbeat(&speaker(&first), start), Err(RebalanceInProgress));
}

#[test]
fn a_newcomer_of_a_newer_client_is_told_its_id_first_and_the_promise_expires() {
    let start = Instant::now();
    let mut groups = Groups::new(10, 10);
    let newcomer = || JoinRequest { needs_id_first: true, ..request("") };

    let refused = now(groups.join(newcomer(), start)).unwrap_err();
    assert_eq!(refused.error, MemberIdRequired);
    let joined = now(groups.join(request(&refused.member), start)).unwrap();
    assert_eq!(joined.member, refused.member);

    let late = now(groups.join(newcomer(), start)).unwrap_err();
    groups.tick(start + SESSION);
    assert_eq!(now(groups.join(request(&late.member), start)).unwrap_err().error, UnknownMemberId);
}

#[test]
fn a_silent_member_is_out_and_the_rest_goes_on() {
    let start = Instant::now();
    let (mut groups, first, second) = two_members(start);
    let later_on = start + SESSION;
    groups.heartbeat(&speaker(&first), later_on).unwrap();

    groups.tick(later_on);

    assert_eq!(groups.heartbeat(&speaker(&second), later_on), Err(UnknownMemberId));
    assert_eq!(groups.heartbeat(&speaker(&first), later_on), Err(RebalanceInProgress));
    let alone = now(groups.join(request(&first.member), later_on)).unwrap();
    assert_eq!((alone.generation, alone.members.len()), (3, 1));
}

#[test]
fn when_the_leader_leaves_another_leads() {
    let start = Instant::now();
    let (mut groups, first, second) = two_members(start);

    groups.leave("g", &first.member, start).unwrap();
    let alone = now(groups.join(request(&second.member), start)).unwrap();

    assert_eq!(alone.leader, second.member);
    assert_eq!(groups.leave("g", &first.member, start), Err(UnknownMemberId));
}

#[test]
fn who_does_not_rejoin_in_time_is_out() {
    let start = Instant::now();
    let (mut groups, first) = one_member(start);
    let mut waiting = later(groups.join(request(""), start));
    for second in 1..REBALANCE.as_secs() {
        let _ = groups.heartbeat(&speaker(&first), start + Duration::from_secs(second));
        groups.tick(start + Duration::from_secs(second));
    }
    assert!(waiting.try_recv().is_err(), "the first may still come");

    groups.tick(start + REBALANCE);

    let joined = waiting.try_recv().unwrap().unwrap();
    assert_eq!(joined.leader, joined.member);
    assert_eq!(groups.heartbeat(&speaker(&first), start + REBALANCE), Err(UnknownMemberId));
}

#[test]
fn a_leader_that_never_assigns_is_out_and_the_waiting_follower_is_told() {
    let start = Instant::now();
    let (mut groups, first) = one_member(start);
    let mut second = later(groups.join(request(""), start));
    let first = now(groups.join(request(&first.member), start)).unwrap();
    let second = second.try_recv().unwrap().unwrap();
    let mut waiting = later(groups.sync(&speaker(&second), Vec::new(), start));

    groups.tick(start + SESSION);

    assert_eq!(waiting.try_recv().unwrap(), Err(RebalanceInProgress));
    assert_eq!(groups.heartbeat(&speaker(&first), start), Err(UnknownMemberId));
    assert!(groups.view("g").unwrap().members.iter().any(|member| member.id == second.member));
}

#[test]
fn a_follower_that_joins_again_unchanged_disturbs_nobody() {
    let start = Instant::now();
    let (mut groups, first, second) = two_members(start);

    let again = now(groups.join(request(&second.member), start)).unwrap();
    assert_eq!(again.generation, second.generation);
    assert_eq!(groups.heartbeat(&speaker(&first), start), Ok(()));

    let changed = JoinRequest { protocols: protocols(&["range", "sticky"]), ..request(&second.member) };
    let _waiting = later(groups.join(changed, start));
    assert_eq!(groups.heartbeat(&speaker(&first), start), Err(RebalanceInProgress));
}

#[test]
fn the_protocol_all_know_and_most_prefer_is_taken() {
    let start = Instant::now();
    let mut groups = Groups::new(10, 10);
    let with = |names: &[&str]| JoinRequest { protocols: protocols(names), ..request("") };
    let first = now(groups.join(with(&["sticky", "range", "robin"]), start)).unwrap();
    let mut second = later(groups.join(with(&["range", "robin"]), start));
    let mut third = later(groups.join(with(&["robin", "range"]), start));

    let back = JoinRequest { member: first.member, ..with(&["sticky", "range", "robin"]) };
    let first = now(groups.join(back, start)).unwrap();

    assert_eq!(first.protocol, "range");
    assert_eq!(second.try_recv().unwrap().unwrap().protocol, "range");
    assert_eq!(third.try_recv().unwrap().unwrap().protocol, "range");
}

#[test]
fn a_member_without_a_common_protocol_is_refused_and_the_group_stays_as_it_was() {
    let start = Instant::now();
    let (mut groups, first) = one_member(start);

    let strange = JoinRequest { protocols: protocols(&["other"]), ..request("") };
    let of_another_type = JoinRequest { protocol_type: "connect".to_owned(), ..request("") };
    let without = JoinRequest { protocols: Vec::new(), ..request("") };
    for wrong in [strange, of_another_type, without] {
        assert_eq!(now(groups.join(wrong, start)).unwrap_err().error, InconsistentGroupProtocol);
    }

    assert_eq!(groups.heartbeat(&speaker(&first), start), Ok(()));
}

#[test]
fn old_generations_and_strangers_are_told_apart() {
    let start = Instant::now();
    let (mut groups, first, _) = two_members(start);

    let old = Speaker { generation: 1, ..speaker(&first) };
    let stranger = Speaker { member: "stranger".to_owned(), ..speaker(&first) };

    assert_eq!(groups.heartbeat(&old, start), Err(IllegalGeneration));
    assert_eq!(groups.may_commit(&old, start), Err(IllegalGeneration));
    assert_eq!(now(groups.sync(&old, Vec::new(), start)), Err(IllegalGeneration));
    assert_eq!(groups.heartbeat(&stranger, start), Err(UnknownMemberId));
}

#[test]
fn session_timeouts_out_of_bounds_are_refused() {
    let mut groups = Groups::new(10, 10);
    for session_timeout in [Duration::ZERO, SESSION_TIMEOUT_MAX + Duration::from_millis(1)] {
        let request = JoinRequest { session_timeout, ..request("") };
        assert_eq!(now(groups.join(request, Instant::now())).unwrap_err().error, InvalidSessionTimeout);
    }
}

#[test]
fn groups_and_members_have_limits() {
    let start = Instant::now();
    let mut groups = Groups::new(1, 1);
    let member = now(groups.join(request(""), start)).unwrap();

    let another_group = JoinRequest { group: "h".to_owned(), ..request("") };
    assert_eq!(now(groups.join(another_group, start)).unwrap_err().error, GroupMaxSizeReached);
    assert_eq!(now(groups.join(request(""), start)).unwrap_err().error, GroupMaxSizeReached);
    assert!(now(groups.join(request(&member.member), start)).is_ok(), "who is in stays in");
}

fn offset(offset: i64) -> Committed {
    Committed { offset, leader_epoch: -1, metadata: String::new() }
}

fn outsider() -> Speaker {
    Speaker { group: "g".to_owned(), member: String::new(), generation: -1 }
}

#[test]
fn offsets_outlive_the_members_but_not_the_topic() {
    let start = Instant::now();
    let (mut groups, first) = one_member(start);
    groups.may_commit(&speaker(&first), start).unwrap();
    groups.commit("g", "t", offset(7));
    groups.leave("g", &first.member, start).unwrap();

    groups.tick(start);
    assert_eq!(groups.committed("g", "t"), Some(&offset(7)));
    assert_eq!(groups.view("g").unwrap().state, GroupState::Empty);

    groups.forget_topic("t");
    groups.tick(start);
    assert_eq!(groups.view("g"), None);
}

#[test]
fn outsiders_commit_only_while_nobody_is_in() {
    let start = Instant::now();
    let mut groups = Groups::new(10, 10);
    assert_eq!(groups.may_commit(&outsider(), start), Ok(()));

    let (mut groups, _) = one_member(start);
    assert_eq!(groups.may_commit(&outsider(), start), Err(UnknownMemberId));
}

#[test]
fn no_commit_between_a_join_and_its_assignment() {
    let start = Instant::now();
    let mut groups = Groups::new(10, 10);
    let joined = now(groups.join(request(""), start)).unwrap();

    assert_eq!(groups.may_commit(&speaker(&joined), start), Err(RebalanceInProgress));
}

#[test]
fn long_texts_beside_an_offset_are_refused() {
    let with = |length| Committed { metadata: "x".repeat(length), ..offset(1) };

    assert_eq!(with(OFFSET_METADATA_BYTES_MAX).check(), Ok(()));
    assert_eq!(with(OFFSET_METADATA_BYTES_MAX + 1).check(), Err(OffsetMetadataTooLarge));
}
