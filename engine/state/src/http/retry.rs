//! The waits between attempts of one request.

use std::time::Duration;

use pico_config::StateRetry;

/// What is left of the retries of one request.
#[derive(Debug, Clone)]
pub(super) struct RetryBlock {
    settings: StateRetry,
    retries: u32,
    wait: Duration,
}

impl RetryBlock {
    pub(super) fn new(settings: StateRetry) -> RetryBlock {
        RetryBlock { settings, retries: 0, wait: settings.initial_backoff }
    }

    /// How long to wait before the next attempt; `None` when there is none. `asked` is the server's Retry-After: it
    /// is obeyed up to the longest wait.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        if self.retries >= self.settings.retries_max {
            return None;
        }
        self.retries += 1;
        let wait = asked.unwrap_or(self.wait).min(self.settings.max_backoff);
        self.wait = self.wait.saturating_mul(self.settings.backoff_multiplier).min(self.settings.max_backoff);
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(settings: StateRetry, asked: &[Option<u64>]) -> Vec<u64> {
        let mut block = RetryBlock::new(settings);
        let mut asked = asked.iter().copied().chain(std::iter::repeat(None));
        std::iter::from_fn(|| block.next(asked.next().flatten().map(Duration::from_millis)))
            .map(|wait| wait.as_millis() as u64)
            .collect()
    }

    #[test]
    fn max_attempts_counts_retries_and_the_wait_grows_to_its_ceiling() {
        assert_eq!(waits(StateRetry::default(), &[]), [200, 400, 800, 1600]);
        let long = StateRetry { retries_max: 6, ..StateRetry::default() };
        assert_eq!(waits(long, &[]), [200, 400, 800, 1600, 2000, 2000]);
    }

    #[test]
    fn switched_off_means_a_single_attempt() {
        assert!(waits(StateRetry { retries_max: 0, ..StateRetry::default() }, &[]).is_empty());
    }

    #[test]
    fn the_servers_wish_is_obeyed_up_to_the_longest_wait() {
        assert_eq!(waits(StateRetry::default(), &[Some(50), Some(3_600_000)]), [50, 2000, 800, 1600]);
    }
}
