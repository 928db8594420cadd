//! The batches seen so far: that each is what its header says (K2), that none was written twice (K4), and how far
//! each rewind went back (K5).

use std::collections::HashMap;

use super::report::Law;
use super::sighting::{BatchId, Rank, Seen, name};

#[derive(Debug)]
struct Batch {
    start: u64,
    size: u64,
    /// One bit a record.
    seen: Vec<u64>,
    /// Records of it whose sequence had come before; late ones apart.
    copies: u64,
}

/// All batches of a run.
#[derive(Debug, Default)]
pub(super) struct Batches {
    lives: HashMap<u64, i64>,
    batches: HashMap<BatchId, Batch>,
}

impl Batches {
    /// Where a batch stands. The lives of one source never overlap, so any record of a life orders it.
    pub(super) fn rank(&mut self, batch: BatchId, timestamp_ms: i64) -> Rank {
        let life_began_ms = *self.lives.entry(batch.life).or_insert(timestamp_ms);
        Rank { life_began_ms, number: batch.number }
    }

    pub(super) fn len(&self) -> usize {
        self.batches.len()
    }

    /// Takes one record of a batch; a finding begins after "sequence … of batch …".
    pub(super) fn take(&mut self, seen: &Seen, is_copy: bool) -> (Law, Option<String>) {
        let Some(start) = seen.sequence.checked_sub(seen.index) else { return (Law::K2, None) };
        if seen.index >= seen.size {
            return (Law::K2, Some(format!("has index {} in a batch of {}", seen.index, seen.size)));
        }
        let words = usize::try_from(seen.size.div_ceil(64)).expect("a batch fits in memory");
        let batch = self.batches.entry(seen.batch).or_insert_with(|| Batch {
            start,
            size: seen.size,
            seen: vec![0; words],
            copies: 0,
        });
        if (batch.start, batch.size) != (start, seen.size) {
            let text = format!(
                "is of a batch of {} from {start}, which was one of {} from {}",
                seen.size, batch.size, batch.start
            );
            return (Law::K2, Some(text));
        }
        batch.copies += u64::from(is_copy);
        let word = &mut batch.seen[usize::try_from(seen.index / 64).expect("below the size")];
        let bit = 1 << (seen.index % 64);
        let twice = *word & bit != 0;
        *word |= bit;
        (Law::K4, twice.then(|| "was written twice by one and the same batch".to_owned()))
    }

    /// Puts the batches in their order and looks at every place where one begins below the end of the one before:
    /// there a kill, a crash or a nack made the source go back. Answers those that went back, or repeated, more
    /// than could be in flight, and the most that was repeated at once.
    pub(super) fn rewinds(&self, in_flight_max: u64) -> (Vec<String>, u64) {
        let mut ordered: Vec<(Rank, BatchId, &Batch)> = self
            .batches
            .iter()
            .map(|(id, batch)| {
                let life_began_ms = self.lives[&id.life];
                (Rank { life_began_ms, number: id.number }, *id, batch)
            })
            .collect();
        ordered.sort_by_key(|(rank, ..)| *rank);
        let mut findings = Vec::new();
        let (mut end_before, mut frontier, mut copies, mut most) = (0, 0, 0, 0);
        for (_, id, batch) in ordered {
            if batch.start < end_before {
                let back = frontier - batch.start;
                if back > in_flight_max {
                    findings.push(format!(
                        "batch {} begins at {}, {back} below the furthest before it; {in_flight_max} may be in flight",
                        name(id),
                        batch.start
                    ));
                }
                copies = 0;
            }
            copies += batch.copies;
            most = most.max(copies);
            if copies > in_flight_max {
                let name = name(id);
                findings.push(format!(
                    "{copies} copies up to batch {name} since one incident, {in_flight_max} may be"
                ));
                copies = 0;
            }
            end_before = batch.start + batch.size;
            frontier = frontier.max(end_before);
        }
        (findings, most)
    }
}
