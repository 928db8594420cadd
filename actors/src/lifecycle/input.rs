//! What goes into the lifecycle: what is asked of a source, what its tree says, and the limits it has.

use super::effect::Token;
use crate::cause::{Cause, OpenFailure};

/// Everything that can happen to a source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// A person, the root or the shutdown wants something.
    Order(Order),
    /// A wait ended.
    Wake(Token),
    /// The bytes in flight of the whole process went over, or fell under, their limit.
    Total {
        /// Whether they are over it now.
        is_over: bool,
    },
    /// An actor of the tree died.
    ChildLost {
        /// Epoch of the `Open` that made the tree, or any later one of that tree.
        epoch: u64,
        /// What to tell people.
        cause: Cause,
    },
    /// The tree is down.
    Ended(Ended),
    /// Something the tree has to say.
    Event {
        /// Epoch the teller knew.
        epoch: u64,
        /// What happened.
        event: Event,
    },
}

/// What a person, the root or the shutdown wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The process or the source begins: open as a person last asked, which may be to a pause or not at all.
    Launch,
    /// Open, unless it runs; resets the counters.
    Start,
    /// Stop polling, keep the plugin open.
    Pause,
    /// Poll again.
    Resume,
    /// Close and open again; resets the counters.
    Restart,
    /// Close, and open with the changed definition whose limits these are; resets the counters.
    Reload(Limits),
    /// The definition in force is the wanted one after all: a reload that waits is called off, a failed one forgotten.
    Keep,
    /// Close for good; a person's wish, obeyed after a restart of the process.
    Stop,
    /// Close for good because the process ends.
    Shutdown,
}

/// How the tree came down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ended {
    /// A call into the plugin never came back: nothing is opened in this process any more.
    pub is_leaked: bool,
}

/// What the tree has to say, in the order it happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// Store, broker and plugin are open.
    Opened {
        /// Number of the newest saved batch; 0 for none.
        number: u64,
        /// W for this instance: 1 unless plugin and broker both allow more.
        window: usize,
    },
    /// One of them did not open.
    OpenFailed(OpenFailure),
    /// A poll gave a batch.
    Polled {
        /// The number its `Poll` carried.
        number: u64,
        /// What it holds.
        kind: PolledKind,
        /// Records in it.
        records: u32,
        /// Bytes in it.
        bytes: u64,
    },
    /// The poll was interrupted and gave nothing.
    PollEnded,
    /// The poll gave an error.
    PollFailed {
        /// It will not pass by itself.
        is_permanent: bool,
        /// What to tell people.
        cause: Cause,
    },
    /// The plugin panicked or broke the border's rules.
    Broken(Cause),
    /// A batch failed in the router or the producer.
    Failed {
        /// The failed batch; for a lost client the oldest not wholly delivered.
        number: u64,
        /// Who failed it: router or producer.
        stage: Stage,
        /// What to tell people.
        cause: Cause,
        /// The client must be dropped, else its reports never end.
        is_client_lost: bool,
        /// Trying again by itself cannot help.
        needs_human: bool,
    },
    /// Nothing of batch `from` or later is outstanding with this stage.
    Quiet {
        /// Who says so.
        stage: Stage,
        /// The `from` of the `Quiesce` it answers.
        from: u64,
    },
    /// The state of this batch, or a later one, is saved; told for each batch in order.
    Saved {
        /// The batch.
        number: u64,
        /// Records of it in the log; 0 for filtered ones and watermarks.
        delivered: u32,
    },
    /// The store could not save.
    SaveFailed {
        /// The oldest batch that the save covered.
        number: u64,
        /// What to tell people.
        cause: Cause,
    },
    /// Somebody else owns the state.
    Fenced {
        /// The oldest batch that the save covered.
        number: u64,
        /// What to tell people.
        cause: Cause,
    },
    /// The probe ended.
    Probed {
        /// The store took it.
        has_landed: bool,
    },
    /// The plugin took the verdict.
    Resolved,
    /// The plugin refused the verdict, panicked in it, or did not come back in time.
    ResolveFailed(Cause),
}

/// What a poll gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PolledKind {
    /// No records, no state.
    Empty,
    /// No records, but a state.
    Watermark,
    /// A watermark right after a nacked batch: sent nowhere, told Nack.
    Refused,
    /// Records.
    Records,
}

/// The stages of the line. All but the router hold something of a batch that must end before a Nack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Holds the poll.
    Poller,
    /// Holds nothing that outlives its handler: what it still has ends at the producer. It never says quiet.
    Router,
    /// Holds the delivery reports.
    Producer,
    /// Holds the save.
    Checkpointer,
}

/// Which batch failed and what that means.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure {
    pub(super) number: u64,
    pub(super) is_client_lost: bool,
    pub(super) needs_human: bool,
}

/// What a person asked for; kept beside the state and obeyed after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Asked {
    /// Run.
    #[default]
    Running,
    /// Stay open, do not poll.
    Paused,
    /// Hold nothing.
    Stopped,
}

/// The limits the decisions need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// W: batches in flight at most, at least 1.
    pub window: usize,
    /// Bytes in flight past which no poll starts.
    pub in_flight_bytes: u64,
    /// Nacks in a row that halt the source.
    pub nack_limit: u32,
    /// Whether a halted source whose cause may pass is opened again by itself.
    pub restarts: bool,
}
