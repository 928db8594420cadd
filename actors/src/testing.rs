//! Ports for tests and benches of the tree: a counting plugin, a broker and a store in memory. Their faults are data,
//! put into a queue before the run.
//!
//! What they do not prove: anything about librdkafka, a file system or a real plugin's threads.

mod broker;
mod plugin;
mod store;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use broker::{BrokerFault, FakeBroker, SentRecord};
pub use plugin::{CountingPlugin, PluginFault, PluginLog};
pub use store::{FakeStore, StoreFault};

use crate::lifecycle::Asked;
use crate::ports::{BoxFuture, Cause, DeliveryFactory, OpenFailure, OpenedDelivery};
use crate::source::AskedStore;

/// A queue of faults: each use takes the next; past its end everything works.
#[derive(Debug)]
pub struct Faults<F>(Arc<Mutex<VecDeque<F>>>);

impl<F> Clone for Faults<F> {
    fn clone(&self) -> Faults<F> {
        Faults(self.0.clone())
    }
}

impl<F> Default for Faults<F> {
    fn default() -> Faults<F> {
        Faults(Arc::default())
    }
}

impl<F> Faults<F> {
    /// These faults, in this order.
    pub fn of(faults: impl IntoIterator<Item = F>) -> Faults<F> {
        Faults(Arc::new(Mutex::new(faults.into_iter().collect())))
    }

    fn next(&self) -> Option<F> {
        locked(&self.0).pop_front()
    }
}

/// A test that panicked elsewhere must not hide its reason behind a poisoned lock.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Broker and store of one source, in memory; they outlive every opening, as the real ones do.
#[derive(Clone, Default)]
pub struct FakeDelivery {
    /// The log.
    pub broker: FakeBroker,
    /// The saved state.
    pub store: FakeStore,
}

impl DeliveryFactory for FakeDelivery {
    fn open(&self) -> BoxFuture<Result<OpenedDelivery, OpenFailure>> {
        let world = self.clone();
        Box::pin(async move {
            let opened = world.store.open()?;
            Ok(OpenedDelivery {
                store: Arc::new(opened.lease),
                broker: Arc::new(world.broker.connect()),
                life: opened.life,
                number: opened.number,
                state: opened.state,
                conditions: Vec::new(),
                schema_ids: Vec::new(),
            })
        })
    }
}

/// Keeps what was asked in memory.
#[derive(Default)]
pub struct FakeAsked(Mutex<Asked>);

impl AskedStore for FakeAsked {
    fn load(&self) -> Result<Asked, Cause> {
        Ok(*locked(&self.0))
    }

    fn save(&self, asked: Asked) -> Result<(), Cause> {
        *locked(&self.0) = asked;
        Ok(())
    }
}
