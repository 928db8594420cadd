//! How many records a second, as a person would say it: recent, and calm.

use std::time::{Duration, Instant};

/// After this long without records a rate has fallen to about a third.
const MEMORY: Duration = Duration::from_secs(10);

/// A rate that forgets: what came weighs less the longer it is ago.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    per_second: f64,
    at: Instant,
}

impl Rate {
    /// Nothing came yet.
    pub(crate) fn new(now: Instant) -> Rate {
        Rate { per_second: 0.0, at: now }
    }

    /// So many came now.
    pub(crate) fn add(&mut self, records: u32, now: Instant) {
        self.per_second = self.read(now) + f64::from(records) / MEMORY.as_secs_f64();
        self.at = now;
    }

    /// The rate as of now.
    pub(crate) fn read(&self, now: Instant) -> f64 {
        let age = now.saturating_duration_since(self.at).as_secs_f64();
        self.per_second * (-age / MEMORY.as_secs_f64()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_stream_is_seen_at_its_rate_and_forgotten_after_it_ends() {
        let begin = Instant::now();
        let mut rate = Rate::new(begin);
        let at = |tenths: u32| begin + Duration::from_millis(100) * tenths;
        for tenth in 1..=600 {
            rate.add(5, at(tenth));
        }
        let seen = rate.read(at(600));
        assert!((48.0..52.0).contains(&seen), "{seen}");
        assert!(rate.read(at(1_600)) < 0.01);
        assert_eq!(Rate::new(begin).read(at(10)), 0.0);
    }
}
