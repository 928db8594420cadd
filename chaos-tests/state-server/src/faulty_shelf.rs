//! The shelf with the faults that are planned for it, and its judge: what the handle and the connections share.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::judge::Judge;
use crate::shelf::{Shelf, Tags};

/// What happens to one request instead of the usual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nothing; a place in the queue.
    Works,
    /// Answered with this status; `applies`: after it was done all the same.
    Status {
        /// Such as 503.
        status: u16,
        /// Whether the request takes effect.
        applies: bool,
        /// `Retry-After`, in seconds.
        retry_after: Option<u32>,
    },
    /// The connection ends without an answer.
    Cut {
        /// Whether the request takes effect before.
        applies: bool,
    },
    /// Takes effect at once, is answered after this time.
    Late(Duration),
    /// Takes effect at [`StateServer::release`](crate::StateServer::release), whether its client still waits or not.
    Held,
}

impl Fault {
    /// Answered with `status`; nothing is done.
    pub fn status(status: u16) -> Fault {
        Fault::Status { status, applies: false, retry_after: None }
    }
}

/// What connections and handle share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    pub(crate) released: Notify,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) shelf: Shelf,
    pub(crate) judge: Judge,
    pub(crate) tags: Tags,
    pub(crate) saves: VecDeque<Fault>,
    pub(crate) loads: VecDeque<Fault>,
    pub(crate) held: usize,
    pub(crate) requests: u64,
    pub(crate) heads: Vec<String>,
    pub(crate) encoding: Option<&'static str>,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // A test that panicked elsewhere must not hide its reason behind a poisoned lock.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
