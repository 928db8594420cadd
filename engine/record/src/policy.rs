//! `[errors]`: what becomes of a record that failed, and how many may be set aside within a minute.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pico_config::{ErrorPolicy, OnRecordError};

use crate::fault::Stage;
use crate::topics::TopicId;

/// The headers of a dead letter, beside those the record came with.
pub mod error_header {
    /// `decode`, `transform`, `route`, `encode` or `size`.
    pub const STAGE: &str = "picomq.error.stage";
    /// Stable name of the kind of failure.
    pub const CODE: &str = "picomq.error.code";
    /// For people; cut after 1,000 bytes.
    pub const MESSAGE: &str = "picomq.error.message";
    /// Key of the source.
    pub const SOURCE: &str = "picomq.error.source";
    /// The topic it was meant for; left out where that is not known.
    pub const TOPIC: &str = "picomq.error.topic";
    /// The plugin's record id, cut after 256 bytes; without one `<life>/<number>/<index>`.
    pub const POSITION: &str = "picomq.error.position";
    /// When it failed, Unix milliseconds.
    pub const TIMESTAMP: &str = "picomq.error.timestamp";
    /// What the plugin's payload is: needed to send it once more.
    pub const SCHEMA: &str = "picomq.error.schema";
    /// All of them, in the order in which they are written.
    pub const ALL: [&str; 8] = [STAGE, CODE, MESSAGE, SOURCE, TOPIC, POSITION, TIMESTAMP, SCHEMA];
}

/// Longest message in a header.
const MESSAGE_BYTES_MAX: usize = 1_000;
/// Longest record id in a header.
const POSITION_BYTES_MAX: usize = 256;
/// What the ceiling counts within.
const WINDOW_SECONDS: u32 = 60;

/// The time as whoever routes knows it: this crate has no clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since the Unix epoch, for people and headers.
    pub unix_ms: u64,
    /// Since any fixed moment, by a clock that never goes back, for waits.
    pub steady: Duration,
}

/// How many records of a source were set aside in the present minute. Clones count together, so that a source that is
/// opened again within the same process goes on counting where it was.
#[derive(Clone, Debug, Default)]
pub struct Ceiling(Arc<AtomicU64>);

impl Ceiling {
    /// Counts one more record unless `most` were counted in a minute that began less than 60 seconds ago.
    pub(crate) fn take(&self, most: u32, now: Duration) -> bool {
        // One router at a time counts here, so that reading and writing need not be one step.
        let packed = self.0.load(Ordering::Relaxed);
        let (begun, count) = ((packed >> 32) as u32, packed as u32);
        let now = now.as_secs() as u32;
        let (begun, count) = match count {
            0 => (now, 0),
            _ if now.wrapping_sub(begun) >= WINDOW_SECONDS => (now, 0),
            count => (begun, count),
        };
        if count >= most {
            return false;
        }
        self.0.store(u64::from(begun) << 32 | u64::from(count + 1), Ordering::Relaxed);
        true
    }
}

/// One record that failed and was set aside or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFault {
    /// Position in the plugin's batch.
    pub index: u32,
    /// What was being done to it.
    pub stage: Stage,
    /// Stable name of the kind of failure.
    pub code: &'static str,
    /// For people: the record, the field, the value cut short.
    pub message: String,
}

/// `[errors]` made ready.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    pub(crate) action: Action,
    per_minute_max: u32,
    ceiling: Ceiling,
    pub(crate) now: Moment,
}

/// What is done with a record that failed.
#[derive(Debug, Default)]
pub(crate) enum Action {
    #[default]
    Nack,
    Skip,
    SetAside(Box<DeadLetters>),
}

/// Where dead letters go and what they bear.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    pub(crate) topic: TopicId,
    pub(crate) source: Box<str>,
    /// The numbers of the names of [`error_header::ALL`].
    pub(crate) names: [u16; error_header::ALL.len()],
}

impl Policy {
    /// `set_aside` is asked only for a policy that needs it.
    pub(crate) fn new<E>(
        errors: &ErrorPolicy,
        ceiling: Ceiling,
        set_aside: impl FnOnce(&str) -> Result<DeadLetters, E>,
    ) -> Result<Policy, E> {
        let action = match &errors.on_record_error {
            OnRecordError::Nack => Action::Nack,
            OnRecordError::Skip => Action::Skip,
            OnRecordError::DeadLetter { topic } => Action::SetAside(Box::new(set_aside(topic)?)),
        };
        Ok(Policy { action, per_minute_max: errors.max_per_minute, ceiling, now: Moment::default() })
    }

    /// Counts one record that is about to be set aside or skipped. Err: the most that may be within a minute.
    pub(crate) fn count(&self) -> Result<(), u32> {
        if self.ceiling.take(self.per_minute_max, self.now.steady) {
            Ok(())
        } else {
            Err(self.per_minute_max)
        }
    }
}

/// A message as a header bears it.
pub(crate) fn header_message(message: &str) -> &str {
    cut(message, MESSAGE_BYTES_MAX)
}

/// A record id as a header bears it.
pub(crate) fn header_position(id: &str) -> &str {
    cut(id, POSITION_BYTES_MAX)
}

fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_minute_begins_with_its_first_record_and_lets_so_many_through() {
        let ceiling = Ceiling::default();
        let taken: Vec<bool> = [70, 71, 129, 130, 131].map(|now| ceiling.take(2, at(now))).to_vec();
        assert_eq!(taken, [true, true, false, true, true]);
        assert!(!ceiling.take(2, at(189)) && ceiling.take(2, at(190)));
    }

    #[test]
    fn clones_count_together() {
        let ceiling = Ceiling::default();
        assert!(
            ceiling.take(1, at(0)) && !ceiling.clone().take(1, at(59)) && ceiling.clone().take(1, at(60))
        );
    }

    #[test]
    fn texts_in_headers_are_cut_between_characters() {
        assert_eq!(header_message(&"ä".repeat(600)).len(), 1_000);
        assert_eq!(header_position(&"😀".repeat(65)).len(), 256);
        assert_eq!(header_position("short"), "short");
    }
}
