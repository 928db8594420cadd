//! What comes out of the lifecycle: everything it may want done.

use picomq_connector_sdk::Verdict;

use crate::batch_id::BatchId;

/// Everything the lifecycle may want done.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Open store, broker and plugin; answer `Opened` or `OpenFailed`. A lease that Halted kept is given back first.
    Open {
        /// Epoch of the answer.
        epoch: u64,
        /// Whether the first poll is wanted at once, or the source opens to a pause.
        is_paused: bool,
    },
    /// The changed definition is in force from here on. Nothing is open.
    Adopt {
        /// Whether the one before it is kept, should the changed one not open.
        keeps_former: bool,
    },
    /// The definition in force and the one that was kept change places: it did not open. Nothing is open.
    Revert,
    /// Ask the plugin for a batch.
    Poll {
        /// Its name, should it be sent down the line.
        batch: BatchId,
        /// What to do with a watermark.
        refuse_watermark: bool,
    },
    /// Ask the running poll to return soon.
    Interrupt,
    /// Tell the plugin the verdict of the oldest batch (Ack) or of all that are left (Nack).
    Resolve {
        /// The verdict.
        verdict: Verdict,
    },
    /// Poller, producer and checkpointer drop what is `from` or later, and say `Quiet`.
    Quiesce {
        /// Epoch it holds for.
        epoch: u64,
        /// Oldest batch to drop.
        from: u64,
    },
    /// Drop the client, so that its reports end. Ignored in a later epoch.
    DropClient {
        /// Epoch it holds for.
        epoch: u64,
    },
    /// Try the failed save once more; answer `Probed`.
    Probe,
    /// Bring the tree down; answer `Ended`.
    Close {
        /// Whether the author's `close` is called; else children are killed and the instance only dropped.
        is_orderly: bool,
        /// Whether the lease stays, so that no other engine takes over a halted source.
        keeps_lease: bool,
    },
    /// Answer `Wake(token)` after the wait.
    Wake {
        /// What to answer.
        token: Token,
        /// How long, by name.
        wait: Wait,
    },
    /// A batch was told its Ack.
    Acked {
        /// Records of it in the log.
        delivered: u32,
    },
    /// A Nack was told and counts.
    Nacked,
}

/// Names a wait that was started; a wake with an older token is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// The named waits; [`crate::backoff`] gives them their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// After the n-th nack in a row.
    Nack(u32),
    /// After the n-th poll error in a row.
    Poll(u32),
    /// After a permanent poll error.
    PermanentPoll,
    /// After the n-th failed opening in a row.
    Open(u32),
    /// Before a halted source opens by itself for the n-th time.
    Restart(u32),
    /// Before a probe of the store.
    Probe,
    /// What a stop waits for batches in flight.
    Stop,
}
