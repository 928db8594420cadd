//! What members and admin tools ask of a consumer group, and what they are told.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use tokio::sync::oneshot;

/// Longest text a client may keep beside an offset, as Kafka's `offset.metadata.max.bytes`.
pub(crate) const OFFSET_METADATA_BYTES_MAX: usize = 4_096;

/// Where a group stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum GroupState {
    /// No members; there may be committed offsets.
    #[default]
    Empty,
    /// Waiting for all members to join again.
    PreparingRebalance,
    /// Waiting for the leader's assignments.
    CompletingRebalance,
    /// At work.
    Stable,
}

impl GroupState {
    /// Kafka's name for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

/// An answer that is there, or will be sent when the group moves.
#[derive(Debug)]
pub(crate) enum Reply<T> {
    Now(T),
    Later(oneshot::Receiver<T>),
}

/// A member's wish to join.
#[derive(Debug, Clone)]
pub(crate) struct JoinRequest {
    pub(crate) group: String,
    /// Empty for a newcomer.
    pub(crate) member: String,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) session_timeout: Duration,
    pub(crate) rebalance_timeout: Duration,
    pub(crate) protocol_type: String,
    /// Names of the assignors the member knows, the preferred one first, each with its metadata.
    pub(crate) protocols: Vec<(String, Bytes)>,
    /// Whether a newcomer is only told its id and has to come again with it, which keeps a client that never gets its
    /// answer from filling the group with ghosts.
    pub(crate) needs_id_first: bool,
}

/// A new generation, as one member sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) generation: i32,
    pub(crate) protocol: String,
    pub(crate) leader: String,
    pub(crate) member: String,
    /// Member ids with their metadata; only the leader sees them.
    pub(crate) members: Vec<(String, Bytes)>,
}

/// Why a member did not join; with its id, which it may need to come again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JoinRefused {
    pub(crate) error: ResponseError,
    pub(crate) member: String,
}

pub(crate) type JoinAnswer = Result<Joined, JoinRefused>;
pub(crate) type SyncAnswer = Result<Bytes, ResponseError>;

/// Who speaks: a member of a generation, or an outsider with generation -1 and no id.
#[derive(Debug, Clone)]
pub(crate) struct Speaker {
    pub(crate) group: String,
    pub(crate) member: String,
    pub(crate) generation: i32,
}

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) offset: i64,
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: String,
}

impl Committed {
    /// Whether the text beside the offset is short enough.
    pub(crate) fn check(&self) -> Result<(), ResponseError> {
        match self.metadata.len() {
            0..=OFFSET_METADATA_BYTES_MAX => Ok(()),
            _ => Err(ResponseError::OffsetMetadataTooLarge),
        }
    }
}

/// A group as admin tools show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupView {
    pub(crate) id: String,
    pub(crate) state: GroupState,
    pub(crate) protocol_type: String,
    pub(crate) protocol: String,
    pub(crate) members: Vec<MemberView>,
}

/// A member as admin tools show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberView {
    pub(crate) id: String,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) metadata: Bytes,
    pub(crate) assignment: Bytes,
}
