//! Decides for each record where it goes and what it looks like there; the decision itself is `pico_record`'s.

use std::time::{Duration, Instant};

use pico_record::{Moment, Provenance, RecordPath, RouteFailure, Routed, Step};
use picomq_connector_sdk::ffi::host::GuestBatch;
use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::batch::{PolledBatch, RoutedBatch};
use crate::batch_id::BatchId;
use crate::cause::Cause;
use crate::clock::now_ms;
use crate::fault;
use crate::lifecycle::{Event, Stage};
use crate::line::Intake;
use crate::producer::{ProducerMsg, ProducerRef};
use crate::supervisor_handle::SupervisorHandle;

/// Records routed before other tasks get their turn.
const CHUNK: usize = 1_000;
/// Log lines about records that were set aside or skipped come no faster.
const FAULTS_LOGGED_EVERY: Duration = Duration::from_secs(10);

pub(crate) type RouterRef = ActorRef<RouterMsg>;

pub(crate) struct RouterActor;

pub(crate) enum RouterMsg {
    /// Route a batch and hand it on.
    Route(PolledBatch),
}

pub(crate) struct RouterArgs {
    pub(crate) path: RecordPath,
    pub(crate) life: u64,
    pub(crate) producer: ProducerRef,
    pub(crate) supervisor: SupervisorHandle,
}

pub(crate) struct RouterState {
    args: RouterArgs,
    intake: Intake,
    faults_logged: Option<tokio::time::Instant>,
    /// Records set aside or skipped since then.
    faults_unlogged: u64,
}

impl RouterState {
    async fn route(&mut self, polled: PolledBatch) {
        let PolledBatch { id, batch, mut timing } = polled;
        if !self.intake.take(id) {
            return;
        }
        if let Some(tap) = self.args.supervisor.tap() {
            tap.polled(id, &batch);
        }
        let began = Instant::now();
        match self.route_in_chunks(id, batch).await {
            Ok(routed) => {
                fault::point("routed");
                timing.decode = began.elapsed();
                self.args.supervisor.metrics().decode.record(timing.decode);
                self.warn_of_clashes();
                self.warn_of_faults(id, &routed);
                if let Some(tap) = self.args.supervisor.tap() {
                    tap.routed(id, &routed);
                }
                self.args.producer.cast(ProducerMsg::Deliver(RoutedBatch { id, routed, timing })).ok();
            }
            Err(failure) => self.fail(id, failure),
        }
    }

    async fn route_in_chunks(&mut self, id: BatchId, batch: GuestBatch) -> Result<Routed, RouteFailure> {
        let provenance = Provenance { life: self.args.life, number: id.number };
        let mut routing = self.args.path.begin(batch, provenance)?;
        loop {
            let now = Moment { unix_ms: now_ms(), steady: self.args.supervisor.steady() };
            self.args.path.set_now(now);
            match routing.step(&mut self.args.path, CHUNK)? {
                Step::Done(routed) => return Ok(routed),
                Step::More(rest) => routing = rest,
            }
            tokio::task::yield_now().await;
        }
    }

    /// Nothing at or past the failed batch goes on; predecessors are on their way already.
    fn fail(&mut self, id: BatchId, failure: RouteFailure) {
        self.intake.close(id.epoch, id.number);
        let cause = Cause::new(failure.code, failure.message);
        self.args.supervisor.event(
            id.epoch,
            Event::Failed {
                number: id.number,
                stage: Stage::Router,
                cause,
                is_client_lost: false,
                needs_human: failure.needs_human,
            },
        );
    }

    /// What `[errors]` did with records, at most one line in a while, whatever happens to how many.
    fn warn_of_faults(&mut self, id: BatchId, routed: &Routed) {
        let Some(first) = routed.faults().first() else { return };
        self.faults_unlogged += routed.faults().len() as u64;
        if self.faults_logged.is_some_and(|last| last.elapsed() < FAULTS_LOGGED_EVERY) {
            return;
        }
        self.faults_logged = Some(tokio::time::Instant::now());
        let records = std::mem::take(&mut self.faults_unlogged);
        let source = self.args.supervisor.key().as_str();
        let (dead_letters, skipped) = (routed.dead_letters(), routed.skipped());
        let (stage, code, reason) = (first.stage.as_str(), first.code, first.message.as_str());
        tracing::warn!(
            source,
            number = id.number,
            records,
            dead_letters,
            skipped,
            stage,
            code,
            reason,
            "records failed and were set aside as [errors] says"
        );
    }

    fn warn_of_clashes(&mut self) {
        for clash in self.args.path.take_clashes() {
            let [first, second] = &clash.values;
            let source = self.args.supervisor.key().as_str();
            tracing::warn!(source, block = clash.block, topic = %clash.topic, first, second, "two values share a topic");
        }
    }
}

impl Actor for RouterActor {
    type Msg = RouterMsg;
    type State = RouterState;
    type Arguments = RouterArgs;

    async fn pre_start(&self, _: RouterRef, args: RouterArgs) -> Result<RouterState, ActorProcessingErr> {
        Ok(RouterState { args, intake: Intake::default(), faults_logged: None, faults_unlogged: 0 })
    }

    async fn handle(
        &self,
        _: RouterRef,
        message: RouterMsg,
        state: &mut RouterState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            RouterMsg::Route(polled) => state.route(polled).await,
        }
        Ok(())
    }
}
