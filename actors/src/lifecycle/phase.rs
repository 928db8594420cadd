//! Where a source stands, as values: its phase, what it owes and waits for, and the batches in flight.

use super::effect::Token;
use super::input::{Limits, Stage};

/// Where the source stands. What exists only in one phase lives in its variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Holds nothing.
    Stopped,
    /// Store, broker and plugin are being opened.
    Opening,
    /// Waits before it opens again.
    Waiting {
        /// The wake that ends the wait.
        token: Token,
    },
    /// Polls, or holds before the next poll.
    Active,
    /// Something failed at batch `from`: no poll, predecessors run on, then one Nack.
    Rewinding {
        /// Oldest failed batch.
        from: u64,
        /// Which stages said quiet for this very `from`.
        quiet: QuietSet,
        /// Whether this rewind counts as a nack (a refused watermark does not).
        is_counted: bool,
    },
    /// No polls; plugin, lease and client stay.
    Paused,
    /// Gave up until a person, or `restart_after`, opens it again. Holds the lease at most.
    Halted {
        /// The wake that opens it again, when the cause may pass.
        restart: Option<Token>,
    },
    /// The tree is coming down.
    Closing {
        /// Where it goes from there.
        then: Then,
    },
}

/// Where a source goes once its tree is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Then {
    /// Holds nothing.
    Stopped,
    /// Opens at once.
    Open,
    /// Opens after the backoff of the present count.
    OpenAfterBackoff,
    /// Gives up.
    Halted,
}

/// The stages that must be quiet before a Nack is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct QuietSet {
    pub(super) poller: bool,
    pub(super) producer: bool,
    pub(super) checkpointer: bool,
}

impl QuietSet {
    pub(super) fn add(&mut self, stage: Stage) {
        match stage {
            Stage::Poller => self.poller = true,
            Stage::Router => {}
            Stage::Producer => self.producer = true,
            Stage::Checkpointer => self.checkpointer = true,
        }
    }

    pub(super) fn is_complete(self) -> bool {
        self.poller && self.producer && self.checkpointer
    }
}

/// Why a source shows `error` until a batch is delivered or a person acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Latch {
    /// A state could not be saved.
    Save,
    /// The nack limit was reached.
    Limit,
    /// The nack limit was reached and the cause needs a human.
    LimitForHuman,
    /// Opening failed in a way that will not pass by itself.
    Open,
    /// Somebody else owns the state.
    Fenced,
    /// A call into the plugin never came back; the instance is leaked.
    Hung,
}

impl Latch {
    /// Whether only a person can end it.
    pub(super) fn needs_human(self) -> bool {
        match self {
            Latch::Save | Latch::Limit => false,
            Latch::LimitForHuman | Latch::Open | Latch::Fenced | Latch::Hung => true,
        }
    }
}

/// What a refusal by the store may mean. The late write of a killed process of ours looks like somebody else's, so
/// the first refusal of an opening reopens from the store, once until a save landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Refusal {
    /// No save was tried since the opening: it may be our own.
    MayBeOurs,
    /// It was refused: reopen once the Nack is told.
    Reopen,
    /// Reopened for it: the next one is somebody else's.
    Reopened,
    /// A save landed: the next one is somebody else's.
    Settled,
}

/// A command that acts once the window is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Pending {
    Pause,
    Restart,
    Stop,
}

/// Whether the store owes an answer to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Probe {
    None,
    /// A save failed; the wait begins when its Nack was told.
    Owed {
        token: Option<Token>,
    },
    Running,
}

/// What the last error was about, which decides when it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Blame {
    Nack,
    Poll,
    Open,
}

/// A definition that has not opened yet while one that did is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Trial {
    /// Only one definition is known.
    None,
    /// The changed one is opened.
    New {
        /// Limits of the one that opened before.
        former: Limits,
    },
    /// The changed one did not open, the former one is opened again.
    Back {
        /// Limits of the changed one, when it failed for a reason that may pass.
        passing: Option<Limits>,
    },
}

/// A batch in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flight {
    /// Its number; an empty batch bears the number of the next one.
    pub number: u64,
    /// What it holds and how far it is.
    pub kind: FlightKind,
    /// Bytes it keeps in memory.
    pub bytes: u64,
}

/// What a batch in flight holds and how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlightKind {
    /// No records, no state: its Ack waits for its turn only.
    Empty,
    /// A watermark that is told Nack.
    Refused,
    /// A watermark on its way to the store.
    Watermark,
    /// Records on their way.
    Records,
    /// Saved; its Ack waits for its turn.
    Saved {
        /// Whether it held records, sent or filtered.
        had_records: bool,
        /// Records in the log.
        delivered: u32,
    },
}

impl FlightKind {
    pub(super) fn is_ready(self) -> bool {
        match self {
            FlightKind::Empty | FlightKind::Saved { .. } => true,
            FlightKind::Refused | FlightKind::Watermark | FlightKind::Records => false,
        }
    }
}
