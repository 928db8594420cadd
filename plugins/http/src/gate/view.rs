//! What the gate looks at: polls, and bodies under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::Gate;

/// Whether a poll is outstanding, and since when none is.
pub(super) struct Polls {
    outstanding: u32,
    ended: Instant,
}

impl Polls {
    pub(super) fn new(now: Instant) -> Polls {
        Polls { outstanding: 0, ended: now }
    }

    pub(super) fn begin(&mut self) {
        self.outstanding += 1;
    }

    /// Since the last one ended; zero while there is one.
    pub(super) fn unpolled(&self) -> Duration {
        if self.outstanding > 0 { Duration::ZERO } else { self.ended.elapsed() }
    }
}

/// A poll under way.
pub(crate) struct Polling(pub(super) Arc<Gate>);

impl Drop for Polling {
    fn drop(&mut self) {
        let mut inner = self.0.inner();
        inner.polls.outstanding = inner.polls.outstanding.saturating_sub(1);
        inner.polls.ended = Instant::now();
    }
}

/// Bytes of a body under way, given back when it is done.
pub(crate) struct Reserved {
    all: Arc<AtomicU64>,
    bytes: u64,
}

impl Reserved {
    pub(super) fn new(all: &Arc<AtomicU64>, bytes: u64) -> Reserved {
        all.fetch_add(bytes, Ordering::Relaxed);
        Reserved { all: Arc::clone(all), bytes }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
