//! One consumer group of the classic protocol.
//!
//! ```text
//! Empty ──join──▶ PreparingRebalance ──all rejoined or time over──▶ CompletingRebalance ──leader syncs──▶ Stable
//!   ▲                  ▲      │                                            │                               │
//!   └── nobody left ───┼──────┘            member lost or joins            │                               │
//!                      └───────────────────────────────────────────────────┴───────────────────────────────┘
//! ```
//!
//! Invariant: in one generation every member has the same protocol, and each assignment comes from its one leader.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::group_words::{
    Committed, GroupState, GroupView, JoinAnswer, JoinRefused, JoinRequest, Joined, MemberView, Reply,
    SyncAnswer,
};

/// A group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    state: GroupState,
    generation: i32,
    protocol_type: String,
    protocol: String,
    leader: String,
    members: BTreeMap<String, Member>,
    /// Ids handed out, and until when their clients may come with them.
    awaited: BTreeMap<String, Instant>,
    rebalance_end: Option<Instant>,
    offsets: BTreeMap<String, Committed>,
}

#[derive(Debug)]
struct Member {
    client_id: String,
    client_host: String,
    session_timeout: Duration,
    rebalance_timeout: Duration,
    protocols: Vec<(String, Bytes)>,
    assignment: Bytes,
    seen: Instant,
    joining: Option<oneshot::Sender<JoinAnswer>>,
    syncing: Option<oneshot::Sender<SyncAnswer>>,
}

impl Group {
    /// Whether the id is a member's or was handed out.
    pub(crate) fn knows(&self, member: &str) -> bool {
        self.members.contains_key(member) || self.awaited.contains_key(member)
    }

    /// Members and promised places.
    pub(crate) fn seats_taken(&self) -> usize {
        self.members.len() + self.awaited.len()
    }

    pub(crate) fn has_members(&self) -> bool {
        !self.members.is_empty()
    }

    /// Neither members nor offsets: nothing would be missed.
    pub(crate) fn is_blank(&self) -> bool {
        self.seats_taken() == 0 && self.offsets.is_empty()
    }

    /// Whether the protocols fit the other members'.
    pub(crate) fn accepts(&self, request: &JoinRequest) -> Result<(), ResponseError> {
        let mut others = self.members.iter().filter(|(id, _)| **id != request.member).peekable();
        if others.peek().is_none() {
            return Ok(());
        }
        let offered: BTreeSet<&str> = request.protocols.iter().map(|(name, _)| name.as_str()).collect();
        let has_common = self.common_protocols(others.map(|(_, member)| member), Some(offered));
        if request.protocol_type == self.protocol_type && !has_common.is_empty() {
            Ok(())
        } else {
            Err(ResponseError::InconsistentGroupProtocol)
        }
    }

    /// Promises a place to a client that comes again with this id in time.
    pub(crate) fn await_return(&mut self, id: String, until: Instant) {
        self.awaited.insert(id, until);
    }

    /// Joins under the id in the request, which is known or new.
    pub(crate) fn join(&mut self, request: JoinRequest, now: Instant) -> Reply<JoinAnswer> {
        self.awaited.remove(&request.member);
        let is_same = self.members.get(&request.member).is_some_and(|m| m.protocols == request.protocols);
        let is_leader = request.member == self.leader;
        let id = request.member.clone();
        self.enter(request, now);
        let needs_rebalance = match self.state {
            GroupState::Empty | GroupState::PreparingRebalance => true,
            GroupState::CompletingRebalance => !is_same,
            GroupState::Stable => !is_same || is_leader,
        };
        if !needs_rebalance {
            return Reply::Now(Ok(self.joined(&id)));
        }
        let (sender, receiver) = oneshot::channel();
        if let Some(member) = self.members.get_mut(&id) {
            member.joining = Some(sender);
        }
        self.prepare(now);
        self.complete_if_all_joined(now);
        Reply::Later(receiver)
    }

    /// The member and its generation are right.
    pub(crate) fn check(&self, member: &str, generation: i32) -> Result<(), ResponseError> {
        if !self.members.contains_key(member) {
            return Err(ResponseError::UnknownMemberId);
        }
        if generation != self.generation {
            return Err(ResponseError::IllegalGeneration);
        }
        Ok(())
    }

    /// See [`Groups::sync`](crate::groups::Groups::sync).
    pub(crate) fn sync(
        &mut self,
        id: &str,
        assignments: Vec<(String, Bytes)>,
        now: Instant,
    ) -> Reply<SyncAnswer> {
        self.touch(id, now);
        match self.state {
            GroupState::Empty => Reply::Now(Err(ResponseError::UnknownMemberId)),
            GroupState::PreparingRebalance => Reply::Now(Err(ResponseError::RebalanceInProgress)),
            GroupState::Stable => {
                let assignment = self.members.get(id).map(|member| member.assignment.clone());
                Reply::Now(assignment.ok_or(ResponseError::UnknownMemberId))
            }
            GroupState::CompletingRebalance => {
                let (sender, receiver) = oneshot::channel();
                if let Some(member) = self.members.get_mut(id) {
                    member.syncing = Some(sender);
                }
                if id == self.leader {
                    self.assign(assignments, now);
                }
                Reply::Later(receiver)
            }
        }
    }

    /// See [`Groups::heartbeat`](crate::groups::Groups::heartbeat).
    pub(crate) fn heartbeat(&mut self, id: &str, now: Instant) -> Result<(), ResponseError> {
        self.touch(id, now);
        match self.state {
            GroupState::Empty => Err(ResponseError::UnknownMemberId),
            GroupState::PreparingRebalance => Err(ResponseError::RebalanceInProgress),
            GroupState::CompletingRebalance | GroupState::Stable => Ok(()),
        }
    }

    /// Removes a member or a promised place; whether there was one.
    pub(crate) fn leave(&mut self, id: &str, now: Instant) -> bool {
        if self.awaited.remove(id).is_some() {
            return true;
        }
        let Some(member) = self.members.remove(id) else {
            return false;
        };
        // Nobody may be listening any more, which is why the member is removed.
        if let Some(waiting) = member.joining {
            let refused = JoinRefused { error: ResponseError::UnknownMemberId, member: id.to_owned() };
            let _ = waiting.send(Err(refused));
        }
        if let Some(waiting) = member.syncing {
            let _ = waiting.send(Err(ResponseError::UnknownMemberId));
        }
        self.prepare(now);
        self.complete_if_all_joined(now);
        true
    }

    /// Members may commit unless a new generation is just forming, whose assignments they do not know yet.
    pub(crate) fn may_commit(&mut self, id: &str, now: Instant) -> Result<(), ResponseError> {
        self.touch(id, now);
        match self.state {
            GroupState::CompletingRebalance => Err(ResponseError::RebalanceInProgress),
            GroupState::Empty | GroupState::PreparingRebalance | GroupState::Stable => Ok(()),
        }
    }

    pub(crate) fn commit(&mut self, topic: &str, offset: Committed) {
        self.offsets.insert(topic.to_owned(), offset);
    }

    pub(crate) fn offsets(&self) -> &BTreeMap<String, Committed> {
        &self.offsets
    }

    pub(crate) fn forget_topic(&mut self, topic: &str) {
        self.offsets.remove(topic);
    }

    /// See [`Groups::tick`](crate::groups::Groups::tick).
    pub(crate) fn tick(&mut self, now: Instant) {
        self.awaited.retain(|_, until| now < *until);
        let silent: Vec<String> =
            self.members.iter().filter(|(_, m)| m.is_silent(now)).map(|(id, _)| id.clone()).collect();
        for id in silent {
            self.leave(&id, now);
        }
        if self.rebalance_end.is_some_and(|end| now >= end) {
            self.complete(now);
        }
    }

    pub(crate) fn view(&self, id: &str) -> GroupView {
        let member = |(id, member): (&String, &Member)| MemberView {
            id: id.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            metadata: member.metadata(&self.protocol),
            assignment: member.assignment.clone(),
        };
        GroupView {
            id: id.to_owned(),
            state: self.state,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            members: self.members.iter().map(member).collect(),
        }
    }
}

/// The steps of a rebalance.
impl Group {
    fn enter(&mut self, request: JoinRequest, now: Instant) {
        let previous = self.members.remove(&request.member);
        if self.members.is_empty() {
            self.protocol_type = request.protocol_type;
        }
        let member = Member {
            client_id: request.client_id,
            client_host: request.client_host,
            session_timeout: request.session_timeout,
            rebalance_timeout: request.rebalance_timeout,
            protocols: request.protocols,
            assignment: previous.map(|previous| previous.assignment).unwrap_or_default(),
            seen: now,
            joining: None,
            syncing: None,
        };
        self.members.insert(request.member, member);
    }

    /// Calls all members together again.
    fn prepare(&mut self, now: Instant) {
        for member in self.members.values_mut() {
            if let Some(waiting) = member.syncing.take() {
                // A receiver that is gone is a client that is gone; its silence will tell.
                let _ = waiting.send(Err(ResponseError::RebalanceInProgress));
            }
        }
        if self.state != GroupState::PreparingRebalance {
            let longest = self.members.values().map(|member| member.rebalance_timeout).max();
            self.state = GroupState::PreparingRebalance;
            self.rebalance_end = Some(now + longest.unwrap_or_default());
        }
    }

    fn complete_if_all_joined(&mut self, now: Instant) {
        if self.members.values().all(|member| member.joining.is_some()) {
            self.complete(now);
        }
    }

    /// Begins a new generation of those who joined; the others are out.
    fn complete(&mut self, now: Instant) {
        self.rebalance_end = None;
        self.members.retain(|_, member| member.joining.is_some());
        self.generation += 1;
        if self.members.is_empty() {
            self.state = GroupState::Empty;
            self.leader.clear();
            self.protocol.clear();
            return;
        }
        self.state = GroupState::CompletingRebalance;
        self.protocol = self.elect_protocol();
        if !self.members.contains_key(&self.leader) {
            self.leader = self.members.keys().next().cloned().unwrap_or_default();
        }
        let answers: Vec<Joined> = self.members.keys().map(|id| self.joined(id)).collect();
        for (member, answer) in self.members.values_mut().zip(answers) {
            member.seen = now;
            member.assignment = Bytes::new();
            if let Some(waiting) = member.joining.take() {
                let _ = waiting.send(Ok(answer));
            }
        }
    }

    fn assign(&mut self, assignments: Vec<(String, Bytes)>, now: Instant) {
        for (id, assignment) in assignments {
            if let Some(member) = self.members.get_mut(&id) {
                member.assignment = assignment;
            }
        }
        self.state = GroupState::Stable;
        for member in self.members.values_mut() {
            if let Some(waiting) = member.syncing.take() {
                member.seen = now;
                let _ = waiting.send(Ok(member.assignment.clone()));
            }
        }
    }

    fn joined(&self, id: &str) -> Joined {
        let metadata = |(id, member): (&String, &Member)| (id.clone(), member.metadata(&self.protocol));
        let members =
            if id == self.leader { self.members.iter().map(metadata).collect() } else { Vec::new() };
        Joined {
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            member: id.to_owned(),
            members,
        }
    }

    /// Each member votes for the first of its protocols that all know; the most votes win, then the smaller name.
    fn elect_protocol(&self) -> String {
        let common = self.common_protocols(self.members.values(), None);
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for member in self.members.values() {
            let mut names = member.protocols.iter().map(|(name, _)| name.as_str());
            if let Some(name) = names.find(|name| common.contains(name)) {
                *votes.entry(name).or_default() += 1;
            }
        }
        let winner = votes.into_iter().rev().max_by_key(|(_, count)| *count);
        winner.map(|(name, _)| name.to_owned()).unwrap_or_default()
    }

    fn common_protocols<'a>(
        &self,
        members: impl Iterator<Item = &'a Member>,
        offered: Option<BTreeSet<&'a str>>,
    ) -> BTreeSet<&'a str> {
        let mut common = offered;
        for member in members {
            let names: BTreeSet<&str> = member.protocols.iter().map(|(name, _)| name.as_str()).collect();
            common = Some(match common {
                None => names,
                Some(common) => common.intersection(&names).copied().collect(),
            });
        }
        common.unwrap_or_default()
    }

    fn touch(&mut self, id: &str, now: Instant) {
        if let Some(member) = self.members.get_mut(id) {
            member.seen = now;
        }
    }
}

impl Member {
    fn metadata(&self, protocol: &str) -> Bytes {
        let mut protocols = self.protocols.iter();
        protocols.find(|(name, _)| name == protocol).map(|(_, data)| data.clone()).unwrap_or_default()
    }

    /// Without a sign of life for too long. Who waits for an answer of ours is not silent, unless its connection is gone.
    fn is_silent(&self, now: Instant) -> bool {
        let is_waiting = self.joining.as_ref().is_some_and(|waiting| !waiting.is_closed())
            || self.syncing.as_ref().is_some_and(|waiting| !waiting.is_closed());
        !is_waiting && now >= self.seen + self.session_timeout
    }
}
