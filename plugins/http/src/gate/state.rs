//! What a gate knows, behind one short lock.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::held::{Group, Held};
use super::outcome::Told;
use crate::replays::Replays;
use crate::settings::Bounds;

/// What it knows.
pub(super) struct State {
    pub(super) is_closed: bool,
    pub(super) nacks: u32,
    pub(super) nacked_at: Option<Instant>,
    /// The spool cannot be written.
    pub(super) is_broken: bool,
    /// The writer of the spool sleeps, and must be woken by the next post.
    pub(super) is_writer_asleep: bool,
    /// Bytes that the spool is writing.
    pub(super) writing_bytes: u64,
    pub(super) held: Held,
    pub(super) replays: Replays<Told>,
    opened: Instant,
}

/// The lock around it.
pub(super) struct Shared(Mutex<State>);

impl Shared {
    /// Of a gate whose next post has the number `next`.
    pub(super) fn new(bounds: &Bounds, next: u64) -> Shared {
        Shared(Mutex::new(State {
            is_closed: false,
            nacks: 0,
            nacked_at: None,
            is_broken: false,
            is_writer_asleep: false,
            writing_bytes: 0,
            held: Held::new(next),
            replays: Replays::new(bounds.dedupe_window, bounds.dedupe_capacity),
            opened: Instant::now(),
        }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody waits for a post any more. If no batch ever held it, it is as if it had never come.
    pub(super) fn withdraw(&self, number: u64) {
        let mut state = self.lock();
        if let Some(digest) = state.held.withdraw(number) {
            state.replays.forget(&digest);
        }
    }
}

impl State {
    /// Bytes of posts in memory, on their way into the spool too.
    pub(super) fn bytes(&self) -> u64 {
        self.held.bytes() + self.writing_bytes
    }

    /// Since the gate was opened; what the cache of deliveries counts in.
    pub(super) fn age(&self) -> Duration {
        self.opened.elapsed()
    }

    /// The names of these posts are remembered: they are safe.
    pub(super) fn finish(&mut self, group: &Group) {
        let now = self.age();
        for digest in group.digests() {
            self.replays.finish(digest, now);
        }
    }

    /// The names of these posts may come again: they are not safe.
    pub(super) fn forget(&mut self, group: &Group) {
        for digest in group.digests() {
            self.replays.forget(&digest);
        }
    }
}
