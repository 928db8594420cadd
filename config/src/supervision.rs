//! How patient the engine is with a source: `[supervision]`, in config.toml for all and in a definition for one.

use std::time::Duration;

/// Limits and waits of one source, already merged: built-in default, then config.toml, then the definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervision {
    /// Consecutive nacks at which polling stops (30).
    pub nack_limit: u32,
    /// Wait after the first nack; doubles (100 ms).
    pub backoff_initial: Duration,
    /// Longest wait after a nack (5 s).
    pub backoff_max: Duration,
    /// Longest wait after a failed poll (30 s).
    pub poll_backoff_max: Duration,
    /// First wait before a halted source is opened again by itself, doubling to 10 min (1 min). None: never.
    pub restart_after: Option<Duration>,
    /// Longest silence between two delivery reports of a batch (30 s).
    pub batch_deadline: Duration,
    /// Longest time the plugin may take to open (60 s).
    pub open_timeout: Duration,
    /// Longest time the plugin may take over a verdict (30 s).
    pub verdict_timeout: Duration,
    /// Time without progress, while something is in flight, after which health says degraded (5 min).
    pub stall_after: Duration,
}

impl Default for Supervision {
    fn default() -> Supervision {
        Supervision {
            nack_limit: 30,
            backoff_initial: Duration::from_millis(100),
            backoff_max: Duration::from_secs(5),
            poll_backoff_max: Duration::from_secs(30),
            restart_after: Some(Duration::from_secs(60)),
            batch_deadline: Duration::from_secs(30),
            open_timeout: Duration::from_secs(60),
            verdict_timeout: Duration::from_secs(30),
            stall_after: Duration::from_secs(300),
        }
    }
}
