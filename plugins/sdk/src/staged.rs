//! Stage and apply: the committed state of a source and the queue of its candidates.
//!
//! A poll stages a candidate together with its batch; only the verdict on *that* batch promotes it. The link is a
//! stamp in the batch, so a candidate whose poll was dropped or failed is never taken for another's, and a batch
//! without a candidate takes its turn like any other.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::turns::Turns;
use crate::{Batch, Error, OpenContext, State};

/// The committed state and the candidates of a source; every method is short and none waits.
///
/// For a source that is not pipelined [`head`](Staged::head) and [`committed`](Staged::committed) are equal
/// whenever a poll begins. A pipelined one reads on from `head`, so that it works the same with every window.
#[derive(Debug)]
pub struct Staged<T> {
    version: u32,
    turns: Turns,
    inner: Mutex<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    committed: T,
    candidates: VecDeque<Candidate<T>>,
    last_stamp: u64,
}

#[derive(Debug)]
struct Candidate<T> {
    stamp: u64,
    state: T,
}

impl<T: Clone + Serialize + DeserializeOwned> Staged<T> {
    /// Reads the saved state of `context`, written with `version` or an older one, or begins with `fresh` when
    /// there is none.
    ///
    /// # Errors
    /// [`Error::State`] when there is one that cannot be read; hand it on.
    pub fn open(context: &OpenContext, version: u32, fresh: impl FnOnce() -> T) -> Result<Staged<T>, Error> {
        let committed = match &context.state {
            Some(state) => state.decode(version)?,
            None => fresh(),
        };
        let inner = Inner { committed, candidates: VecDeque::new(), last_stamp: 0 };
        Ok(Staged { version, turns: context.turns.clone(), inner: Mutex::new(inner) })
    }

    /// What the engine said was delivered and saved.
    pub fn committed(&self) -> T {
        self.lock().committed.clone()
    }

    /// Where the next batch begins: the newest candidate whose batch was returned, else the committed state.
    pub fn head(&self) -> T {
        let inner = self.lock();
        let newest =
            self.turns.newest().and_then(|stamp| inner.candidates.iter().find(|one| one.stamp == stamp));
        newest.map_or_else(|| inner.committed.clone(), |candidate| candidate.state.clone())
    }

    /// Attaches `candidate` to `batch` and queues it. The last statement of `poll`:
    /// `self.staged.stage(batch, candidate)`. A batch that moved nothing is returned without.
    ///
    /// # Errors
    /// [`Error::Serialization`] when the candidate cannot be written; nothing is queued.
    pub fn stage(&self, mut batch: Batch, candidate: T) -> Result<Batch, Error> {
        batch.set_state(State::encode(&candidate, self.version)?);
        batch.stamp = Some(self.queue(candidate));
        Ok(batch)
    }

    /// The stamp of the candidate, now the newest.
    fn queue(&self, candidate: T) -> u64 {
        let mut inner = self.lock();
        // One poll runs at a time, so what is newer than the last returned batch was staged by a poll that failed.
        let newest = self.turns.newest().unwrap_or_default();
        while inner.candidates.back().is_some_and(|candidate| candidate.stamp > newest) {
            inner.candidates.pop_back();
        }
        inner.last_stamp += 1;
        let stamp = inner.last_stamp;
        inner.candidates.push_back(Candidate { stamp, state: candidate });
        stamp
    }

    /// As [`stage`](Staged::stage), but the batch carries no state: nothing is saved for it, and after a restart
    /// its candidate is forgotten. For a source whose upstream sends again whatever was not answered.
    pub fn stage_unsaved(&self, mut batch: Batch, candidate: T) -> Batch {
        batch.stamp = Some(self.queue(candidate));
        batch
    }

    /// For `Verdict::Ack`: promotes the candidate of the batch that was acknowledged and answers the state that is
    /// now committed, for the side effects that go with it. `None` when that batch had no candidate.
    pub fn ack(&self) -> Option<T> {
        let stamp = self.turns.oldest()?;
        let mut inner = self.lock();
        // Older ones were staged by polls that returned nothing.
        while inner.candidates.front().is_some_and(|candidate| candidate.stamp < stamp) {
            inner.candidates.pop_front();
        }
        let is_next = inner.candidates.front().is_some_and(|candidate| candidate.stamp == stamp);
        let candidate = if is_next { inner.candidates.pop_front() } else { None }?;
        inner.committed = candidate.state;
        Some(inner.committed.clone())
    }

    /// For `Verdict::Nack`: drops every candidate. The next poll begins at the committed state.
    pub fn nack(&self) {
        self.lock().candidates.clear();
    }

    /// No code of others runs under the lock but `Clone` and `Drop` of `T`; a panic there ends the instance.
    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
