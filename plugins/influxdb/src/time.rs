//! Times as InfluxDB has them: nanoseconds since the Unix epoch in an `i64`, written as RFC 3339.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The least time InfluxDB keeps, 1677-09-21T00:12:43.145224194Z.
pub(crate) const MIN: i64 = i64::MIN + 2;

/// The nanoseconds of an RFC 3339 text with 0 to 9 digits of fraction. Without a zone it is UTC, as InfluxDB 3 writes it.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let zoned = text.parse::<Timestamp>().ok();
    let instant = match zoned {
        Some(instant) => instant,
        None => TimeZone::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok()?,
    };
    i64::try_from(instant.as_nanosecond()).ok()
}

/// RFC 3339 in UTC, with as many digits of fraction as the time needs and no more.
pub(crate) fn text(nanoseconds: i64) -> String {
    match Timestamp::from_nanosecond(i128::from(nanoseconds)) {
        Ok(instant) => instant.to_string(),
        // Every i64 of nanoseconds lies in the years 1677 to 2262.
        Err(_) => nanoseconds.to_string(),
    }
}

/// The same as a JSON string.
pub(crate) fn write(out: &mut Vec<u8>, nanoseconds: i64) {
    out.push(b'"');
    let written = match Timestamp::from_nanosecond(i128::from(nanoseconds)) {
        Ok(instant) => write!(out, "{instant}"),
        Err(_) => write!(out, "{nanoseconds}"),
    };
    written.expect("memory can be written to");
    out.push(b'"');
}

/// Now, by this machine's clock.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    nanoseconds(since)
}

/// A span as nanoseconds, at most the largest there are.
pub(crate) fn nanoseconds(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_digit_of_a_time_is_kept_b101() {
        for (written, right) in [
            ("1970-01-01T00:00:00.000000001Z", 1),
            ("1970-01-01T00:00:00.000000002Z", 2),
            ("2018-08-22T03:01:49.915285377Z", 1_534_906_909_915_285_377),
            ("1969-12-31T23:59:59.999999995Z", -5),
            ("2026-01-01T00:00:00Z", 1_767_225_600_000_000_000),
            ("2026-01-01T00:00:00.1Z", 1_767_225_600_100_000_000),
            ("1677-09-21T00:12:43.145224194Z", MIN),
        ] {
            assert_eq!(parse(written), Some(right), "{written}");
            assert_eq!(text(right), written);
        }
    }

    #[test]
    fn a_zone_is_heeded_and_no_zone_is_utc() {
        assert_eq!(parse("1970-01-01T01:00:00.000000001+01:00"), Some(1));
        assert_eq!(parse("1970-01-01T00:00:00.000000001"), Some(1));
        assert_eq!(parse("1970-01-01 00:00:00"), Some(0));
        assert_eq!(parse("1970-01-01"), Some(0));
    }

    #[test]
    fn what_is_no_time_or_out_of_range_is_refused() {
        for text in ["", "now", "1970-01-01T00:00:00.0000000001Z", "2300-01-01T00:00:00Z", "5"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_time_comes_back_as_it_was_written(nanoseconds: i64) {
            prop_assert_eq!(parse(&text(nanoseconds)), Some(nanoseconds));
            let mut out = Vec::new();
            write(&mut out, nanoseconds);
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("\"{}\"", text(nanoseconds)));
        }
    }
}
