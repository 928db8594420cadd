//! After several failures in a row the server is left alone for a while.

use std::time::Duration;

use tokio::time::Instant;

/// Counts failures.
#[derive(Debug)]
pub(crate) struct Breaker {
    /// So many failures in a row open it; 0 never.
    threshold: u32,
    cool_down: Duration,
    failures: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    pub(crate) fn new(threshold: u32, cool_down: Duration) -> Breaker {
        Breaker { threshold, cool_down, failures: 0, open_until: None }
    }

    /// What is left of the time in which nothing is asked.
    pub(crate) fn left(&self) -> Duration {
        self.open_until.map(|until| until.saturating_duration_since(Instant::now())).unwrap_or_default()
    }

    pub(crate) fn succeeded(&mut self) {
        (self.failures, self.open_until) = (0, None);
    }

    /// One more; after the cool-down a single one opens it again.
    pub(crate) fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
        if self.threshold > 0 && self.failures >= self.threshold {
            self.open_until = Some(Instant::now() + self.cool_down);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_opens_at_the_threshold_and_a_success_closes_it() {
        let mut breaker = Breaker::new(2, Duration::from_secs(30));
        breaker.failed();
        assert_eq!(breaker.left(), Duration::ZERO);
        breaker.failed();
        assert_eq!(breaker.left(), Duration::from_secs(30));
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(breaker.left(), Duration::ZERO);
        breaker.failed();
        assert_eq!(breaker.left(), Duration::from_secs(30));
        breaker.succeeded();
        breaker.failed();
        assert_eq!(breaker.left(), Duration::ZERO);
    }

    #[tokio::test]
    async fn zero_switches_it_off() {
        let mut breaker = Breaker::new(0, Duration::from_secs(30));
        (0..100).for_each(|_| breaker.failed());
        assert_eq!(breaker.left(), Duration::ZERO);
    }
}
