//! A look at the records of a source as they pass. While nobody looks, a batch costs one read of a flag; while somebody
//! does, so many records a second are copied and the rest are counted. Nothing here can hold up a batch.

mod glob;
mod sample;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use pico_record::{Group, Routed};
use picomq_connector_sdk::ffi::host::GuestBatch;
use tokio::sync::mpsc;

use crate::batch_id::BatchId;
pub use glob::Glob;
pub use sample::{Piece, Sample};

/// Records a listener is shown in a second.
const SHOWN_PER_SECOND: f64 = 100.0;

/// Records a listener is shown at once.
const BURST: f64 = 100.0;

/// Records that wait for a listener to take them. A sample is at most some 13 KiB, so a listener holds at most some
/// 3 MiB, what waits for its delivery among it.
const WAITING_MAX: usize = 128;

/// Listeners of one source.
const LISTENERS_MAX: usize = 4;

/// Where on its way a record is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapStage {
    /// As the plugin gave it.
    Polled,
    /// As it goes to the broker.
    Transformed,
    /// The same, once the broker has acknowledged its whole batch.
    Sent,
}

/// What a listener wants to see.
#[derive(Debug, Clone)]
pub struct TapFilter {
    /// Where.
    pub stage: TapStage,
    /// Topics; all when `None`. A polled record has none yet, so this is not for [`TapStage::Polled`].
    pub topic: Option<Glob>,
}

/// The place where one source's records can be looked at.
#[derive(Debug, Default)]
pub struct Tap {
    listening: AtomicUsize,
    listeners: Mutex<Vec<Listener>>,
    next: AtomicU64,
}

/// Somebody who looks.
#[derive(Debug)]
struct Listener {
    number: u64,
    filter: TapFilter,
    samples: mpsc::Sender<Sample>,
    skipped: Arc<AtomicU64>,
    allowance: f64,
    at: Instant,
    undelivered: VecDeque<(BatchId, Vec<Sample>)>,
}

/// What a listener holds. Dropping it ends the looking.
#[derive(Debug)]
pub struct Look {
    /// Ends when the source was taken down or replaced.
    pub samples: mpsc::Receiver<Sample>,
    skipped: Arc<AtomicU64>,
    number: u64,
    tap: Weak<Tap>,
}

impl Look {
    /// Records that fitted the filter and were not shown since this was last asked.
    pub fn take_skipped(&self) -> u64 {
        self.skipped.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        if let Some(tap) = self.tap.upgrade() {
            let mut listeners = tap.listeners();
            listeners.retain(|listener| listener.number != self.number);
            tap.listening.store(listeners.len(), Ordering::Release);
        }
    }
}

impl Tap {
    /// Begins to look; `None` when as many do already as may.
    pub fn look(self: &Arc<Tap>, filter: TapFilter) -> Option<Look> {
        let (sender, samples) = mpsc::channel(WAITING_MAX);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let skipped = Arc::new(AtomicU64::new(0));
        let mut listeners = self.listeners();
        if listeners.len() >= LISTENERS_MAX {
            return None;
        }
        listeners.push(Listener {
            number,
            filter,
            samples: sender,
            skipped: skipped.clone(),
            allowance: BURST,
            at: Instant::now(),
            undelivered: VecDeque::new(),
        });
        self.listening.store(listeners.len(), Ordering::Release);
        Some(Look { samples, skipped, number, tap: Arc::downgrade(self) })
    }

    /// Whether anybody looks: all that a batch pays while nobody does.
    pub(crate) fn is_wanted(&self) -> bool {
        self.listening.load(Ordering::Acquire) > 0
    }

    pub(crate) fn polled(&self, id: BatchId, batch: &GuestBatch) {
        for listener in self.listeners().iter_mut().filter(|it| it.filter.stage == TapStage::Polled) {
            let shown = listener.allow(batch.len());
            for index in 0..shown {
                listener.show(Sample::polled(id.number, batch, index));
            }
        }
    }

    pub(crate) fn routed(&self, id: BatchId, routed: &Routed) {
        for listener in self.listeners().iter_mut() {
            match listener.filter.stage {
                TapStage::Polled => {}
                TapStage::Transformed => {
                    for sample in listener.picked(id, routed) {
                        listener.show(sample);
                    }
                }
                TapStage::Sent => {
                    let samples = listener.picked(id, routed);
                    listener.keep(id, samples);
                }
            }
        }
    }

    pub(crate) fn delivered(&self, id: BatchId) {
        for listener in self.listeners().iter_mut().filter(|it| it.filter.stage == TapStage::Sent) {
            while listener.undelivered.front().is_some_and(|(kept, _)| is_before(*kept, id)) {
                listener.undelivered.pop_front();
            }
            if listener.undelivered.front().is_some_and(|(kept, _)| *kept == id)
                && let Some((_, samples)) = listener.undelivered.pop_front()
            {
                samples.into_iter().for_each(|sample| listener.show(sample));
            }
        }
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A batch of an earlier epoch was nacked, and one of a lower number has had its turn.
fn is_before(kept: BatchId, id: BatchId) -> bool {
    (kept.epoch, kept.number) < (id.epoch, id.number)
}

impl Listener {
    /// How many of so many records may be copied now; the others are counted as skipped.
    fn allow(&mut self, records: usize) -> usize {
        let now = Instant::now();
        let earned = now.duration_since(self.at).as_secs_f64() * SHOWN_PER_SECOND;
        self.allowance = (self.allowance + earned).min(BURST);
        self.at = now;
        let shown = records.min(self.allowance as usize);
        self.allowance -= shown as f64;
        self.skip(records - shown);
        shown
    }

    fn skip(&self, records: usize) {
        self.skipped.fetch_add(records as u64, Ordering::Relaxed);
    }

    /// Copies of the first records of each topic that is wanted, each topic having its turn.
    fn picked(&mut self, id: BatchId, routed: &Routed) -> Vec<Sample> {
        let is_wanted =
            |group: &&Group| self.filter.topic.as_ref().is_none_or(|glob| glob.fits(&group.topic));
        let groups: Vec<&Group> = routed.groups().iter().filter(is_wanted).collect();
        let mut left = self.allow(groups.iter().map(|group| group.records()).sum());
        let mut samples = Vec::with_capacity(left);
        for (place, group) in groups.iter().enumerate() {
            let share = left.div_ceil(groups.len() - place).min(group.records());
            left -= share;
            let entries = routed.entries(group).take(share);
            samples.extend(entries.map(|record| Sample::outgoing(id.number, group, &record)));
        }
        // What a topic with few records leaves of its share when it comes late.
        self.skip(left);
        self.allowance += left as f64;
        samples
    }

    fn keep(&mut self, id: BatchId, samples: Vec<Sample>) {
        let waiting =
            |all: &VecDeque<(BatchId, Vec<Sample>)>| all.iter().map(|(_, one)| one.len()).sum::<usize>();
        while waiting(&self.undelivered) + samples.len() > WAITING_MAX
            && let Some((_, lost)) = self.undelivered.pop_front()
        {
            self.skip(lost.len());
        }
        if !samples.is_empty() {
            self.undelivered.push_back((id, samples));
        }
    }

    /// Never waits: what a slow listener has no room for is skipped.
    fn show(&self, sample: Sample) {
        if self.samples.try_send(sample).is_err() {
            self.skip(1);
        }
    }
}
