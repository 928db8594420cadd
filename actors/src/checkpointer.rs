//! Saves the state of delivered batches, in order, one save at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::abort_on_drop::AbortOnDrop;
use crate::batch::{Counts, DeliveredBatch, Timing};
use crate::fault;
use crate::lifecycle::{Event, Stage};
use crate::line::{NextSave, Saves};
use crate::ports::{SaveFailure, StorePort};
use crate::supervisor_handle::{SavedBatch, SupervisorHandle};

pub(crate) type CheckpointerRef = ActorRef<CheckpointerMsg>;

pub(crate) struct CheckpointerActor;

pub(crate) enum CheckpointerMsg {
    /// Save the state of a delivered batch.
    Save(DeliveredBatch),
    /// The save under way ended.
    Stored(Result<(), SaveFailure>),
    /// Try the failed save once more.
    Probe { epoch: u64 },
    /// The probe ended.
    Probed { epoch: u64, outcome: Result<(), SaveFailure> },
    /// Drop what is `from` or later; say `Quiet` once no save of it is outstanding.
    Quiesce { epoch: u64, from: u64 },
}

pub(crate) struct CheckpointerArgs {
    pub(crate) store: Arc<dyn StorePort>,
    pub(crate) supervisor: SupervisorHandle,
}

pub(crate) struct CheckpointerState {
    args: CheckpointerArgs,
    saves: Saves<Vec<u8>>,
    counts: BTreeMap<u64, (Counts, Timing)>,
    began: Instant,
    call: Option<AbortOnDrop>,
    /// The oldest batch of the save that failed last: a probe is about it.
    failed: u64,
}

impl CheckpointerState {
    fn save(&mut self, myself: CheckpointerRef, batch: DeliveredBatch) {
        let DeliveredBatch { id, counts, state, timing } = batch;
        if self.saves.take(id, counts.delivered, state) {
            self.counts.insert(id.number, (counts, timing));
            self.start_next(myself);
        }
    }

    fn start_next(&mut self, myself: CheckpointerRef) {
        match self.saves.start() {
            NextSave::None => {}
            NextSave::Unchanged(batches) => self.tell_saved(batches),
            NextSave::Write { number, state } => {
                self.began = Instant::now();
                let call = self.args.store.save(number, state);
                let task = tokio::spawn(async move {
                    let outcome = call.await;
                    myself.cast(CheckpointerMsg::Stored(outcome)).ok();
                });
                self.call = Some(AbortOnDrop(task.abort_handle()));
            }
        }
    }

    fn stored(&mut self, myself: CheckpointerRef, outcome: Result<(), SaveFailure>) {
        self.call = None;
        match outcome {
            Ok(()) => {
                fault::point("saved_event");
                self.args.supervisor.metrics().state_save.record(self.began.elapsed());
                let saved = self.saves.saved();
                self.tell_saved(saved);
            }
            Err(failure) => self.tell_failed(failure),
        }
        self.tell_quiet();
        self.start_next(myself);
    }

    fn tell_saved(&mut self, batches: Vec<(u64, u32)>) {
        let save = self.began.elapsed();
        for (number, delivered) in batches {
            if let Some((counts, timing)) = self.counts.remove(&number) {
                self.args.supervisor.metrics().total.record(timing.polled.elapsed());
                self.args.supervisor.saved(number, SavedBatch { counts, timing, save });
            }
            self.args.supervisor.event(self.saves.epoch(), Event::Saved { number, delivered });
        }
    }

    fn tell_failed(&mut self, failure: SaveFailure) {
        let Some((epoch, number)) = self.saves.failed() else { return };
        self.failed = number;
        let event = match failure {
            SaveFailure::Failed(cause) => Event::SaveFailed { number, cause },
            SaveFailure::Fenced(cause) => Event::Fenced { number, cause },
        };
        self.args.supervisor.event(epoch, event);
    }

    fn probe(&mut self, myself: CheckpointerRef, epoch: u64) {
        let call = self.args.store.probe();
        let task = tokio::spawn(async move {
            let outcome = call.await;
            myself.cast(CheckpointerMsg::Probed { epoch, outcome }).ok();
        });
        self.call = Some(AbortOnDrop(task.abort_handle()));
    }

    fn probed(&mut self, epoch: u64, outcome: Result<(), SaveFailure>) {
        self.call = None;
        let event = match outcome {
            Ok(()) => Event::Probed { has_landed: true },
            Err(SaveFailure::Failed(_)) => Event::Probed { has_landed: false },
            Err(SaveFailure::Fenced(cause)) => Event::Fenced { number: self.failed, cause },
        };
        self.args.supervisor.event(epoch, event);
    }

    fn quiesce(&mut self, epoch: u64, from: u64) {
        self.saves.quiesce(epoch, from);
        self.counts.retain(|number, _| *number < from || self.saves.is_covered(*number));
        self.tell_quiet();
    }

    fn tell_quiet(&mut self) {
        if let Some(from) = self.saves.quiet() {
            let epoch = self.saves.epoch();
            self.args.supervisor.event(epoch, Event::Quiet { stage: Stage::Checkpointer, from });
        }
    }
}

impl Actor for CheckpointerActor {
    type Msg = CheckpointerMsg;
    type State = CheckpointerState;
    type Arguments = CheckpointerArgs;

    async fn pre_start(
        &self,
        _: CheckpointerRef,
        args: CheckpointerArgs,
    ) -> Result<CheckpointerState, ActorProcessingErr> {
        let began = Instant::now();
        Ok(CheckpointerState {
            args,
            saves: Saves::new(),
            counts: BTreeMap::new(),
            began,
            call: None,
            failed: 0,
        })
    }

    async fn handle(
        &self,
        myself: CheckpointerRef,
        message: CheckpointerMsg,
        state: &mut CheckpointerState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            CheckpointerMsg::Save(batch) => state.save(myself, batch),
            CheckpointerMsg::Stored(outcome) => state.stored(myself, outcome),
            CheckpointerMsg::Probe { epoch } => state.probe(myself, epoch),
            CheckpointerMsg::Probed { epoch, outcome } => state.probed(epoch, outcome),
            CheckpointerMsg::Quiesce { epoch, from } => state.quiesce(epoch, from),
        }
        Ok(())
    }
}
