//! Decides for each record where it goes and what it looks like there; the decision itself is `pico_record`'s.

use std::time::Instant;

use pico_record::{Provenance, RecordPath, RouteFailure, Routed, Step};
use picomq_connector_sdk::ffi::host::GuestBatch;
use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::batch::{PolledBatch, RoutedBatch};
use crate::fault::fault;
use crate::lifecycle::{BatchId, Event, Stage};
use crate::line::Intake;
use crate::ports::Cause;
use crate::producer::{ProducerMsg, ProducerRef};
use crate::supervisor::SupervisorHandle;

/// Records routed before other tasks get their turn.
const CHUNK: usize = 1_000;

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
                fault!("routed");
                timing.decode = began.elapsed();
                self.args.supervisor.metrics().decode.record(timing.decode);
                self.warn_of_clashes();
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
                needs_human: true,
            },
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
        Ok(RouterState { args, intake: Intake::default() })
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
