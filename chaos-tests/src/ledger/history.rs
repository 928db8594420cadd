//! What was seen in the state store, in order (K8), and what a batch may not go below (K4, K7).

use std::collections::HashSet;

use super::sighting::{BatchId, describe};
use crate::journal::Saved;

#[derive(Debug, Clone, Copy)]
struct Observation {
    wall_ms: i64,
    saved: Saved,
}

/// Every different state that was seen.
#[derive(Debug, Default)]
pub(super) struct History {
    observations: Vec<Observation>,
    ended_lives: HashSet<u64>,
}

impl History {
    /// The newest state seen.
    pub(super) fn last(&self) -> Option<Saved> {
        self.observations.last().map(|seen| seen.saved)
    }

    /// Takes the state that was read by `wall_ms`; a finding is a step that a store must never make.
    pub(super) fn saw(&mut self, wall_ms: i64, saved: Saved) -> Option<String> {
        let Some(before) = self.last() else {
            self.observations.push(Observation { wall_ms, saved });
            return None;
        };
        if before == saved {
            return None;
        }
        self.observations.push(Observation { wall_ms, saved });
        let step = format!("{} follows {}", describe(saved), describe(before));
        if saved.position < before.position {
            return Some(format!("{step}: the position goes back"));
        }
        if before.life == saved.life {
            return (saved.number <= before.number).then(|| format!("{step}: the number does not rise"));
        }
        self.ended_lives.insert(before.life);
        if self.ended_lives.contains(&saved.life) {
            return Some(format!("{step}: a life saves after a later one did"));
        }
        // An opening writes what it loaded again, under its own life and the same number.
        if saved.number < before.number
            || (saved.number == before.number && saved.position != before.position)
        {
            return Some(format!("{step}: the number does not rise"));
        }
        None
    }

    /// The store was read and held nothing.
    pub(super) fn saw_nothing(&self) -> Option<String> {
        self.last().map(|before| format!("the state is gone after {}", describe(before)))
    }

    /// The newest state that was certainly saved before `batch` was polled: one of its own life with a smaller
    /// number, or one of another life that was read before its own began.
    pub(super) fn floor(&self, batch: BatchId, life_began_ms: i64) -> Option<Saved> {
        let precedes = |seen: &Observation| {
            if seen.saved.life == batch.life {
                seen.saved.number < batch.number
            } else {
                seen.wall_ms <= life_began_ms
            }
        };
        self.observations.iter().rev().find(|seen| precedes(seen)).map(|seen| seen.saved)
    }
}
