//! The one asynchronous runtime of the process.

use std::future::Future;

use crate::error::Error;

/// Runs `work` to its end on a runtime with one worker a core. What it left running dies with the process.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|cause| {
        Error::environment("process.no_threads", "cannot start worker threads")
            .with_hint(
                "raise the limit of processes: `ulimit -u`, TasksMax= of systemd, pids.max of a container",
            )
            .because(cause)
    })?;
    let outcome = runtime.block_on(work);
    // Not dropped: that would wait for blocking calls of plugins. The process leaves through `leave`.
    std::mem::forget(runtime);
    outcome
}
