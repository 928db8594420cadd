//! One topic: the order of its first occurrences (K6) and the shape of its runs (K7).

use std::collections::HashMap;
use std::ops::Range;

use super::intervals::Intervals;
use super::report::Law;
use super::sighting::{BatchId, Rank, Seen, name};

/// What a record is to its topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its sequence comes for the first time.
    First,
    /// It came before, in a batch no later than this one.
    Copy,
    /// It came before, and this copy belongs to a batch older than one that is already here.
    Late,
}

/// The records `first`, `first + pool`, `first + 2 × pool` … in the order of the log. Inside, they are counted
/// 0, 1, 2 ….
#[derive(Debug)]
pub(super) struct Lane {
    first: u64,
    pool: u64,
    present: Intervals,
    newest: Option<(Rank, BatchId)>,
    /// The last record of each batch here.
    last: HashMap<BatchId, u64>,
}

impl Lane {
    pub(super) fn new(first: u64, pool: u64) -> Self {
        Self { first, pool, present: Intervals::default(), newest: None, last: HashMap::new() }
    }

    /// Takes the next record of the log; findings begin after "sequence … of batch …".
    pub(super) fn take(&mut self, seen: &Seen, pool: u64) -> (Vec<(Law, String)>, Kind) {
        let place = (seen.sequence - self.first) / pool;
        let mut findings: Vec<(Law, String)> =
            self.shape(seen).into_iter().map(|text| (Law::K7, text)).collect();
        let highest = self.present.end();
        let is_first = self.present.insert(place);
        let older = self.newest.filter(|(rank, _)| *rank > seen.rank);
        if self.newest.is_none_or(|(rank, _)| rank < seen.rank) {
            self.newest = Some((seen.rank, seen.batch));
        }
        if is_first {
            if place < highest {
                let above = self.sequence(highest - 1);
                findings.push((Law::K6, format!("comes for the first time after sequence {above} did")));
            }
            return (findings, Kind::First);
        }
        (findings, if older.is_some() { Kind::Late } else { Kind::Copy })
    }

    /// The records of a batch that reach a topic are a prefix of those that were sent to it, in their order.
    fn shape(&mut self, seen: &Seen) -> Option<String> {
        let Some(start) = seen.sequence.checked_sub(seen.index) else {
            return Some(format!("has index {}, so its batch would begin below zero", seen.index));
        };
        let wanted = match self.last.insert(seen.batch, seen.sequence) {
            Some(last) => last + self.pool,
            None => start + (self.first + self.pool - start % self.pool) % self.pool,
        };
        (seen.sequence != wanted)
            .then(|| format!("follows where sequence {wanted} of {} must", name(seen.batch)))
    }

    /// The smallest sequence of this topic that has not come.
    pub(super) fn first_missing(&self) -> u64 {
        self.sequence(self.present.first_missing())
    }

    /// Runs of sequences of this topic that never came, below `position` or below one that did come. The end is the
    /// last missing one.
    pub(super) fn holes(&self, position: u64) -> Vec<Range<u64>> {
        let below = position.saturating_sub(self.first).div_ceil(self.pool);
        let holes = self.present.holes(below.max(self.present.end()));
        holes.into_iter().map(|hole| self.sequence(hole.start)..self.sequence(hole.end - 1)).collect()
    }

    fn sequence(&self, place: u64) -> u64 {
        self.first + place * self.pool
    }
}
