//! A broker in memory: one log, records in the order they entered.

use std::sync::{Arc, Mutex};

use pico_record::Routed;

use super::{Faults, locked};
use crate::ports::{BoxFuture, BrokerPort, Cause, DeliveryEvent, DeliveryEvents, DeliveryFailure};

/// What may go wrong with the delivery of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokerFault {
    /// It works; a place in the queue.
    Works,
    /// Refused by the broker, the client stays.
    Refused,
    /// Refused in a way that no repeat can help.
    RefusedForGood,
    /// Silent past the deadline: fails, and settles only when the client is dropped.
    Silent,
    /// All records land, yet the client is lost before the reports come.
    LandsButLost,
    /// The reports come only after this many milliseconds.
    Slow(u64),
}

/// One record in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRecord {
    /// Its topic.
    pub topic: String,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// The log of one source.
#[derive(Clone, Default)]
pub struct FakeBroker {
    log: Arc<Mutex<Vec<SentRecord>>>,
    faults: Faults<BrokerFault>,
    is_counting_only: bool,
    drops: Arc<Mutex<u32>>,
}

impl FakeBroker {
    /// A broker whose next deliveries go as `faults` say.
    pub fn with_faults(faults: impl IntoIterator<Item = BrokerFault>) -> FakeBroker {
        FakeBroker { faults: Faults::of(faults), ..FakeBroker::default() }
    }

    /// A broker that looks at every record and keeps none: the null port of the benches.
    pub fn null() -> FakeBroker {
        FakeBroker { is_counting_only: true, ..FakeBroker::default() }
    }

    /// Everything in the log, in order.
    pub fn log(&self) -> Vec<SentRecord> {
        locked(&self.log).clone()
    }

    /// How often a client was dropped.
    pub fn drops(&self) -> u32 {
        *locked(&self.drops)
    }

    pub(super) fn connect(&self) -> FakeClient {
        FakeClient { broker: self.clone(), silent: Arc::default() }
    }

    fn append(&self, routed: &Routed) {
        if self.is_counting_only {
            let touched: usize = routed
                .groups()
                .iter()
                .flat_map(|group| routed.entries(group))
                .map(|record| record.payload.map_or(0, |payload| std::hint::black_box(payload).len()))
                .sum();
            std::hint::black_box(touched);
            return;
        }
        let mut sent: Vec<SentRecord> = Vec::new();
        for group in routed.groups() {
            for record in routed.entries(group) {
                let payload = record.payload.unwrap_or_default().to_vec();
                sent.push(SentRecord { topic: group.topic.to_string(), payload });
            }
        }
        locked(&self.log).extend(sent);
    }
}

/// The client of one opening.
pub(super) struct FakeClient {
    broker: FakeBroker,
    silent: Arc<Mutex<Vec<DeliveryEvents>>>,
}

impl BrokerPort for FakeClient {
    fn warm(&self) {}

    fn deliver(&self, _: u64, batch: Routed, events: DeliveryEvents) {
        let fault = self.broker.faults.next().unwrap_or(BrokerFault::Works);
        if matches!(fault, BrokerFault::Works | BrokerFault::LandsButLost | BrokerFault::Slow(_)) {
            self.broker.append(&batch);
        }
        drop(batch);
        match fault {
            BrokerFault::Works => {
                events(DeliveryEvent::Enqueued);
                events(DeliveryEvent::Settled);
            }
            BrokerFault::Slow(wait_ms) => {
                events(DeliveryEvent::Enqueued);
                tokio::spawn(async move {
                    tokio::time::sleep(std::time::Duration::from_millis(wait_ms)).await;
                    events(DeliveryEvent::Settled);
                });
            }
            BrokerFault::Refused | BrokerFault::RefusedForGood => {
                events(DeliveryEvent::Enqueued);
                events(DeliveryEvent::Failed(failure(false, fault == BrokerFault::RefusedForGood)));
                events(DeliveryEvent::Settled);
            }
            BrokerFault::Silent | BrokerFault::LandsButLost => {
                events(DeliveryEvent::Enqueued);
                events(DeliveryEvent::Failed(failure(true, false)));
                locked(&self.silent).push(events);
            }
        }
    }

    fn drop_client(&self) -> BoxFuture<()> {
        *locked(&self.broker.drops) += 1;
        let silent = std::mem::take(&mut *locked(&self.silent));
        Box::pin(async move {
            for events in silent {
                events(DeliveryEvent::Settled);
            }
        })
    }

    fn close(&self) -> BoxFuture<()> {
        locked(&self.silent).clear();
        Box::pin(async {})
    }
}

fn failure(is_client_lost: bool, needs_human: bool) -> DeliveryFailure {
    DeliveryFailure { cause: Cause::new("test.delivery", "the broker refused"), is_client_lost, needs_human }
}
