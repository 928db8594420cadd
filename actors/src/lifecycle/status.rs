//! I7: status and conditions are computed from the lifecycle, never set.

use picomq_connector_sdk::Verdict;
use serde::Serialize;

use super::{Asked, Blame, Flight, Latch, Lifecycle, Pending, Phase, Probe, Then, Trial};
use crate::cause::Cause;

/// Failures in a row from which a source makes the health `degraded`.
const DEGRADED_AFTER: u32 = 5;

/// The six statuses of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Being opened, or waiting to be opened again.
    Starting,
    /// Polls.
    Running,
    /// A person asked for no polls.
    Paused,
    /// Needs attention.
    Error,
    /// On its way to `stopped`.
    Stopping,
    /// Holds nothing.
    Stopped,
}

impl Status {
    /// All of them, in the order of the docs.
    pub const ALL: [Status; 6] =
        [Status::Starting, Status::Running, Status::Paused, Status::Error, Status::Stopping, Status::Stopped];

    /// The word used in the API and in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Starting => "starting",
            Status::Running => "running",
            Status::Paused => "paused",
            Status::Error => "error",
            Status::Stopping => "stopping",
            Status::Stopped => "stopped",
        }
    }
}

/// What stands beside the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Condition {
    /// Nacks go on below the limit.
    BackingOff {
        /// Nacks in a row.
        nacks: u32,
        /// The limit.
        limit: u32,
    },
    /// The last poll had nothing.
    Idle,
    /// A call never came back, or nothing moved for `stall_after`.
    Stalled,
    /// Somebody else owns the state.
    Fenced,
    /// The last batches in flight run to their verdicts before a stop, a restart or a reload.
    Draining,
    /// A changed definition could not be used, and the former one runs on.
    ReloadFailed,
    /// Five failures in a row.
    Degraded,
}

/// A list of conditions.
pub type Conditions = Vec<Condition>;

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Condition::BackingOff { nacks, limit } => write!(f, "backing_off({nacks}/{limit})"),
            Condition::Idle => f.write_str("idle"),
            Condition::Stalled => f.write_str("stalled"),
            Condition::Fenced => f.write_str("fenced"),
            Condition::Draining => f.write_str("draining"),
            Condition::ReloadFailed => f.write_str("reload_failed"),
            Condition::Degraded => f.write_str("degraded"),
        }
    }
}

impl Lifecycle {
    /// The status; first that fits, in the order of docs/architecture.md.
    pub fn status(&self) -> Status {
        let is_in_error = self.latched.is_some() || self.has_poll_error;
        match self.phase {
            Phase::Stopped => Status::Stopped,
            Phase::Closing { then: Then::Stopped } => Status::Stopping,
            Phase::Paused => Status::Paused,
            Phase::Halted { .. } => Status::Error,
            Phase::Opening | Phase::Waiting { .. } | Phase::Active if is_in_error => Status::Error,
            Phase::Rewinding { .. } | Phase::Closing { .. } if is_in_error => Status::Error,
            Phase::Opening | Phase::Waiting { .. } => Status::Starting,
            Phase::Closing { then: Then::Open | Then::OpenAfterBackoff } => Status::Starting,
            Phase::Closing { then: Then::Halted } => Status::Error,
            Phase::Active | Phase::Rewinding { .. } => Status::Running,
        }
    }

    /// Everything else there is to say, in a fixed order.
    pub fn conditions(&self) -> Conditions {
        let mut conditions = Vec::new();
        let has_given_up = matches!(self.phase, Phase::Stopped | Phase::Halted { .. });
        if self.nacks > 0 && !self.is_limit_reached() && !has_given_up {
            conditions.push(Condition::BackingOff { nacks: self.nacks, limit: self.limits.nack_limit });
        }
        if self.is_idle && self.phase == Phase::Active {
            conditions.push(Condition::Idle);
        }
        if self.latched == Some(Latch::Hung) {
            conditions.push(Condition::Stalled);
        }
        if self.latched == Some(Latch::Fenced) {
            conditions.push(Condition::Fenced);
        }
        if matches!(self.pending, Some(Pending::Stop | Pending::Restart)) {
            conditions.push(Condition::Draining);
        }
        if self.reload_error.is_some() {
            conditions.push(Condition::ReloadFailed);
        }
        if self.is_degraded() {
            conditions.push(Condition::Degraded);
        }
        conditions
    }

    /// Five failed openings or polls in a row.
    pub fn is_degraded(&self) -> bool {
        self.open_failures >= DEGRADED_AFTER || self.poll_failures >= DEGRADED_AFTER
    }

    /// The last error whose cause has not ended; without one, why the last reload failed.
    pub fn last_error(&self) -> Option<&Cause> {
        self.last_error.as_ref().map(|(_, cause)| cause).or(self.reload_error.as_ref())
    }

    /// Whether the last error is that of a reload, while the source itself is well.
    pub fn is_last_error_a_reload(&self) -> bool {
        self.last_error.is_none()
    }

    /// Whether the last reload failed and the former definition is in force.
    pub fn has_reload_failed(&self) -> bool {
        self.reload_error.is_some()
    }

    /// Whether a changed definition waits until it may open, or is being opened for the first time.
    pub fn is_reloading(&self) -> bool {
        self.next.is_some() || self.trial != Trial::None
    }

    /// Whether the last error is about a poll, which is no nack.
    pub fn is_last_error_a_poll(&self) -> bool {
        matches!(self.last_error, Some((Blame::Poll, _)))
    }

    /// Nacks in a row.
    pub fn consecutive_nacks(&self) -> u32 {
        self.nacks
    }

    /// The oldest batch in flight.
    pub fn head(&self) -> Option<&Flight> {
        self.window.front()
    }

    /// Whether the plugin is being told an Ack, that of the oldest batch.
    pub fn is_acking(&self) -> bool {
        self.resolving == Some(Verdict::Ack)
    }

    /// Batches polled and not yet resolved.
    pub fn in_flight(&self) -> usize {
        self.window.len()
    }

    /// Whether something must move: a batch is in flight or a verdict is owed. A poll may take for ever.
    pub fn is_waiting_for_progress(&self) -> bool {
        !self.window.is_empty() || matches!(self.phase, Phase::Closing { .. })
    }

    /// What a person asked for, to be kept beside the state.
    pub fn asked(&self) -> Asked {
        self.asked
    }

    /// Where the source stands.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The present epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether only a person can end the present error.
    pub fn needs_human(&self) -> bool {
        self.latched.is_some_and(Latch::needs_human)
    }

    /// Whether a failed save waits for the store to take a probe.
    pub fn is_probing(&self) -> bool {
        self.probe != Probe::None
    }
}
