//! The order in which batches were returned, as far as it is open.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Batch, Verdict};

/// The stamps of the batches returned and not resolved, in order; kept by whoever drives the source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Arc<Mutex<VecDeque<Option<u64>>>>);

impl Turns {
    /// A batch was returned.
    pub(crate) fn returned(&self, batch: &Batch) {
        self.lock().push_back(batch.stamp);
    }

    /// The source was told `verdict`.
    pub(crate) fn resolved(&self, verdict: Verdict) {
        match verdict {
            Verdict::Ack => drop(self.lock().pop_front()),
            Verdict::Nack => self.lock().clear(),
        }
    }

    /// The stamp of the batch the next verdict is about.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.lock().front().copied().flatten()
    }

    /// The stamp of the last returned batch that has one.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.lock().iter().rev().copied().flatten().next()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Option<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
