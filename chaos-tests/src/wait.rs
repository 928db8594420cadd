//! Waiting for a thing, never for a time.

use std::time::{Duration, Instant};

use crate::{Error, Result};

/// How long between two looks: short against everything that is waited for here.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Stands still for `duration`. For the waits that *are* the story: the random moment of a kill, the length of a
/// broker pause.
#[expect(clippy::disallowed_methods, reason = "the harness is plain threads; no async worker is blocked")]
pub fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

/// Calls `look` until it answers `Ok`, at most `within`. An `Err` is what the look saw instead; the last one is told
/// when the time is up.
pub fn wait_for<T>(
    what: &str,
    within: Duration,
    mut look: impl FnMut() -> std::result::Result<T, String>,
) -> Result<T> {
    let end = Instant::now() + within;
    loop {
        let seen = match look() {
            Ok(found) => return Ok(found),
            Err(seen) => seen,
        };
        if Instant::now() >= end {
            return Err(Error::Timeout { what: what.to_owned(), within, seen });
        }
        pause(LOOK_EVERY);
    }
}
