//! The openings under way in this library, by the number of their call: one that the engine calls off is dropped where
//! it stands, so that what comes after it does not wait for its timeout.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

static UNDER_WAY: Mutex<BTreeMap<u64, oneshot::Sender<()>>> = Mutex::new(BTreeMap::new());

fn under_way() -> MutexGuard<'static, BTreeMap<u64, oneshot::Sender<()>>> {
    // No code of others runs under the lock, so a poisoned one is whole.
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of them, from before its call returns until it has an outcome.
pub(super) struct UnderWay {
    call: u64,
    called_off: oneshot::Receiver<()>,
}

impl UnderWay {
    pub(super) fn begin(call: u64) -> UnderWay {
        let (sender, called_off) = oneshot::channel();
        under_way().insert(call, sender);
        UnderWay { call, called_off }
    }

    /// Returns when it was called off.
    pub(super) async fn called_off(&mut self) {
        if (&mut self.called_off).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        under_way().remove(&self.call);
    }
}

/// Calls an opening off; without effect when it has its outcome already.
pub(super) fn call_off(call: u64) {
    let opening = under_way().remove(&call);
    if let Some(opening) = opening {
        // Nobody listens when it ended this moment.
        let _ = opening.send(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_opening_that_is_called_off_hears_of_it_and_no_other() {
        let (mut one, mut other) = (UnderWay::begin(u64::MAX), UnderWay::begin(u64::MAX - 1));
        call_off(u64::MAX);
        one.called_off().await;
        let quiet = std::time::Duration::from_millis(20);
        assert!(tokio::time::timeout(quiet, other.called_off()).await.is_err());
    }

    #[test]
    fn one_that_has_ended_is_forgotten() {
        drop(UnderWay::begin(u64::MAX - 2));
        call_off(u64::MAX - 2);
        assert!(!under_way().contains_key(&(u64::MAX - 2)));
    }
}
