//! How long the named waits of the lifecycle are: pure, jitter passed in.

use std::time::Duration;

use pico_config::Supervision;

use crate::lifecycle::Wait;

/// First wait after a poll error; doubles up to `poll_backoff_max`.
const POLL_BACKOFF_INITIAL: Duration = Duration::from_millis(100);
/// A permanent poll error is tried again this often.
const PERMANENT_POLL_RETRY: Duration = Duration::from_secs(30);
/// First wait after a failed opening; doubles up to [`OPEN_BACKOFF_MAX`].
const OPEN_BACKOFF_INITIAL: Duration = Duration::from_secs(1);
const OPEN_BACKOFF_MAX: Duration = Duration::from_secs(30);
/// `restart_after` doubles up to this.
const RESTART_MAX: Duration = Duration::from_secs(600);

/// Length of `wait`. `jitter` is in 0..1; waits after failures are cut by up to half of it, so that many sources
/// that failed together do not come back together. `stop` is what a stop waits for batches in flight.
pub fn length(wait: Wait, settings: &Supervision, stop: Duration, jitter: f64) -> Duration {
    match wait {
        Wait::Nack(n) => jittered(doubled(settings.backoff_initial, n, settings.backoff_max), jitter),
        Wait::Poll(n) => jittered(doubled(POLL_BACKOFF_INITIAL, n, settings.poll_backoff_max), jitter),
        Wait::PermanentPoll => PERMANENT_POLL_RETRY,
        Wait::Open(n) => jittered(doubled(OPEN_BACKOFF_INITIAL, n, OPEN_BACKOFF_MAX), jitter),
        Wait::Restart(n) => {
            let first = settings.restart_after.unwrap_or(RESTART_MAX);
            doubled(first, n, RESTART_MAX.max(first))
        }
        Wait::Probe => settings.backoff_max,
        Wait::Stop => stop,
    }
}

/// `first` doubled n − 1 times, at most `max`; n counts from 1.
fn doubled(first: Duration, n: u32, max: Duration) -> Duration {
    let factor = 2u32.saturating_pow(n.saturating_sub(1).min(31));
    first.saturating_mul(factor).min(max)
}

fn jittered(wait: Duration, jitter: f64) -> Duration {
    let half = wait / 2;
    (wait - half).saturating_add(half.mul_f64(1.0 - jitter.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Supervision {
        Supervision::default()
    }

    #[test]
    fn nack_waits_double_up_to_the_ceiling() {
        let at = |n| length(Wait::Nack(n), &settings(), Duration::ZERO, 0.0).as_millis();
        assert_eq!([at(1), at(2), at(3), at(7), at(30)], [100, 200, 400, 5000, 5000]);
    }

    #[test]
    fn jitter_only_shortens_and_at_most_by_half() {
        let full = length(Wait::Nack(3), &settings(), Duration::ZERO, 0.0);
        let cut = length(Wait::Nack(3), &settings(), Duration::ZERO, 1.0);
        assert_eq!(cut, full / 2);
    }

    #[test]
    fn probes_come_at_the_ceiling_and_a_permanent_poll_error_is_tried_every_thirty_seconds() {
        let at = |wait| length(wait, &settings(), Duration::from_secs(7), 0.9).as_secs();
        assert_eq!([at(Wait::Probe), at(Wait::PermanentPoll), at(Wait::Stop)], [5, 30, 7]);
    }

    #[test]
    fn poll_errors_wait_100_ms_doubling_to_their_own_ceiling() {
        let at = |n| length(Wait::Poll(n), &settings(), Duration::ZERO, 0.0).as_millis();
        assert_eq!([at(1), at(2), at(9), at(10), at(u32::MAX)], [100, 200, 25_600, 30_000, 30_000]);
    }

    #[test]
    fn the_longest_waits_that_can_be_written_do_not_overflow() {
        let endless =
            Supervision { backoff_initial: Duration::MAX, backoff_max: Duration::MAX, ..settings() };
        for (jitter, longest) in [(0.0, Duration::MAX), (1.0, Duration::MAX / 2 + Duration::from_secs(1))] {
            assert!(length(Wait::Nack(u32::MAX), &endless, Duration::ZERO, jitter) <= longest);
        }
    }

    #[test]
    fn restarts_wait_one_minute_doubling_to_ten() {
        let at = |n| length(Wait::Restart(n), &settings(), Duration::ZERO, 0.5).as_secs();
        assert_eq!([at(1), at(2), at(4), at(5), at(99)], [60, 120, 480, 600, 600]);
    }

    #[test]
    fn openings_are_tried_one_to_thirty_seconds_apart() {
        let at = |n| length(Wait::Open(n), &settings(), Duration::ZERO, 0.0).as_secs();
        assert_eq!([at(1), at(2), at(6), at(1000)], [1, 2, 30, 30]);
    }
}
