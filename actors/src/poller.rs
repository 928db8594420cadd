//! Asks the plugin for batches and tells it the verdicts.

use std::sync::Arc;
use std::time::Duration;

use picomq_connector_sdk::Verdict;
use picomq_connector_sdk::ffi::host::GuestBatch;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::abort_on_drop::AbortOnDrop;
use crate::batch::{PolledBatch, Timing};
use crate::batch_id::BatchId;
use crate::fault;
use crate::lifecycle::{Event, PolledKind, Stage};
use crate::ports::{CallFailure, PluginPort, PollOutcome};
use crate::router::{RouterMsg, RouterRef};
use crate::supervisor_handle::SupervisorHandle;

/// An empty poll that came back sooner is followed by a wait up to this, so that `interval = "0s"` never pegs a core
/// on nothing.
const EMPTY_POLL_FLOOR: Duration = Duration::from_millis(100);

pub(crate) type PollerRef = ActorRef<PollerMsg>;

pub(crate) struct PollerActor;

pub(crate) enum PollerMsg {
    /// Ask for a batch; it bears this name when it is sent down the line.
    Poll { batch: BatchId, refuse_watermark: bool },
    /// The poll came back.
    Returned { outcome: PollOutcome, took: Duration },
    /// Tell the plugin a verdict.
    Resolve { epoch: u64, verdict: Verdict },
    /// The plugin took it, or not.
    Resolved { epoch: u64, outcome: Result<(), CallFailure> },
    /// Ask the running poll to return soon; what it returns is a batch like any other.
    Interrupt,
    /// Interrupt the running poll and drop what it returns; say `Quiet` once none runs.
    Quiesce { epoch: u64, from: u64 },
}

pub(crate) struct PollerArgs {
    pub(crate) plugin: Arc<dyn PluginPort>,
    pub(crate) router: RouterRef,
    pub(crate) supervisor: SupervisorHandle,
}

pub(crate) struct PollerState {
    args: PollerArgs,
    poll: Option<RunningPoll>,
    quiesced: Option<(u64, u64)>,
    resolve: Option<AbortOnDrop>,
}

struct RunningPoll {
    batch: BatchId,
    refuse_watermark: bool,
    woken: Arc<Notify>,
    _call: AbortOnDrop,
}

impl PollerState {
    fn start_poll(&mut self, myself: PollerRef, batch: BatchId, refuse_watermark: bool) {
        let woken = Arc::new(Notify::new());
        let (plugin, wake) = (self.args.plugin.clone(), woken.clone());
        let call = tokio::spawn(async move {
            let began = Instant::now();
            let outcome = plugin.poll().await;
            let took = began.elapsed();
            if is_empty(&outcome) && took < EMPTY_POLL_FLOOR {
                tokio::time::timeout_at(began + EMPTY_POLL_FLOOR, wake.notified()).await.ok();
            }
            myself.cast(PollerMsg::Returned { outcome, took }).ok();
        });
        self.poll =
            Some(RunningPoll { batch, refuse_watermark, woken, _call: AbortOnDrop(call.abort_handle()) });
    }

    fn interrupt(&self) {
        if let Some(poll) = &self.poll {
            self.args.plugin.interrupt();
            poll.woken.notify_one();
        }
    }

    fn quiesce(&mut self, epoch: u64, from: u64) {
        self.quiesced = Some((epoch, from));
        self.interrupt();
        self.tell_quiet();
    }

    fn tell_quiet(&mut self) {
        if self.poll.is_some() {
            return;
        }
        if let Some((epoch, from)) = self.quiesced.take() {
            self.args.supervisor.event(epoch, Event::Quiet { stage: Stage::Poller, from });
        }
    }

    fn returned(&mut self, outcome: PollOutcome, took: Duration) {
        let Some(poll) = self.poll.take() else { return };
        let epoch = poll.batch.epoch;
        let is_quiesced = self.quiesced.is_some();
        match outcome {
            PollOutcome::Broken(cause) => self.args.supervisor.event(epoch, Event::Broken(cause)),
            // The Nack that is coming covers it, whatever it was.
            PollOutcome::Batch(_) | PollOutcome::Ended | PollOutcome::Failed { .. } if is_quiesced => {}
            PollOutcome::Batch(batch) => self.hand_on(&poll, batch, took),
            PollOutcome::Ended => self.args.supervisor.event(epoch, Event::PollEnded),
            PollOutcome::Failed { is_permanent, cause } => {
                self.args.supervisor.metrics().poll_errors.increment(1);
                self.args.supervisor.event(epoch, Event::PollFailed { is_permanent, cause });
            }
        }
        self.tell_quiet();
    }

    /// Tells the supervisor first, then hands on: `Polled` then precedes every other event of the batch.
    fn hand_on(&mut self, poll: &RunningPoll, batch: GuestBatch, took: Duration) {
        fault::point("poll_returned");
        let metrics = self.args.supervisor.metrics();
        metrics.poll.record(took);
        metrics.produced.increment(batch.len() as u64);
        let kind = kind_of(&batch, poll.refuse_watermark);
        let (records, bytes) = (batch.len() as u32, batch.bytes());
        let BatchId { epoch, number, .. } = poll.batch;
        self.args.supervisor.event(epoch, Event::Polled { number, kind, records, bytes });
        match kind {
            PolledKind::Empty | PolledKind::Refused => {}
            PolledKind::Watermark | PolledKind::Records => {
                let polled = PolledBatch { id: poll.batch, batch, timing: Timing::new(took) };
                self.args.router.cast(RouterMsg::Route(polled)).ok();
            }
        }
    }

    fn start_resolve(&mut self, myself: PollerRef, epoch: u64, verdict: Verdict) {
        fault::point("before_ack");
        let call = self.args.plugin.resolve(verdict);
        let task = tokio::spawn(async move {
            let outcome = call.await;
            myself.cast(PollerMsg::Resolved { epoch, outcome }).ok();
        });
        self.resolve = Some(AbortOnDrop(task.abort_handle()));
    }

    fn resolved(&mut self, epoch: u64, outcome: Result<(), CallFailure>) {
        fault::point("after_ack");
        self.resolve = None;
        let event = match outcome {
            Ok(()) => Event::Resolved,
            Err(failure) => Event::ResolveFailed(failure.cause),
        };
        self.args.supervisor.event(epoch, event);
    }
}

fn is_empty(outcome: &PollOutcome) -> bool {
    match outcome {
        PollOutcome::Batch(batch) => batch.is_empty() && batch.state().is_none(),
        PollOutcome::Ended | PollOutcome::Failed { .. } | PollOutcome::Broken(_) => false,
    }
}

fn kind_of(batch: &GuestBatch, refuse_watermark: bool) -> PolledKind {
    match (batch.is_empty(), batch.state()) {
        (false, _) => PolledKind::Records,
        (true, None) => PolledKind::Empty,
        (true, Some(_)) if refuse_watermark => PolledKind::Refused,
        (true, Some(_)) => PolledKind::Watermark,
    }
}

impl Actor for PollerActor {
    type Msg = PollerMsg;
    type State = PollerState;
    type Arguments = PollerArgs;

    async fn pre_start(&self, _: PollerRef, args: PollerArgs) -> Result<PollerState, ActorProcessingErr> {
        Ok(PollerState { args, poll: None, quiesced: None, resolve: None })
    }

    async fn handle(
        &self,
        myself: PollerRef,
        message: PollerMsg,
        state: &mut PollerState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            PollerMsg::Poll { batch, refuse_watermark } => state.start_poll(myself, batch, refuse_watermark),
            PollerMsg::Returned { outcome, took } => state.returned(outcome, took),
            PollerMsg::Resolve { epoch, verdict } => state.start_resolve(myself, epoch, verdict),
            PollerMsg::Resolved { epoch, outcome } => state.resolved(epoch, outcome),
            PollerMsg::Interrupt => state.interrupt(),
            PollerMsg::Quiesce { epoch, from } => state.quiesce(epoch, from),
        }
        Ok(())
    }
}
