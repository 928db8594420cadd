//! Hands batches to the broker in order and passes on those whose every report is good.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::abort_on_drop::AbortOnDrop;
use crate::batch::{Counts, DeliveredBatch, RoutedBatch, Timing};
use crate::batch_id::BatchId;
use crate::checkpointer::{CheckpointerMsg, CheckpointerRef};
use crate::fault;
use crate::lifecycle::{Event, Stage};
use crate::line::Deliveries;
use crate::ports::{BrokerPort, DeliveryEvent, DeliveryFailure};
use crate::supervisor_handle::SupervisorHandle;

pub(crate) type ProducerRef = ActorRef<ProducerMsg>;

pub(crate) struct ProducerActor;

pub(crate) enum ProducerMsg {
    /// Send every record of a batch.
    Deliver(RoutedBatch),
    /// What became of a batch in the broker's hands.
    Delivery { epoch: u64, number: u64, event: DeliveryEvent },
    /// Drop the client, so that its reports end; ignored in a later epoch.
    DropClient { epoch: u64 },
    /// Drop what is `from` or later; say `Quiet` once no report of it is outstanding.
    Quiesce { epoch: u64, from: u64 },
}

pub(crate) struct ProducerArgs {
    pub(crate) broker: Arc<dyn BrokerPort>,
    pub(crate) checkpointer: CheckpointerRef,
    pub(crate) supervisor: SupervisorHandle,
}

pub(crate) struct ProducerState {
    args: ProducerArgs,
    deliveries: Deliveries,
    /// What goes on with each batch once it is delivered, by number.
    carried: BTreeMap<u64, Carried>,
    drop: Option<AbortOnDrop>,
}

struct Carried {
    id: BatchId,
    counts: Counts,
    state: Option<Vec<u8>>,
    timing: Timing,
    stamp: Instant,
}

impl ProducerState {
    fn deliver(&mut self, myself: ProducerRef, batch: RoutedBatch) {
        let RoutedBatch { id, routed, timing } = batch;
        if !self.deliveries.take(id) {
            return;
        }
        let counts = Counts {
            polled: routed.records(),
            delivered: routed.outgoing(),
            dead_letters: routed.dead_letters(),
            filtered: routed.filtered() + routed.skipped(),
            bytes: routed.bytes(),
        };
        let state = routed.state().map(<[u8]>::to_vec);
        self.carried.insert(id.number, Carried { id, counts, state, timing, stamp: Instant::now() });
        if counts.delivered == 0 {
            self.deliveries.settle(id.epoch, id.number);
            self.hand_on();
            return;
        }
        let BatchId { epoch, number, .. } = id;
        self.args.broker.begin(number);
        let events = move |event| {
            myself.cast(ProducerMsg::Delivery { epoch, number, event }).ok();
        };
        self.args.broker.deliver(epoch, routed, Box::new(events));
    }

    fn delivery(&mut self, epoch: u64, number: u64, event: DeliveryEvent) {
        if epoch != self.deliveries.epoch() {
            return;
        }
        match event {
            DeliveryEvent::Enqueued => self.enqueued(number),
            DeliveryEvent::Failed(failure) => self.failed(epoch, number, failure),
            DeliveryEvent::Settled => {
                self.deliveries.settle(epoch, number);
                self.hand_on();
                self.tell_quiet();
            }
        }
    }

    fn enqueued(&mut self, number: u64) {
        if let Some(carried) = self.carried.get_mut(&number) {
            carried.timing.prepare = carried.stamp.elapsed();
            carried.stamp = Instant::now();
            self.args.supervisor.metrics().prepare.record(carried.timing.prepare);
        }
    }

    fn failed(&mut self, epoch: u64, number: u64, failure: DeliveryFailure) {
        let DeliveryFailure { cause, is_client_lost, needs_human } = failure;
        if let Some(number) = self.deliveries.fail(epoch, number, is_client_lost) {
            let stage = Stage::Producer;
            self.args
                .supervisor
                .event(epoch, Event::Failed { number, stage, cause, is_client_lost, needs_human });
        }
    }

    /// I1: only a batch whose every report is good goes on, in number order.
    fn hand_on(&mut self) {
        while let Some(number) = self.deliveries.hand_on() {
            let Some(carried) = self.carried.remove(&number) else { continue };
            let Carried { id, counts, state, mut timing, stamp } = carried;
            if counts.delivered > 0 {
                timing.broker_send = stamp.elapsed();
                self.args.supervisor.metrics().broker_send.record(timing.broker_send);
                fault::point("all_delivered");
                if let Some(tap) = self.args.supervisor.tap() {
                    tap.delivered(id);
                }
            }
            let delivered = DeliveredBatch { id, counts, state, timing };
            self.args.checkpointer.cast(CheckpointerMsg::Save(delivered)).ok();
        }
    }

    fn drop_client(&mut self, epoch: u64) {
        if self.deliveries.may_drop_client(epoch) {
            let dropping = self.args.broker.drop_client();
            self.drop = Some(AbortOnDrop(tokio::spawn(dropping).abort_handle()));
        }
    }

    fn quiesce(&mut self, epoch: u64, from: u64) {
        self.deliveries.quiesce(epoch, from);
        self.tell_quiet();
    }

    fn tell_quiet(&mut self) {
        if let Some(from) = self.deliveries.quiet() {
            self.carried.retain(|number, _| *number < from);
            let epoch = self.deliveries.epoch();
            self.args.supervisor.event(epoch, Event::Quiet { stage: Stage::Producer, from });
        }
    }
}

impl Actor for ProducerActor {
    type Msg = ProducerMsg;
    type State = ProducerState;
    type Arguments = ProducerArgs;

    async fn pre_start(
        &self,
        _: ProducerRef,
        args: ProducerArgs,
    ) -> Result<ProducerState, ActorProcessingErr> {
        Ok(ProducerState { args, deliveries: Deliveries::default(), carried: BTreeMap::new(), drop: None })
    }

    async fn handle(
        &self,
        myself: ProducerRef,
        message: ProducerMsg,
        state: &mut ProducerState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ProducerMsg::Deliver(batch) => state.deliver(myself, batch),
            ProducerMsg::Delivery { epoch, number, event } => state.delivery(epoch, number, event),
            ProducerMsg::DropClient { epoch } => state.drop_client(epoch),
            ProducerMsg::Quiesce { epoch, from } => state.quiesce(epoch, from),
        }
        Ok(())
    }
}
