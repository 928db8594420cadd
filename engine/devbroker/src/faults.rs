//! Faults on purpose: what a test or `dev` can make this broker do wrong.
//!
//! A fault is data that is set before or during a run; the broker asks for it at fixed places. Each one that struck is
//! counted, so that a test can show that it happened at all.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafka_protocol::ResponseError;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::offered::Api;

/// The fault switches of one broker. Clones switch the same broker.
#[derive(Debug, Clone)]
pub struct FaultKnobs {
    shared: Arc<Shared>,
}

/// How often each fault struck since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Connections cut after an append, before its answer.
    pub cut: u64,
    /// Requests answered with an error on purpose.
    pub failed: u64,
    /// Answers never sent.
    pub swallowed: u64,
    /// Answers sent late.
    pub delayed: u64,
    /// Connections closed because the broker was down.
    pub refused: u64,
    /// Batches refused because their topic was full.
    pub filled: u64,
}

#[derive(Debug)]
struct Shared {
    plan: Mutex<Plan>,
    down: watch::Sender<Down>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Plan {
    cut_every: u32,
    cut_next: u32,
    produced: u64,
    failures: Vec<Failure>,
    delay: Duration,
    is_swallowing: bool,
    quotas: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct Failure {
    api: Api,
    error: ResponseError,
    left: u32,
    is_applied: bool,
}

#[derive(Debug, Default)]
struct Counts {
    cut: AtomicU64,
    failed: AtomicU64,
    swallowed: AtomicU64,
    delayed: AtomicU64,
    refused: AtomicU64,
    filled: AtomicU64,
}

/// Whether the broker plays dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Down {
    No,
    Until(Instant),
    UntilToldOtherwise,
}

/// What to do wrong with one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Injected {
    /// Answer this error and do nothing.
    pub(crate) refuse: Option<ResponseError>,
    /// Do it and answer this error.
    pub(crate) lie: Option<ResponseError>,
    /// Do it and cut the connection instead of answering.
    pub(crate) cut: bool,
}

/// What to do wrong with one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnswerFault {
    pub(crate) delay: Duration,
    pub(crate) is_swallowed: bool,
}

impl FaultKnobs {
    /// Cuts the connection of every `n`-th Produce request after its batches were appended and before the answer.
    /// The count runs over all connections and includes retries; 0 switches it off.
    pub fn cut_every(&self, n: u32) {
        let mut plan = self.plan();
        plan.cut_every = n;
        plan.produced = 0;
    }

    /// Cuts the connections of the next `count` Produce requests in the same way.
    pub fn cut_next(&self, count: u32) {
        self.plan().cut_next = count;
    }

    /// Answers the next `count` requests of `api` with `error` without doing what they ask. Several calls queue up; each
    /// request uses up the oldest that fits.
    pub fn fail_next(&self, api: Api, error: ResponseError, count: u32) {
        self.plan().failures.push(Failure { api, error, left: count, is_applied: false });
    }

    /// Appends what the next `count` Produce requests bring and answers `error` all the same, as with
    /// `NotEnoughReplicasAfterAppend` or `RequestTimedOut`.
    pub fn fail_after_append(&self, error: ResponseError, count: u32) {
        self.plan().failures.push(Failure { api: Api::Produce, error, left: count, is_applied: true });
    }

    /// Sends every answer so much later. Zero switches it off.
    pub fn delay_answers(&self, delay: Duration) {
        self.plan().delay = delay;
    }

    /// Whether requests are carried out but never answered. Answers swallowed once never come.
    pub fn swallow_answers(&self, is_swallowing: bool) {
        self.plan().is_swallowing = is_swallowing;
    }

    /// Cuts all connections and closes new ones at once, until [`FaultKnobs::bring_up`]. The port stays bound, so that no
    /// other process can take it: clients see their connection closed rather than refused.
    pub fn take_down(&self) {
        self.shared.down.send_replace(Down::UntilToldOtherwise);
    }

    /// As [`FaultKnobs::take_down`], for so long.
    pub fn take_down_for(&self, period: Duration) {
        self.shared.down.send_replace(Down::Until(Instant::now() + period));
    }

    /// Ends a [`FaultKnobs::take_down`].
    pub fn bring_up(&self) {
        self.shared.down.send_replace(Down::No);
    }

    /// Fills a topic: an append that would take it past `bytes` is refused with `KAFKA_STORAGE_ERROR`, as a full disk
    /// would. `None` makes room again. The topic need not exist yet.
    pub fn fill_up(&self, topic: &str, bytes: Option<u64>) {
        let quotas = &mut self.plan().quotas;
        match bytes {
            Some(bytes) => quotas.insert(topic.to_owned(), bytes),
            None => quotas.remove(topic),
        };
    }

    /// Switches every fault off. The counts stay.
    pub fn clear(&self) {
        *self.plan() = Plan::default();
        self.bring_up();
    }

    /// How often each fault struck.
    pub fn counts(&self) -> FaultCounts {
        let counts = &self.shared.counts;
        FaultCounts {
            cut: counts.cut.load(Ordering::Relaxed),
            failed: counts.failed.load(Ordering::Relaxed),
            swallowed: counts.swallowed.load(Ordering::Relaxed),
            delayed: counts.delayed.load(Ordering::Relaxed),
            refused: counts.refused.load(Ordering::Relaxed),
            filled: counts.filled.load(Ordering::Relaxed),
        }
    }
}

impl FaultKnobs {
    /// No fault at all.
    pub(crate) fn none() -> Self {
        let shared =
            Shared { plan: Mutex::default(), down: watch::Sender::new(Down::No), counts: Counts::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Asked once a request, before it is carried out.
    pub(crate) fn on_request(&self, api: Api) -> Injected {
        let mut plan = self.plan();
        let mut injected = Injected::default();
        if let Some(failure) = plan.failures.iter_mut().find(|failure| failure.api == api && failure.left > 0)
        {
            failure.left -= 1;
            match failure.is_applied {
                true => injected.lie = Some(failure.error),
                false => injected.refuse = Some(failure.error),
            }
            self.shared.counts.failed.fetch_add(1, Ordering::Relaxed);
        }
        plan.failures.retain(|failure| failure.left > 0);
        if api == Api::Produce {
            injected.cut = plan.is_cut_due();
        }
        if injected.cut {
            self.shared.counts.cut.fetch_add(1, Ordering::Relaxed);
        }
        injected
    }

    /// Asked once an answer, before it is sent.
    pub(crate) fn on_answer(&self) -> AnswerFault {
        let plan = self.plan();
        if plan.is_swallowing {
            self.shared.counts.swallowed.fetch_add(1, Ordering::Relaxed);
        } else if !plan.delay.is_zero() {
            self.shared.counts.delayed.fetch_add(1, Ordering::Relaxed);
        }
        AnswerFault { delay: plan.delay, is_swallowed: plan.is_swallowing }
    }

    /// Asked before an append: whether the topic has room for a log of so many bytes.
    pub(crate) fn has_room(&self, topic: &str, bytes_after: u64) -> bool {
        let has_room = self.plan().quotas.get(topic).is_none_or(|quota| bytes_after <= *quota);
        if !has_room {
            self.shared.counts.filled.fetch_add(1, Ordering::Relaxed);
        }
        has_room
    }

    /// Whether a new connection is to be closed at once.
    pub(crate) fn refuses_connections(&self) -> bool {
        let is_down = self.shared.down.borrow().is_down(Instant::now());
        if is_down {
            self.count_refused();
        }
        is_down
    }

    /// Notes that an open connection was cut because the broker went down.
    pub(crate) fn count_refused(&self) {
        self.shared.counts.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes when the broker goes down or comes up.
    pub(crate) fn watch_down(&self) -> watch::Receiver<Down> {
        self.shared.down.subscribe()
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.shared.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plan {
    fn is_cut_due(&mut self) -> bool {
        self.produced += 1;
        if self.cut_next > 0 {
            self.cut_next -= 1;
            return true;
        }
        self.cut_every > 0 && self.produced.is_multiple_of(u64::from(self.cut_every))
    }
}

impl Down {
    /// Whether the broker is down at `now`.
    pub(crate) fn is_down(self, now: Instant) -> bool {
        match self {
            Self::No => false,
            Self::Until(end) => now < end,
            Self::UntilToldOtherwise => true,
        }
    }
}

#[cfg(test)]
mod tests;
