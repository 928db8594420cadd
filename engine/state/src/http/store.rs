//! The HTTP store of the process: who may open which source.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pico_config::{HttpState, SourceKey};
use tokio::sync::OwnedMutexGuard;

use super::client::{Client, SharedClient};
use super::lease::{self, HttpLease, Slot};
use super::meaning::{self, Loaded};
use super::record::{Condition, Known, Record};
use super::retry::RetryBlock;
use crate::error::StateError;
use crate::store::Loaded as Opened;

/// One resource a source on one server. The process has one of these and clones it freely: the clones share the table
/// that makes an opening wait for what a former opening left under way.
#[derive(Debug, Clone)]
pub struct HttpStore {
    client: SharedClient,
    /// Kept as long as the process: what a source left in doubt must be known to its next opening.
    slots: Arc<Mutex<HashMap<String, Slot>>>,
}

impl HttpStore {
    /// Makes the client. Nothing is asked yet.
    ///
    /// # Errors
    /// [`StateError::ServerUnusable`]: the certificates of the system cannot be read.
    pub fn new(settings: HttpState) -> Result<HttpStore, StateError> {
        Ok(HttpStore { client: Arc::new(Client::new(settings)?), slots: Arc::default() })
    }

    /// Scheme, host and port: what may be shown.
    pub fn origin(&self) -> String {
        self.client.origin()
    }

    /// Opens one source: claims it, settles what a former opening of this process left in doubt by repeating the same
    /// request, and loads. A former lease that is still alive loses the source.
    ///
    /// # Errors
    /// [`StateError::Server`] for anything that may pass, [`StateError::ServerDenies`] for credentials,
    /// [`StateError::ServerState`] for what is no state.
    pub async fn open(&self, key: &SourceKey) -> Result<(HttpLease, Opened), StateError> {
        let slot = self.slot(key);
        let mut record = slot.clone().lock_owned().await;
        let opening = record.claim();
        record = self.settle(key, record).await?;
        let (known, state) = self.load(key).await?;
        record.loaded(known);
        let life = fastrand::u64(1..);
        let lease = HttpLease::new(self.client.clone(), key.clone(), slot, (opening, record.unfenced()));
        Ok((lease, Opened { life, number: 0, state }))
    }

    /// What is saved now. Takes nothing and waits for nobody.
    ///
    /// # Errors
    /// As of [`HttpStore::open`].
    pub async fn read(&self, key: &SourceKey) -> Result<Option<Vec<u8>>, StateError> {
        Ok(self.load(key).await?.1)
    }

    /// Puts `state` in the place of what is saved; `None` removes it. Refused while an opening of this process has the
    /// source; an engine elsewhere that has it is fenced by it.
    ///
    /// # Errors
    /// [`StateError::InUse`], and as of [`HttpStore::open`].
    pub async fn replace(&self, key: &SourceKey, state: Option<Vec<u8>>) -> Result<(), StateError> {
        let slot = self.slot(key);
        let mut record = slot.lock_owned().await;
        if record.is_open() {
            return Err(StateError::InUse);
        }
        let opening = record.claim();
        record = self.settle(key, record).await?;
        let (known, _) = self.load(key).await?;
        let Some(state) = state else {
            return self.remove(key, &known).await;
        };
        record.loaded(known);
        let outcome = lease::save_first(self.client.clone(), key.clone(), record, (opening, state));
        outcome.await
    }

    async fn remove(&self, key: &SourceKey, known: &Known) -> Result<(), StateError> {
        let condition = match known {
            Known::Absent => return Ok(()),
            Known::Tagged(tag) => Condition::Is(tag.clone()),
            Known::Untagged => Condition::None,
        };
        let mut block = RetryBlock::new(self.client.retry());
        loop {
            match meaning::of_removal(self.client.remove(key, &condition).await) {
                meaning::Removed::Gone => return Ok(()),
                meaning::Removed::Refused => return Err(StateError::Fenced { origin: self.origin() }),
                meaning::Removed::Rejected(reason) => return Err(self.server("remove from", reason)),
                meaning::Removed::Again(again) => {
                    let Some(wait) = block.next(again.after) else {
                        return Err(self.server("remove from", again.reason));
                    };
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    /// Repeats what a former opening left in doubt until its outcome is definite.
    async fn settle(
        &self,
        key: &SourceKey,
        record: OwnedMutexGuard<Record>,
    ) -> Result<OwnedMutexGuard<Record>, StateError> {
        if !record.owes() {
            return Ok(record);
        }
        let (record, outcome) = lease::run(self.client.clone(), key.clone(), record).await?;
        match outcome {
            Err(error @ StateError::Server { is_definite: false, .. }) => Err(error),
            // Refused or rejected is definite too: it did not land, and its condition keeps a late copy from landing.
            Err(error) => {
                tracing::warn!(source = key.as_str(), %error, "what a former opening left in doubt did not land");
                Ok(record)
            }
            Ok(()) => Ok(record),
        }
    }

    async fn load(&self, key: &SourceKey) -> Result<(Known, Option<Vec<u8>>), StateError> {
        let mut block = RetryBlock::new(self.client.retry());
        loop {
            let origin = self.origin();
            match meaning::of_load(self.client.load(key).await) {
                Loaded::Found(state, tag) => {
                    return Ok((tag.map_or(Known::Untagged, Known::Tagged), Some(state)));
                }
                Loaded::Absent => return Ok((Known::Absent, None)),
                Loaded::Denied(status) => return Err(StateError::ServerDenies { origin, status }),
                Loaded::Unreadable(reason) => return Err(StateError::ServerState { origin, reason }),
                Loaded::Rejected(reason) => return Err(self.server("load from", reason)),
                Loaded::Again(again) => {
                    let Some(wait) = block.next(again.after) else {
                        return Err(self.server("load from", again.reason));
                    };
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    fn server(&self, step: &'static str, reason: String) -> StateError {
        StateError::Server { step, origin: self.origin(), reason, is_definite: true }
    }

    fn slot(&self, key: &SourceKey) -> Slot {
        // Nothing in these few lines can panic half way.
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Arc::new(tokio::sync::Mutex::new(Record::new()));
        slots.entry(key.as_str().to_owned()).or_insert_with(fresh).clone()
    }
}
