//! A store in memory: one lease at a time, numbers that only rise.

use std::sync::{Arc, Mutex};

use super::{Faults, locked};
use crate::ports::{BoxFuture, Cause, OpenFailure, OpenKind, SaveFailure, StorePort};

/// What may go wrong with a save or a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// Nothing was written.
    Fails,
    /// It was written, but the answer says it was not.
    LandsButFails,
    /// It works; a place in the queue.
    Works,
    /// Somebody else owns the state.
    Fenced,
}

/// The saved state of one source and its history.
#[derive(Clone, Default)]
pub struct FakeStore {
    inner: Arc<Mutex<Inner>>,
    faults: Faults<StoreFault>,
}

#[derive(Default)]
struct Inner {
    life: u64,
    number: u64,
    state: Option<Vec<u8>>,
    history: Vec<(u64, u64)>,
    is_leased: bool,
    open_failures: Vec<OpenKind>,
}

pub(super) struct OpenedStore {
    pub(super) lease: FakeLease,
    pub(super) life: u64,
    pub(super) number: u64,
    pub(super) state: Option<Vec<u8>>,
}

/// The lease of one opening.
pub(super) struct FakeLease {
    store: FakeStore,
    life: u64,
    pending: Mutex<Option<(u64, Vec<u8>)>>,
}

impl FakeStore {
    /// A store whose next saves and probes go as `faults` say.
    pub fn with_faults(faults: impl IntoIterator<Item = StoreFault>) -> FakeStore {
        FakeStore { inner: Arc::default(), faults: Faults::of(faults) }
    }

    /// The next openings fail like this, in this order.
    pub fn fail_openings(&self, kinds: impl IntoIterator<Item = OpenKind>) {
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.reverse();
        locked(&self.inner).open_failures = kinds;
    }

    /// The saved state.
    pub fn state(&self) -> Option<Vec<u8>> {
        locked(&self.inner).state.clone()
    }

    /// (life, number) of every save, in order.
    pub fn history(&self) -> Vec<(u64, u64)> {
        locked(&self.inner).history.clone()
    }

    /// Whether an opening holds the lease.
    pub fn is_leased(&self) -> bool {
        locked(&self.inner).is_leased
    }

    pub(super) fn open(&self) -> Result<OpenedStore, OpenFailure> {
        let mut inner = locked(&self.inner);
        if let Some(kind) = inner.open_failures.pop() {
            return Err(OpenFailure { kind, cause: Cause::new("test.open", format!("{kind:?}")) });
        }
        assert!(!inner.is_leased, "I4: opened while another opening holds the lease");
        inner.is_leased = true;
        inner.life += 1;
        let lease = FakeLease { store: self.clone(), life: inner.life, pending: Mutex::new(None) };
        Ok(OpenedStore { lease, life: inner.life, number: inner.number, state: inner.state.clone() })
    }

    fn write(&self, life: u64, number: u64, state: Vec<u8>) {
        let mut inner = locked(&self.inner);
        assert!(number > inner.number, "a save under {number} after one under {}", inner.number);
        inner.number = number;
        inner.state = Some(state);
        inner.history.push((life, number));
    }

    fn save(&self, life: u64, number: u64, state: Vec<u8>) -> Result<(), SaveFailure> {
        match self.faults.next() {
            None | Some(StoreFault::Works) => {
                self.write(life, number, state);
                Ok(())
            }
            Some(StoreFault::Fails) => Err(SaveFailure::Failed(Cause::new("test.save", "disk full"))),
            Some(StoreFault::LandsButFails) => {
                self.write(life, number, state);
                Err(SaveFailure::Failed(Cause::new("test.save", "disk failed after the write")))
            }
            Some(StoreFault::Fenced) => Err(SaveFailure::Fenced(Cause::new("test.fenced", "somebody else"))),
        }
    }
}

impl StorePort for FakeLease {
    fn save(&self, number: u64, state: Vec<u8>) -> BoxFuture<Result<(), SaveFailure>> {
        *locked(&self.pending) = Some((number, state.clone()));
        let outcome = self.store.save(self.life, number, state);
        Box::pin(async move { outcome })
    }

    fn probe(&self) -> BoxFuture<Result<(), SaveFailure>> {
        let outcome = match locked(&self.pending).clone() {
            Some((number, state)) => self.store.save(self.life, number + 1, state),
            None => Ok(()),
        };
        Box::pin(async move { outcome })
    }

    fn release(&self) -> BoxFuture<()> {
        locked(&self.store.inner).is_leased = false;
        Box::pin(async {})
    }
}

impl Drop for FakeLease {
    fn drop(&mut self) {
        let mut inner = locked(&self.store.inner);
        if inner.life == self.life {
            inner.is_leased = false;
        }
    }
}
