//! A batch and a record of it, as they are seen in the logs.

use crate::journal::Saved;

/// One batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchId {
    /// The opening of the source.
    pub life: u64,
    /// The number within it.
    pub number: u64,
}

/// Where a batch stands among all batches, whatever random number its life has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Rank {
    /// The time of the first record seen of its life.
    pub(super) life_began_ms: i64,
    pub(super) number: u64,
}

/// A record whose form was right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) sequence: u64,
    pub(super) offset: i64,
    pub(super) batch: BatchId,
    pub(super) rank: Rank,
    pub(super) index: u64,
    pub(super) size: u64,
}

pub(super) fn name(batch: BatchId) -> String {
    format!("{:x}/{}", batch.life, batch.number)
}

pub(super) fn describe(saved: Saved) -> String {
    let batch = BatchId { life: saved.life, number: saved.number };
    format!("state {} of batch {}", saved.position, name(batch))
}
