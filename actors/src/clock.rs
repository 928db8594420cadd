//! The time of day, as it is shown.

use std::time::{SystemTime, UNIX_EPOCH};

/// Unix milliseconds; only for show, never for a decision.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
