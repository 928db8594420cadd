//! `[plugin_config]` of the random source: as written, and as checked.

use std::ops::Range;
use std::time::Duration;

use picomq_connector_sdk::{Error, Limits};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::record::bytes_max;

/// What an interval that is no duration falls back to.
const INTERVAL_DEFAULT: Duration = Duration::from_secs(1);

/// As written. Every key is optional.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RandomConfig {
    /// Sleep before each batch, such as `500ms`. What is no duration falls back to `1s`.
    pub interval: String,
    /// Batch size, drawn uniformly; the second number is exclusive. Twice the same number means that number.
    pub messages_range: [i64; 2],
    /// Length of the random text field in characters.
    pub payload_size: usize,
    /// Stop after this many records. The source then returns empty batches for ever.
    pub max_count: Option<u64>,
    /// Number of distinct user_id values. Values below 1 become 1.
    pub user_pool: i64,
    /// Set the record key to the user_id bytes, for strategy = "key" routing.
    pub key_by_user: bool,
    /// Makes id and text of a record depend on this number and its sequence alone, so that they repeat.
    pub seed: Option<u64>,
}

impl Default for RandomConfig {
    fn default() -> RandomConfig {
        RandomConfig {
            interval: "1s".to_owned(),
            messages_range: [10, 50],
            payload_size: 100,
            max_count: None,
            user_pool: 10,
            key_by_user: false,
            seed: None,
        }
    }
}

/// As checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub(crate) interval: Duration,
    pub(crate) sizes: Range<u32>,
    pub(crate) payload_bytes: usize,
    pub(crate) max_count: Option<u64>,
    pub(crate) users: u64,
    pub(crate) key_by_user: bool,
    pub(crate) seed: Option<u64>,
}

impl RandomConfig {
    /// Checks what was written against itself and against the limits of a batch.
    ///
    /// # Errors
    /// [`Error::Config`] naming the key, the value and what would be right.
    pub fn check(&self, limits: &Limits) -> Result<Settings, Error> {
        let settings = Settings {
            interval: self.interval_or_default(),
            sizes: self.sizes(limits)?,
            payload_bytes: self.payload_size,
            max_count: self.max_count,
            users: u64::try_from(self.user_pool).unwrap_or(1).max(1),
            key_by_user: self.key_by_user,
            seed: self.seed,
        };
        let largest = bytes_max(settings.payload_bytes).saturating_mul(u64::from(settings.sizes.end - 1));
        if largest > limits.batch_bytes {
            return Err(Error::config(format!(
                "payload_size = {} with up to {} records makes batches of {largest} bytes, the limit is {} \
                 ([limits] batch_bytes); make either smaller",
                self.payload_size,
                settings.sizes.end - 1,
                limits.batch_bytes
            )));
        }
        Ok(settings)
    }

    fn interval_or_default(&self) -> Duration {
        humantime::parse_duration(&self.interval).unwrap_or_else(|error| {
            tracing::warn!(interval = self.interval, %error, "interval is no duration, 1s is used");
            INTERVAL_DEFAULT
        })
    }

    /// The sizes a batch may have. `[5, 5]` means 5, as if it were `[5, 6]`.
    fn sizes(&self, limits: &Limits) -> Result<Range<u32>, Error> {
        let [min, max] = self.messages_range;
        let refuse = |why: &str| {
            Error::config(format!(
                "messages_range = [{min}, {max}]: {why}; right is [min, max] with 0 <= min <= max, max exclusive"
            ))
        };
        if min < 0 {
            return Err(refuse("a batch cannot have less than 0 records"));
        }
        if min > max {
            return Err(refuse("the first number is above the second"));
        }
        let end = max.max(min.saturating_add(1));
        if end < 2 {
            return Err(refuse("it would never make a record"));
        }
        let largest = end - 1;
        if largest > i64::from(limits.batch_records) {
            return Err(refuse(&format!(
                "a batch may have {} records ([limits] batch_records)",
                limits.batch_records
            )));
        }
        let narrow = |number: i64| u32::try_from(number).map_err(|_| refuse("too large"));
        Ok(narrow(min)?..narrow(end)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { batch_records: 10_000, batch_bytes: 64 << 20 };

    fn with(change: impl FnOnce(&mut RandomConfig)) -> Result<Settings, String> {
        let mut config = RandomConfig::default();
        change(&mut config);
        config.check(&LIMITS).map_err(|error| error.to_string())
    }

    fn sizes(range: [i64; 2]) -> Result<Range<u32>, String> {
        with(|config| config.messages_range = range).map(|settings| settings.sizes)
    }

    #[test]
    fn the_defaults_are_those_of_the_documentation() {
        let settings = with(|_| {}).unwrap();
        assert_eq!(settings.interval, Duration::from_secs(1));
        assert_eq!(settings.sizes, 10..50);
        assert_eq!((settings.payload_bytes, settings.users), (100, 10));
        assert_eq!((settings.max_count, settings.key_by_user, settings.seed), (None, false, None));
    }

    #[test]
    fn twice_the_same_number_means_that_number_b111() {
        assert_eq!(sizes([5, 5]), Ok(5..6));
    }

    #[test]
    fn a_range_upside_down_or_below_zero_is_refused_with_the_value_b111() {
        for range in [[10, 5], [-1, 3]] {
            let text = sizes(range).unwrap_err();
            assert!(text.contains(&format!("{range:?}")), "{text}");
        }
    }

    #[test]
    fn a_range_that_never_makes_a_record_is_refused() {
        assert!(sizes([0, 0]).is_err());
        assert!(sizes([0, 1]).is_err());
        assert_eq!(sizes([0, 2]), Ok(0..2));
    }

    #[test]
    fn the_largest_batch_that_fits_the_limits_is_taken_and_one_more_is_not() {
        assert_eq!(sizes([10_000, 10_001]), Ok(10_000..10_001));
        assert!(sizes([10_000, 10_002]).unwrap_err().contains("batch_records"));
        assert!(sizes([i64::MAX, i64::MAX]).is_err());
        assert!(with(|config| config.payload_size = 64 << 20).unwrap_err().contains("batch_bytes"));
    }

    #[test]
    fn an_interval_that_is_no_duration_is_one_second_b111() {
        let interval = |text: &str| with(|config| config.interval = text.to_owned()).unwrap().interval;
        assert_eq!(interval("abc"), Duration::from_secs(1));
        assert_eq!(interval(""), Duration::from_secs(1));
        assert_eq!(interval("0s"), Duration::ZERO);
        assert_eq!(interval("250ms"), Duration::from_millis(250));
    }

    #[test]
    fn a_user_pool_below_one_becomes_one_b111() {
        for pool in [0, -7, i64::MIN] {
            assert_eq!(with(|config| config.user_pool = pool).unwrap().users, 1);
        }
    }
}
