//! The two things a computed value needs that are not in the record: the time and chance.

use std::fmt;
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use pico_config::Computed;
use uuid::{Builder, Uuid};

/// Where computed values come from. The engine uses [`System`]; a test or a rehearsal brings its own.
pub trait Surroundings: fmt::Debug + Send {
    /// Time since the Unix epoch.
    fn now(&self) -> Duration;

    /// 128 random bits.
    fn random(&self) -> u128;
}

/// The clock and the random numbers of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Surroundings for System {
    fn now(&self) -> Duration {
        // A clock before 1970 is a broken one; the epoch is what it then says.
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn random(&self) -> u128 {
        // Six bits of a UUID are fixed, so two make the 128.
        let (low, high) = (Uuid::new_v4().as_u128(), Uuid::new_v4().as_u128());
        low ^ (high << 64) ^ (high >> 64)
    }
}

/// Appends the value as JSON.
pub(crate) fn write_computed(what: Computed, surroundings: &dyn Surroundings, out: &mut Vec<u8>) {
    let now = surroundings.now();
    let random = || surroundings.random().to_be_bytes();
    let written = match what {
        Computed::DateTime => write!(out, "\"{:.6}\"", timestamp(now)),
        Computed::TimestampSeconds => write!(out, "{}", now.as_secs()),
        Computed::TimestampMillis => write!(out, "{}", now.as_millis()),
        Computed::TimestampMicros => write!(out, "{}", now.as_micros()),
        Computed::TimestampNanos => write!(out, "{}", now.as_nanos()),
        Computed::UuidV4 => write!(out, "\"{}\"", Builder::from_random_bytes(random()).into_uuid()),
        Computed::UuidV7 => {
            let bytes = random();
            let tail: &[u8; 10] = bytes.first_chunk().expect("10 of 16");
            let millis = now.as_millis() as u64;
            write!(out, "\"{}\"", Builder::from_unix_timestamp_millis(millis, tail).into_uuid())
        }
    };
    written.expect("memory takes every write");
}

/// Past the year 9999 the last moment of it.
fn timestamp(since_epoch: Duration) -> Timestamp {
    Timestamp::from_nanosecond(since_epoch.as_nanos() as i128).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed;

    impl Surroundings for Fixed {
        fn now(&self) -> Duration {
            Duration::new(1_700_000_000, 123_456_789)
        }

        fn random(&self) -> u128 {
            u128::MAX
        }
    }

    #[test]
    fn computed_values_have_their_documented_form() {
        let value = |what| {
            let mut out = Vec::new();
            write_computed(what, &Fixed, &mut out);
            String::from_utf8(out).unwrap()
        };

        assert_eq!(value(Computed::DateTime), "\"2023-11-14T22:13:20.123456Z\"");
        assert_eq!(value(Computed::TimestampSeconds), "1700000000");
        assert_eq!(value(Computed::TimestampMillis), "1700000000123");
        assert_eq!(value(Computed::TimestampMicros), "1700000000123456");
        assert_eq!(value(Computed::TimestampNanos), "1700000000123456789");
        assert_eq!(value(Computed::UuidV4), "\"ffffffff-ffff-4fff-bfff-ffffffffffff\"");
        assert_eq!(value(Computed::UuidV7), "\"018bcfe5-687b-7fff-bfff-ffffffffffff\"");
    }

    #[test]
    fn two_uuids_of_the_system_differ() {
        let value = |what| {
            let mut out = Vec::new();
            write_computed(what, &System, &mut out);
            out
        };

        for what in [Computed::UuidV4, Computed::UuidV7] {
            assert_ne!(value(what), value(what));
        }
    }
}
