//! Trying again inside a call, for the hiccups an upstream has.
//!
//! Only [`Error::Transient`] is tried again. What still fails then goes to the engine, which waits longer: so keep the
//! budget well below `verdict_timeout` in `on_batch_result`, and below `open_timeout` in `open`.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use tracing::debug;

use crate::Error;

/// How often and how long something is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often at most, the first try not counted.
    pub times: usize,
    /// The wait before the second try; it doubles from try to try, and up to as much again is added by chance.
    pub wait_first: Duration,
    /// No wait grows beyond it before chance is added.
    pub wait_max: Duration,
    /// All waits together. A wait that does not fit, such as a long `Retry-After`, ends it at once with the error.
    pub budget: Duration,
}

impl Default for Retry {
    /// Five times within twenty seconds, from 100 ms up to 5 s apart.
    fn default() -> Retry {
        Retry {
            times: 5,
            wait_first: Duration::from_millis(100),
            wait_max: Duration::from_secs(5),
            budget: Duration::from_secs(20),
        }
    }
}

impl Retry {
    /// Runs `work` until it succeeds, fails for good, or the budget is used up. The wait is at least what the error's
    /// [`retry_after`](Error::retry_after) says.
    ///
    /// Dropping the future stops it; race it against the interrupt where it may wait in `poll`.
    ///
    /// # Errors
    /// The error of the last try.
    pub async fn run<T, F>(&self, work: impl FnMut() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut left = self.budget;
        work.retry(self.waits())
            .sleep(tokio::time::sleep)
            .when(|error| matches!(error, Error::Transient(_)))
            .adjust(|error, wait| {
                let wait = wait?.max(error.retry_after().unwrap_or_default());
                left = left.checked_sub(wait)?;
                Some(wait)
            })
            .notify(|error, wait| {
                debug!(wait_ms = wait.as_millis() as u64, error = error.chain(), "trying again")
            })
            .await
    }

    fn waits(&self) -> ExponentialBuilder {
        ExponentialBuilder::new()
            .with_min_delay(self.wait_first)
            .with_max_delay(self.wait_max)
            .with_max_times(self.times)
            .with_jitter()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::Instant;

    use super::*;

    /// Fails with `error` until it was called `good_at` times; answers the number of calls and the time they took.
    async fn tried(retry: Retry, good_at: u32, error: fn() -> Error) -> (Result<(), Error>, u32, Duration) {
        let calls = Cell::new(0);
        let started = Instant::now();
        let answer = retry
            .run(|| async {
                calls.set(calls.get() + 1);
                if calls.get() == good_at { Ok(()) } else { Err(error()) }
            })
            .await;
        (answer, calls.get(), started.elapsed())
    }

    fn hiccup() -> Error {
        Error::transient("hiccup")
    }

    #[tokio::test(start_paused = true)]
    async fn a_transient_error_is_tried_again_until_it_works() {
        let (answer, calls, _) = tried(Retry::default(), 4, hiccup).await;
        assert!(answer.is_ok());
        assert_eq!(calls, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn every_other_error_comes_back_at_once() {
        for error in [|| Error::permanent("gone"), || Error::config("wrong"), || Error::Interrupted] {
            let (answer, calls, waited) = tried(Retry::default(), 2, error).await;
            assert!(answer.is_err());
            assert_eq!((calls, waited), (1, Duration::ZERO));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_tries_is_bounded() {
        let (answer, calls, _) = tried(Retry { times: 3, ..Retry::default() }, u32::MAX, hiccup).await;
        assert!(answer.is_err());
        assert_eq!(calls, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_is_what_the_upstream_asked_for() {
        let busy = || Error::transient("429").with_retry_after(Duration::from_secs(7));
        let (answer, calls, waited) = tried(Retry::default(), 2, busy).await;
        assert!(answer.is_ok());
        assert_eq!(calls, 2);
        assert!(waited >= Duration::from_secs(7) && waited < Duration::from_secs(8), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_retry_after_beyond_the_budget_is_not_waited_for() {
        let busy = || Error::transient("429").with_retry_after(Duration::from_secs(3600));
        let (answer, calls, waited) = tried(Retry::default(), 2, busy).await;
        assert!(answer.is_err());
        assert_eq!((calls, waited), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn waits_are_not_the_same_every_time() {
        let mut waits = Vec::new();
        for _ in 0..5 {
            waits.push(tried(Retry::default(), 3, hiccup).await.2);
        }
        waits.dedup();
        assert!(waits.len() > 1, "{waits:?}");
    }
}
