//! The consumer groups of a broker: finding or making them, their limits, and the passing of time.
//!
//! Pure: no clock and no sockets. Whoever has to wait gets a channel, and the answer is sent when the group moves.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use tokio::time::Instant;
use uuid::Uuid;

use crate::group::Group;
use crate::group_words::{
    Committed, GroupView, JoinAnswer, JoinRefused, JoinRequest, Reply, Speaker, SyncAnswer,
};

const SESSION_TIMEOUT_MIN: Duration = Duration::from_millis(100);
const SESSION_TIMEOUT_MAX: Duration = Duration::from_secs(1_800);

/// All groups.
#[derive(Debug)]
pub(crate) struct Groups {
    by_id: BTreeMap<String, Group>,
    groups_max: usize,
    members_max: usize,
}

impl Groups {
    pub(crate) fn new(groups_max: usize, members_max: usize) -> Self {
        Self { by_id: BTreeMap::new(), groups_max, members_max }
    }

    /// Joins or rejoins. The answer comes when all members of the group have done so, or had their time.
    pub(crate) fn join(&mut self, request: JoinRequest, now: Instant) -> Reply<JoinAnswer> {
        let refused = |error, member: &str| Reply::Now(Err(JoinRefused { error, member: member.to_owned() }));
        if let Err(error) = self.may_join(&request) {
            return refused(error, &request.member);
        }
        let members_max = self.members_max;
        let group = self.by_id.entry(request.group.clone()).or_default();
        let (is_known, is_full) = (group.knows(&request.member), group.seats_taken() >= members_max);
        if !is_known && !request.member.is_empty() {
            return refused(ResponseError::UnknownMemberId, &request.member);
        }
        if let Err(error) = group.accepts(&request) {
            return refused(error, &request.member);
        }
        if is_known {
            return group.join(request, now);
        }
        if is_full {
            return refused(ResponseError::GroupMaxSizeReached, "");
        }
        let id = format!("{}-{}", request.client_id, Uuid::new_v4());
        if request.needs_id_first {
            group.await_return(id.clone(), now + request.session_timeout);
            return refused(ResponseError::MemberIdRequired, &id);
        }
        group.join(JoinRequest { member: id, ..request }, now)
    }

    /// Asks for the assignment; the leader brings all of them.
    pub(crate) fn sync(
        &mut self,
        speaker: &Speaker,
        assignments: Vec<(String, Bytes)>,
        now: Instant,
    ) -> Reply<SyncAnswer> {
        match self.member_group(speaker) {
            Ok(group) => group.sync(&speaker.member, assignments, now),
            Err(error) => Reply::Now(Err(error)),
        }
    }

    /// A sign of life; an error tells the member to rejoin.
    pub(crate) fn heartbeat(&mut self, speaker: &Speaker, now: Instant) -> Result<(), ResponseError> {
        self.member_group(speaker)?.heartbeat(&speaker.member, now)
    }

    /// A member leaves of its own will.
    pub(crate) fn leave(&mut self, group: &str, member: &str, now: Instant) -> Result<(), ResponseError> {
        let group = self.by_id.get_mut(group).ok_or(ResponseError::UnknownMemberId)?;
        if group.leave(member, now) { Ok(()) } else { Err(ResponseError::UnknownMemberId) }
    }

    /// Whether the speaker may commit. Outsiders may while the group has no members.
    pub(crate) fn may_commit(&mut self, speaker: &Speaker, now: Instant) -> Result<(), ResponseError> {
        if speaker.group.is_empty() {
            return Err(ResponseError::InvalidGroupId);
        }
        let is_outsider = speaker.generation < 0 && speaker.member.is_empty();
        if !is_outsider {
            return self.member_group(speaker)?.may_commit(&speaker.member, now);
        }
        match self.by_id.get(&speaker.group) {
            Some(group) if group.has_members() => Err(ResponseError::UnknownMemberId),
            Some(_) => Ok(()),
            None if self.by_id.len() < self.groups_max => Ok(()),
            None => Err(ResponseError::GroupMaxSizeReached),
        }
    }

    /// Stores an offset, after [`Groups::may_commit`] and [`Committed::check`].
    pub(crate) fn commit(&mut self, group: &str, topic: &str, offset: Committed) {
        self.by_id.entry(group.to_owned()).or_default().commit(topic, offset);
    }

    /// The committed offset of a topic.
    pub(crate) fn committed(&self, group: &str, topic: &str) -> Option<&Committed> {
        self.by_id.get(group)?.offsets().get(topic)
    }

    /// All committed offsets of a group by topic.
    pub(crate) fn all_committed(&self, group: &str) -> Vec<(String, Committed)> {
        let offsets = self.by_id.get(group).map(Group::offsets).into_iter().flatten();
        offsets.map(|(topic, offset)| (topic.clone(), offset.clone())).collect()
    }

    /// All committed offsets as (group, topic, offset).
    pub(crate) fn everything_committed(&self) -> impl Iterator<Item = (&str, &str, &Committed)> {
        self.by_id.iter().flat_map(|(id, group)| {
            group.offsets().iter().map(move |(topic, offset)| (id.as_str(), topic.as_str(), offset))
        })
    }

    /// Forgets the offsets of a deleted topic.
    pub(crate) fn forget_topic(&mut self, topic: &str) {
        for group in self.by_id.values_mut() {
            group.forget_topic(topic);
        }
    }

    /// Removes members that fell silent, ends rebalances that took too long and forgets groups without content.
    pub(crate) fn tick(&mut self, now: Instant) {
        for group in self.by_id.values_mut() {
            group.tick(now);
        }
        self.by_id.retain(|_, group| !group.is_blank());
    }

    /// All groups.
    pub(crate) fn views(&self) -> Vec<GroupView> {
        self.by_id.iter().map(|(id, group)| group.view(id)).collect()
    }

    /// One group.
    pub(crate) fn view(&self, id: &str) -> Option<GroupView> {
        self.by_id.get(id).map(|group| group.view(id))
    }

    fn may_join(&self, request: &JoinRequest) -> Result<(), ResponseError> {
        if request.group.is_empty() {
            return Err(ResponseError::InvalidGroupId);
        }
        if !(SESSION_TIMEOUT_MIN..=SESSION_TIMEOUT_MAX).contains(&request.session_timeout) {
            return Err(ResponseError::InvalidSessionTimeout);
        }
        if request.protocol_type.is_empty() || request.protocols.is_empty() {
            return Err(ResponseError::InconsistentGroupProtocol);
        }
        if !self.by_id.contains_key(&request.group) && self.by_id.len() >= self.groups_max {
            return Err(ResponseError::GroupMaxSizeReached);
        }
        Ok(())
    }

    fn member_group(&mut self, speaker: &Speaker) -> Result<&mut Group, ResponseError> {
        let group = self.by_id.get_mut(&speaker.group).ok_or(ResponseError::UnknownMemberId)?;
        group.check(&speaker.member, speaker.generation)?;
        Ok(group)
    }
}

#[cfg(test)]
mod tests;
