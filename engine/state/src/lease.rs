//! What a source holds while it runs: the right to save, and the only code that does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pico_actors::ports::{BoxFuture, SaveFailure, StorePort};
use tokio::sync::OwnedMutexGuard;

use crate::error::StateError;
use crate::folder::Folder;
use crate::format::{self, STATE_BYTES_MAX};
use crate::slot::{Held, Slot};

/// Waits before the second and the third try of a write.
const RETRY_WAITS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];
/// No try begins later than this after the first.
const RETRY_WITHIN: Duration = Duration::from_secs(1);

/// The lease of one opening of one source. Dropping it gives the source back once a write under way has ended.
#[derive(Debug)]
pub struct Lease {
    folder: Arc<Folder>,
    slot: Slot,
    opening: u64,
    life: u64,
}

impl Lease {
    pub(crate) fn new(folder: Arc<Folder>, slot: Slot, held: &Held) -> Lease {
        Lease { folder, slot, opening: held.opening, life: held.life }
    }

    /// Random name of this opening; stands in every file it writes.
    pub fn life(&self) -> u64 {
        self.life
    }

    fn writer(&self) -> Writer {
        Writer {
            folder: self.folder.clone(),
            slot: self.slot.clone(),
            opening: self.opening,
            life: self.life,
        }
    }
}

impl StorePort for Lease {
    fn save(&self, number: u64, state: Vec<u8>) -> BoxFuture<Result<(), SaveFailure>> {
        let writer = self.writer();
        Box::pin(async move { writer.save(number, state).await.map_err(SaveFailure::from) })
    }

    fn probe(&self) -> BoxFuture<Result<(), SaveFailure>> {
        let writer = self.writer();
        Box::pin(async move { writer.probe().await.map_err(SaveFailure::from) })
    }

    fn release(&self) -> BoxFuture<()> {
        let (slot, opening) = (self.slot.clone(), self.opening);
        Box::pin(async move {
            let mut held = slot.lock_owned().await;
            if held.is_owned_by(opening) {
                held.give_back();
            }
        })
    }
}

/// The parts of a lease that one save needs for itself.
struct Writer {
    folder: Arc<Folder>,
    slot: Slot,
    opening: u64,
    life: u64,
}

impl Writer {
    async fn save(self, number: u64, state: Vec<u8>) -> Result<(), StateError> {
        let held = self.own().await?;
        if number <= held.newest {
            return Err(StateError::NotRising { number, newest: held.newest });
        }
        self.write(held, number, state).await
    }

    /// The failed save once more under the next number: whether the failed one landed need not be known, the
    /// store is ahead of the plugin afterwards and a load continues from there.
    async fn probe(self) -> Result<(), StateError> {
        let mut held = self.own().await?;
        let state = held.failed.take().ok_or(StateError::NothingFailed)?;
        let number = held.newest + 1;
        self.write(held, number, state).await
    }

    /// Waits for whatever is being written and makes sure that this opening still owns the source (I6).
    async fn own(&self) -> Result<OwnedMutexGuard<Held>, StateError> {
        let held = self.slot.clone().lock_owned().await;
        if held.is_owned_by(self.opening) { Ok(held) } else { Err(StateError::NotOwner) }
    }

    async fn write(
        self,
        mut held: OwnedMutexGuard<Held>,
        number: u64,
        state: Vec<u8>,
    ) -> Result<(), StateError> {
        if state.len() > STATE_BYTES_MAX {
            return Err(StateError::TooLarge { bytes: state.len() });
        }
        let content = format::encode(self.life, number, &state);
        // Counted as used and as failed until it landed: a caller that goes away leaves the truth behind.
        held.newest = number;
        held.failed = Some(state);
        let mut held = write(held, self.folder, content).await?;
        held.failed = None;
        Ok(())
    }
}

/// Replaces the state file by `content`, up to three times within a second. The slot stays locked on the writing
/// thread even when the caller is gone: whoever opens the source next waits for it (a write cannot be aborted).
pub(crate) async fn write(
    mut held: OwnedMutexGuard<Held>,
    folder: Arc<Folder>,
    content: Vec<u8>,
) -> Result<OwnedMutexGuard<Held>, StateError> {
    let content = Arc::new(content);
    let started = Instant::now();
    let mut waits = RETRY_WAITS.into_iter();
    loop {
        let (back, outcome) = write_once(held, folder.clone(), content.clone()).await?;
        held = back;
        let Err(error) = outcome else { return Ok(held) };
        let Some(wait) = waits.next().filter(|wait| started.elapsed() + *wait <= RETRY_WITHIN) else {
            return Err(error);
        };
        tracing::debug!(%error, "state not written, trying again");
        tokio::time::sleep(wait).await;
    }
}

async fn write_once(
    held: OwnedMutexGuard<Held>,
    folder: Arc<Folder>,
    content: Arc<Vec<u8>>,
) -> Result<(OwnedMutexGuard<Held>, Result<(), StateError>), StateError> {
    let writing = tokio::task::spawn_blocking(move || {
        let outcome = folder.replace(&held.names.state, &held.names.temporary, &content);
        (held, outcome)
    });
    writing.await.map_err(|source| StateError::Unfinished { source })
}
