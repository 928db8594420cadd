//! The batch-number rule, as pure values: what a stage may take, what it hands on, and when it is quiet.
//!
//! A stage takes first the number its epoch began with, then n only after it took n − 1, and nothing at or past the
//! batch it failed or was told to drop; anything else it drops unseen. So nothing overtakes a failed batch, whoever
//! failed it (I3, I6).

use std::collections::VecDeque;

use crate::batch_id::BatchId;

/// What a stage may take.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Intake {
    epoch: u64,
    next: Option<u64>,
    closed_from: Option<u64>,
}

impl Intake {
    /// Whether the stage takes `batch`; if not, the batch is dropped unseen.
    pub fn take(&mut self, batch: BatchId) -> bool {
        self.enter(batch.epoch);
        let is_next = batch.epoch == self.epoch && batch.number == self.next.unwrap_or(batch.first);
        let is_taken = is_next && !self.is_closed(batch.number);
        if is_taken {
            self.next = Some(batch.number + 1);
        }
        is_taken
    }

    /// From now on nothing at or past `from` is taken in `epoch`: the stage failed it, or was told so. Predecessors
    /// that are still on their way are taken.
    pub fn close(&mut self, epoch: u64, from: u64) {
        self.enter(epoch);
        if epoch == self.epoch {
            self.closed_from = Some(self.closed_from.map_or(from, |old| old.min(from)));
        }
    }

    /// Whether `number` of the present epoch is closed.
    pub fn is_closed(&self, number: u64) -> bool {
        self.closed_from.is_some_and(|from| number >= from)
    }

    /// The newest epoch heard of.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    fn enter(&mut self, epoch: u64) {
        if epoch > self.epoch {
            *self = Intake { epoch, next: None, closed_from: None };
        }
    }
}

/// What the producer knows of the batches it took: which are wholly delivered, and which may go on.
///
/// Reports of a later batch may be complete first; it is handed on in number order all the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Deliveries {
    intake: Intake,
    open: VecDeque<Delivery>,
    quiesced: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Delivery {
    number: u64,
    is_settled: bool,
    has_failed: bool,
}

impl Deliveries {
    /// The newest epoch heard of.
    pub fn epoch(&self) -> u64 {
        self.intake.epoch()
    }

    /// Whether the producer takes `batch` and hands it to the broker.
    pub fn take(&mut self, batch: BatchId) -> bool {
        if batch.epoch > self.intake.epoch() {
            // An epoch begins when nothing of the former one is outstanding, or after its client was dropped.
            self.open.clear();
            self.quiesced = None;
        }
        let is_taken = self.intake.take(batch);
        if is_taken {
            self.open.push_back(Delivery { number: batch.number, is_settled: false, has_failed: false });
        }
        is_taken
    }

    /// A batch failed. Returns the batch to report: itself, or the oldest not wholly delivered when the client is
    /// lost; `None` when it was failed before.
    pub fn fail(&mut self, epoch: u64, number: u64, is_client_lost: bool) -> Option<u64> {
        if epoch != self.intake.epoch() {
            return None;
        }
        let failed = self.open.iter_mut().find(|delivery| delivery.number == number)?;
        let is_first = !failed.has_failed;
        failed.has_failed = true;
        if !is_first && !is_client_lost {
            return None;
        }
        let oldest =
            self.open.iter().find(|delivery| !delivery.is_good()).map_or(number, |oldest| oldest.number);
        let report = if is_client_lost { oldest.min(number) } else { number };
        self.intake.close(epoch, report);
        Some(report)
    }

    /// No report of a batch is outstanding any more.
    pub fn settle(&mut self, epoch: u64, number: u64) {
        if epoch == self.intake.epoch()
            && let Some(delivery) = self.open.iter_mut().find(|delivery| delivery.number == number)
        {
            delivery.is_settled = true;
        }
    }

    /// The next batch that goes to the checkpointer: the oldest, once wholly delivered.
    pub fn hand_on(&mut self) -> Option<u64> {
        let oldest = self.open.front()?;
        if oldest.is_good() && !self.intake.is_closed(oldest.number) {
            return self.open.pop_front().map(|delivery| delivery.number);
        }
        None
    }

    /// Whether a `DropClient` of `epoch` still holds: once a batch of a later epoch was taken it would drop that one.
    pub fn may_drop_client(&self, epoch: u64) -> bool {
        epoch >= self.intake.epoch()
    }

    /// Told to drop `from` and later.
    pub fn quiesce(&mut self, epoch: u64, from: u64) {
        if epoch > self.intake.epoch() {
            self.open.clear();
        }
        self.intake.close(epoch, from);
        if epoch == self.intake.epoch() {
            self.quiesced = Some(from);
        }
    }

    /// The `from` to answer `Quiet` to, once; after it nothing of `from` or later is outstanding.
    pub fn quiet(&mut self) -> Option<u64> {
        let from = self.quiesced?;
        let is_outstanding = self.open.iter().any(|delivery| delivery.number >= from && !delivery.is_settled);
        if is_outstanding {
            return None;
        }
        self.open.retain(|delivery| delivery.number < from);
        self.quiesced.take()
    }
}

impl Delivery {
    fn is_good(&self) -> bool {
        self.is_settled && !self.has_failed
    }
}

/// What the checkpointer knows: delivered batches that wait for a save, and the save under way.
///
/// One save may cover several batches: the newest state among them is the one that is written (I1: all of them are
/// delivered, since they came in number order).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Saves<S> {
    intake: Intake,
    waiting: VecDeque<Delivered<S>>,
    running: Option<Running>,
    quiesced: Option<u64>,
}

/// A batch whose every record is in the log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Delivered<S> {
    /// Its number.
    pub number: u64,
    /// Records in the log.
    pub delivered: u32,
    /// Candidate; `None` leaves the saved state as it is.
    pub state: Option<S>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Running {
    epoch: u64,
    covered: Vec<(u64, u32)>,
}

/// What the checkpointer does next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NextSave<S> {
    /// Nothing to do now.
    None,
    /// These batches, oldest first, need no write.
    Unchanged(Vec<(u64, u32)>),
    /// Write this state under this number.
    Write {
        /// Number of the newest batch whose state it is.
        number: u64,
        /// The state.
        state: S,
    },
}

impl<S> Saves<S> {
    /// Nothing delivered yet.
    pub fn new() -> Saves<S> {
        Saves { intake: Intake::default(), waiting: VecDeque::new(), running: None, quiesced: None }
    }

    /// The newest epoch heard of.
    pub fn epoch(&self) -> u64 {
        self.intake.epoch()
    }

    /// Whether the save under way covers `number`.
    pub fn is_covered(&self, number: u64) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| running.covered.iter().any(|(covered, _)| *covered == number))
    }

    /// Whether the checkpointer takes the batch.
    pub fn take(&mut self, batch: BatchId, delivered: u32, state: Option<S>) -> bool {
        if batch.epoch > self.intake.epoch() {
            self.waiting.clear();
            self.quiesced = None;
        }
        let is_taken = self.intake.take(batch);
        if is_taken {
            self.waiting.push_back(Delivered { number: batch.number, delivered, state });
        }
        is_taken
    }

    /// The next save, covering all that waits up to the newest state.
    pub fn start(&mut self) -> NextSave<S> {
        if self.running.is_some() {
            return NextSave::None;
        }
        let Some(newest) = self.waiting.iter().rposition(|batch| batch.state.is_some()) else {
            let unchanged: Vec<_> =
                self.waiting.drain(..).map(|batch| (batch.number, batch.delivered)).collect();
            return if unchanged.is_empty() { NextSave::None } else { NextSave::Unchanged(unchanged) };
        };
        let mut covered = Vec::with_capacity(newest + 1);
        let mut write = None;
        for batch in self.waiting.drain(..=newest) {
            covered.push((batch.number, batch.delivered));
            write = batch.state.map(|state| (batch.number, state)).or(write);
        }
        self.running = Some(Running { epoch: self.intake.epoch(), covered });
        match write {
            Some((number, state)) => NextSave::Write { number, state },
            None => NextSave::None,
        }
    }

    /// The save landed: the batches it covered, oldest first.
    pub fn saved(&mut self) -> Vec<(u64, u32)> {
        self.running.take().map(|running| running.covered).unwrap_or_default()
    }

    /// The save failed: epoch and the oldest batch it covered, which is the one to report.
    pub fn failed(&mut self) -> Option<(u64, u64)> {
        let running = self.running.take()?;
        let (oldest, _) = *running.covered.first()?;
        self.intake.close(running.epoch, oldest);
        self.waiting.retain(|batch| batch.number < oldest);
        Some((running.epoch, oldest))
    }

    /// Told to drop `from` and later.
    pub fn quiesce(&mut self, epoch: u64, from: u64) {
        if epoch > self.intake.epoch() {
            self.waiting.clear();
        }
        self.intake.close(epoch, from);
        if epoch == self.intake.epoch() {
            self.waiting.retain(|batch| batch.number < from);
            self.quiesced = Some(from);
        }
    }

    /// The `from` to answer `Quiet` to, once; after it no save of `from` or later is outstanding.
    pub fn quiet(&mut self) -> Option<u64> {
        let from = self.quiesced?;
        let is_outstanding = self
            .running
            .as_ref()
            .is_some_and(|running| running.covered.iter().any(|(number, _)| *number >= from));
        if is_outstanding { None } else { self.quiesced.take() }
    }
}
