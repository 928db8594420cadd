//! What the gate looks at: polls, and bodies under way.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Whether a poll is outstanding, and since when none is.
pub(super) struct Polls(Mutex<(u32, Instant)>);

impl Polls {
    /// None yet.
    pub(super) fn new(now: Instant) -> Polls {
        Polls(Mutex::new((0, now)))
    }

    /// One begins; it ends when the answer is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Polling {
        self.lock().0 += 1;
        Polling(Arc::clone(self))
    }

    /// Since the last one ended; zero while there is one.
    pub(super) fn unpolled(&self) -> Duration {
        let (outstanding, ended) = *self.lock();
        if outstanding > 0 { Duration::ZERO } else { ended.elapsed() }
    }

    fn lock(&self) -> MutexGuard<'_, (u32, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A poll under way.
pub(crate) struct Polling(Arc<Polls>);

impl Drop for Polling {
    fn drop(&mut self) {
        let mut polls = self.0.lock();
        *polls = (polls.0.saturating_sub(1), Instant::now());
    }
}

/// Bytes of a body under way, given back when it is done.
pub(crate) struct Reserved {
    all: Arc<AtomicU64>,
    bytes: u64,
}

impl Reserved {
    pub(super) fn new(all: &Arc<AtomicU64>) -> Reserved {
        Reserved { all: Arc::clone(all), bytes: 0 }
    }

    /// So many bytes more came.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.all.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
