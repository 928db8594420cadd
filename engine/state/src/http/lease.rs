//! What a source holds while it runs on the HTTP store: the right to save.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pico_actors::fault;
use pico_actors::ports::{BoxFuture, SaveFailure, StorePort};
use pico_config::SourceKey;
use tokio::sync::OwnedMutexGuard;

use super::client::SharedClient;
use super::meaning;
use super::record::{Next, NotBegun, Record};
use super::retry::RetryBlock;
use crate::error::StateError;
use crate::format::STATE_BYTES_MAX;

/// How long giving the source back waits for a request under way. What comes later is settled by the next opening.
const RELEASE_WITHIN: Duration = Duration::from_secs(2);

/// Shown beside the status while the server gives no strong tags.
const UNFENCED: &str = "unfenced";

/// What is known of a source's resource. Whoever asks for something that changes it holds it locked, in a task of its
/// own, so that it outlives a caller that went away.
pub(super) type Slot = Arc<tokio::sync::Mutex<Record>>;

/// The lease of one opening of one source.
#[derive(Debug, Clone)]
pub struct HttpLease {
    client: SharedClient,
    key: SourceKey,
    slot: Slot,
    opening: u64,
    is_unfenced: Arc<AtomicBool>,
}

impl HttpLease {
    pub(super) fn new(
        client: SharedClient,
        key: SourceKey,
        slot: Slot,
        (opening, is_unfenced): (u64, Arc<AtomicBool>),
    ) -> HttpLease {
        HttpLease { client, key, slot, opening, is_unfenced }
    }

    async fn save_one(self, number: u64, state: Vec<u8>) -> Result<(), StateError> {
        if state.len() > STATE_BYTES_MAX {
            return Err(StateError::TooLarge { bytes: state.len() });
        }
        let mut record = self.slot.clone().lock_owned().await;
        let key = uuid::Uuid::new_v4().to_string();
        record
            .begin(self.opening, number, state.into(), key)
            .map_err(|reason| refused(reason, &self.client, number))?;
        run(self.client, self.key, record).await?.1
    }

    /// The same request once more.
    async fn save_again(self) -> Result<(), StateError> {
        let record = self.slot.clone().lock_owned().await;
        record.check_again(self.opening).map_err(|reason| refused(reason, &self.client, 0))?;
        run(self.client, self.key, record).await?.1
    }
}

impl StorePort for HttpLease {
    fn save(&self, number: u64, state: Vec<u8>) -> BoxFuture<Result<(), SaveFailure>> {
        let lease = self.clone();
        Box::pin(async move { lease.save_one(number, state).await.map_err(SaveFailure::from) })
    }

    fn probe(&self) -> BoxFuture<Result<(), SaveFailure>> {
        let lease = self.clone();
        Box::pin(async move { lease.save_again().await.map_err(SaveFailure::from) })
    }

    fn release(&self) -> BoxFuture<()> {
        let (slot, opening) = (self.slot.clone(), self.opening);
        Box::pin(async move {
            let giving_back = tokio::spawn(async move { slot.lock_owned().await.give_back(opening) });
            // Past this it goes on by itself: the next opening waits for the same lock.
            tokio::time::timeout(RELEASE_WITHIN, giving_back).await.ok();
        })
    }

    fn conditions(&self) -> Vec<&'static str> {
        if self.is_unfenced.load(Ordering::Relaxed) { vec![UNFENCED] } else { Vec::new() }
    }
}

/// The one save of a person, who holds no lease.
pub(super) async fn save_first(
    client: SharedClient,
    key: SourceKey,
    mut record: OwnedMutexGuard<Record>,
    (opening, state): (u64, Vec<u8>),
) -> Result<(), StateError> {
    let idempotency_key = uuid::Uuid::new_v4().to_string();
    record.begin(opening, 1, state.into(), idempotency_key).map_err(|reason| refused(reason, &client, 1))?;
    let (mut record, outcome) = run(client, key, record).await?;
    record.give_back(opening);
    outcome
}

fn refused(reason: NotBegun, client: &SharedClient, number: u64) -> StateError {
    let origin = client.origin();
    match reason {
        NotBegun::NotOwner => StateError::NotOwner,
        NotBegun::NotRising(newest) => StateError::NotRising { number, newest },
        NotBegun::Fenced => StateError::Fenced { origin },
        NotBegun::NothingFailed => StateError::NothingFailed,
        NotBegun::Owing => {
            let reason = "the outcome of the former save is not known yet".to_owned();
            StateError::Server { step: "save to", origin, reason, is_definite: true }
        }
    }
}

/// Sends what is pending until its outcome is definite or the attempts are used up. The slot stays locked in a task of
/// its own even when the caller is gone: whoever opens the source next waits for it.
pub(super) async fn run(
    client: SharedClient,
    key: SourceKey,
    record: OwnedMutexGuard<Record>,
) -> Result<(OwnedMutexGuard<Record>, Result<(), StateError>), StateError> {
    let running = tokio::spawn(attempts(client, key, record));
    running.await.map_err(|source| StateError::Unfinished { source })
}

async fn attempts(
    client: SharedClient,
    key: SourceKey,
    mut record: OwnedMutexGuard<Record>,
) -> (OwnedMutexGuard<Record>, Result<(), StateError>) {
    let mut block = RetryBlock::new(client.retry());
    loop {
        let Some(request) = record.send() else { return (record, Ok(())) };
        fault::point("state_put");
        let attempt = client.save(&key, &request).await;
        fault::point("state_put_answered");
        let origin = client.origin();
        let (reason, is_definite) = match record.took(meaning::of_save(attempt)) {
            Next::Done => return (record, Ok(())),
            Next::Fenced => return (record, Err(StateError::Fenced { origin })),
            Next::GiveUp(reason) => (reason, true),
            Next::Again(again) => match block.next(again.after) {
                Some(wait) => {
                    let (source, reason, wait_ms) = (key.as_str(), again.reason, wait.as_millis() as u64);
                    tracing::debug!(
                        source,
                        reason,
                        wait_ms,
                        "state not saved, trying the same request again"
                    );
                    tokio::time::sleep(wait).await;
                    continue;
                }
                None => (again.reason, !record.owes()),
            },
        };
        return (record, Err(StateError::Server { step: "save to", origin, reason, is_definite }));
    }
}
