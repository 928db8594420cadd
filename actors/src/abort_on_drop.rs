//! A call that was started and whose answer somebody waits for.

use tokio::task::AbortHandle;

/// Aborts a started call when its owner goes: nobody waits for the answer any more.
pub(crate) struct AbortOnDrop(pub(crate) AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
