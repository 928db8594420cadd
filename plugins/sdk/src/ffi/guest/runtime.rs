//! The async runtime of a library: one, with two workers, started by the first opening and never stopped.

use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

use tokio::runtime::{Builder, Runtime};

/// Enough that one slow step does not hold up every source of the library; a plugin that blocks both stalls its own.
const WORKERS: usize = 2;

/// Threads for `spawn_blocking`, at most; they end when idle.
const BLOCKING_THREADS: usize = 64;

/// The runtime of this library.
pub(super) fn get(name: &'static str) -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    static STARTING: Mutex<()> = Mutex::new(());
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if RUNTIME.get().is_none() {
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name(format!("source-{name}"))
            .enable_all()
            .build()?;
        return Ok(RUNTIME.get_or_init(|| runtime));
    }
    Ok(RUNTIME.get().expect("set above, under the lock"))
}
