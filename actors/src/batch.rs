//! The batch as it moves down the line: each type is made by one stage only and eaten by the next, so a later stage
//! cannot be reached without the earlier one.

use std::time::{Duration, Instant};

use pico_record::Routed;
use picomq_connector_sdk::ffi::host::GuestBatch;

use crate::batch_id::BatchId;

/// Where the time of a batch went.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) polled: Instant,
    pub(crate) poll: Duration,
    pub(crate) decode: Duration,
    pub(crate) prepare: Duration,
    pub(crate) broker_send: Duration,
}

impl Timing {
    pub(crate) fn new(poll: Duration) -> Timing {
        let none = Duration::ZERO;
        Timing { polled: Instant::now(), poll, decode: none, prepare: none, broker_send: none }
    }
}

/// What of a batch is left to say once its records are on their way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Records polled.
    pub(crate) polled: u32,
    /// Records that go to the broker, over all blocks and with the dead letters.
    pub(crate) delivered: u32,
    /// Those of them that are dead letters.
    pub(crate) dead_letters: u32,
    /// Records that go nowhere: dropped by a rule, or skipped by `[errors]`.
    pub(crate) filtered: u32,
    /// Bytes that go to the broker.
    pub(crate) bytes: u64,
}

/// Made by the poller only.
pub(crate) struct PolledBatch {
    pub(crate) id: BatchId,
    pub(crate) batch: GuestBatch,
    pub(crate) timing: Timing,
}

/// Made by the router only.
pub(crate) struct RoutedBatch {
    pub(crate) id: BatchId,
    pub(crate) routed: Routed,
    pub(crate) timing: Timing,
}

/// Made by the producer only, when every report is good (I1).
pub(crate) struct DeliveredBatch {
    pub(crate) id: BatchId,
    pub(crate) counts: Counts,
    pub(crate) state: Option<Vec<u8>>,
    pub(crate) timing: Timing,
}
