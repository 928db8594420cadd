//! The threads that serve connections, for all listeners of this library.
//!
//! Half of the cores, one at least: the other half is for the engine and its client of the broker. On the two workers of
//! the SDK each would wake the other for every few requests, which costs more than a small request itself.

use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

/// One serves tens of thousands of small posts a second.
const THREADS_MAX: usize = 8;

/// Starts them with the first listener; they stay.
pub(super) fn get() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    static STARTING: Mutex<()> = Mutex::new(());
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(threads(available_parallelism().map_or(1, usize::from)))
        .thread_name("http-listener")
        .enable_all()
        .build()?;
    Ok(RUNTIME.get_or_init(|| runtime))
}

fn threads(cores: usize) -> usize {
    (cores / 2).clamp(1, THREADS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_cores_serve_connections_and_one_at_least() {
        assert_eq!([0, 1, 2, 4, 7, 64].map(threads), [1, 1, 1, 2, 3, 8]);
    }
}
