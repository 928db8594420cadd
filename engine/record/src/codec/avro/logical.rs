//! Avro's logical types between JSON and their numbers. Nothing is rounded: a value that the type cannot hold is refused.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

use crate::codec::number::{Exact, as_integer, as_text, mismatch, or_mismatch};
use crate::codec::tape::{Json, Kind};
use crate::codec::trouble::Trouble;

/// What a time is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Millis,
    Micros,
    Nanos,
}

const SECONDS_A_DAY: i64 = 86_400;
const NANOS_A_DAY: i128 = 86_400_000_000_000;

/// Months, days and milliseconds, each a u32.
pub(super) const DURATION_BYTES: usize = 12;
const DURATION_PARTS: [&str; 3] = ["months", "days", "milliseconds"];

/// The unscaled number of a JSON number, or of a string that holds one.
pub(super) fn decimal(value: Json<'_>, precision: u32, scale: u32) -> Result<i128, Trouble> {
    let exact = match value.kind() {
        Kind::Number => Exact::parse(value.written()),
        Kind::String => value.text().and_then(|text| Exact::parse(&text)),
        Kind::Null | Kind::Bool(_) | Kind::Array | Kind::Object => None,
    };
    let unscaled = exact.and_then(|exact| exact.at_scale(scale));
    let unscaled = unscaled.filter(|unscaled| unscaled.unsigned_abs() < 10u128.pow(precision));
    unscaled
        .ok_or_else(|| mismatch(value, &format!("a decimal of {precision} digits, {scale} after the point")))
}

/// Big-endian two's complement without the bytes that only repeat the sign.
pub(super) fn shortest(bytes: &[u8; 16]) -> &[u8] {
    let is_spare = |pair: &[u8]| (pair[0] == 0 && pair[1] < 0x80) || (pair[0] == 0xff && pair[1] >= 0x80);
    let spare = bytes.windows(2).take_while(|pair| is_spare(pair)).count();
    &bytes[spare..]
}

/// Big-endian two's complement in exactly `size` bytes.
pub(super) fn extend(unscaled: i128, size: usize, out: &mut Vec<u8>) -> Result<(), Trouble> {
    let bytes = unscaled.to_be_bytes();
    let short = shortest(&bytes);
    let missing = size.checked_sub(short.len());
    let missing =
        missing.ok_or_else(|| Trouble::new(format!("the decimal does not fit a fixed of {size} bytes")))?;
    let sign = if unscaled < 0 { 0xff } else { 0 };
    out.extend(std::iter::repeat_n(sign, missing));
    out.extend_from_slice(short);
    Ok(())
}

/// The number of a big-endian two's complement; None beyond 16 bytes that count.
pub(super) fn unscaled(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let mut whole = [sign; 16];
    let spare = bytes.len().saturating_sub(whole.len());
    let (head, tail) = bytes.split_at(spare);
    whole[16 - tail.len()..].copy_from_slice(tail);
    let number = i128::from_be_bytes(whole);
    let is_same = head.iter().all(|byte| *byte == sign) && (number < 0) == (sign == 0xff);
    is_same.then_some(number)
}

/// `1230` at scale 2 is `12.30`.
pub(super) fn decimal_text(unscaled: i128, scale: u32) -> String {
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale as usize + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
    let sign = if unscaled < 0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Days since the epoch: a number, or `2026-01-31`.
pub(super) fn date(value: Json<'_>) -> Result<i32, Trouble> {
    const NEEDED: &str = "a date: days since 1970-01-01, or \"YYYY-MM-DD\"";
    if value.kind() == Kind::Number {
        return or_mismatch(as_integer(value), value, NEEDED);
    }
    let text = or_mismatch(as_text(value), value, NEEDED)?;
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b'+');
    let date: Option<Date> = if is_plain { text.parse().ok() } else { None };
    let seconds = date.and_then(|date| Some(in_utc(date.to_datetime(Time::midnight()))?.as_second()));
    let days = seconds.and_then(|seconds| i32::try_from(seconds.div_euclid(SECONDS_A_DAY)).ok());
    or_mismatch(days, value, NEEDED)
}

/// None for a day outside the years that a date can name.
pub(super) fn date_text(days: i32) -> Option<String> {
    let day = Timestamp::from_second(i64::from(days) * SECONDS_A_DAY).ok()?;
    Some(Offset::UTC.to_datetime(day).date().to_string())
}

/// Units since midnight: a number, or `13:37:00.123`.
pub(super) fn time(value: Json<'_>, unit: Unit) -> Result<i64, Trouble> {
    const NEEDED: &str = "a time of day: units since midnight, or \"HH:MM:SS.fff\" no finer than the unit";
    if value.kind() == Kind::Number {
        let number: Option<i64> = as_integer(value);
        let is_in_day = |number: &i64| (0..NANOS_A_DAY).contains(&(i128::from(*number) * unit.nanos()));
        return or_mismatch(number.filter(is_in_day), value, NEEDED);
    }
    let text = or_mismatch(as_text(value), value, NEEDED)?;
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':' || byte == b'.');
    let time: Option<Time> = if is_plain { text.parse().ok() } else { None };
    let nanos = time.map(|time| {
        let seconds =
            i128::from(time.hour()) * 3600 + i128::from(time.minute()) * 60 + i128::from(time.second());
        seconds * 1_000_000_000 + i128::from(time.subsec_nanosecond())
    });
    or_mismatch(nanos.and_then(|nanos| in_unit(nanos, unit)), value, NEEDED)
}

/// None for what is no time of day.
pub(super) fn time_text(number: i64, unit: Unit) -> Option<String> {
    let nanos = i128::from(number) * unit.nanos();
    if !(0..NANOS_A_DAY).contains(&nanos) {
        return None;
    }
    let moment = Timestamp::from_nanosecond(nanos).ok()?;
    Some(Offset::UTC.to_datetime(moment).time().to_string())
}

/// Units since the epoch: a number, or RFC 3339; a local one without an offset, any other with one.
pub(super) fn timestamp(value: Json<'_>, unit: Unit, is_local: bool) -> Result<i64, Trouble> {
    let needed = if is_local {
        "a local timestamp: units since 1970, or \"YYYY-MM-DDTHH:MM:SS.fff\" without an offset, no finer than the unit"
    } else {
        "a timestamp: units since 1970, or RFC 3339 with an offset, no finer than the unit"
    };
    if value.kind() == Kind::Number {
        return or_mismatch(as_integer(value), value, needed);
    }
    let text = or_mismatch(as_text(value), value, needed)?;
    let moment: Option<Timestamp> = if is_local { local(&text) } else { text.parse().ok() };
    or_mismatch(moment.and_then(|moment| in_unit(moment.as_nanosecond(), unit)), value, needed)
}

/// jiff would pass over an offset that a local time has no place for.
fn local(text: &str) -> Option<Timestamp> {
    let is_plain = |byte: u8| byte.is_ascii_digit() || b"-:. Tt".contains(&byte);
    let has_offset = text.get(10..).is_none_or(|time| time.contains('-'));
    let moment: DateTime =
        if text.bytes().all(is_plain) && !has_offset { text.parse().ok()? } else { return None };
    in_utc(moment)
}

fn in_utc(moment: DateTime) -> Option<Timestamp> {
    Offset::UTC.to_timestamp(moment).ok()
}

/// None for a moment outside the years that RFC 3339 can name.
pub(super) fn timestamp_text(number: i64, unit: Unit, is_local: bool) -> Option<String> {
    let moment = Timestamp::from_nanosecond(i128::from(number) * unit.nanos()).ok()?;
    Some(if is_local { Offset::UTC.to_datetime(moment).to_string() } else { moment.to_string() })
}

fn in_unit(nanos: i128, unit: Unit) -> Option<i64> {
    let number = (nanos % unit.nanos() == 0).then_some(nanos / unit.nanos())?;
    i64::try_from(number).ok()
}

/// An object of `months`, `days` and `milliseconds`; what is not there is 0.
pub(super) fn duration(value: Json<'_>) -> Result<[u8; DURATION_BYTES], Trouble> {
    const NEEDED: &str = "a duration: an object of months, days and milliseconds";
    if value.kind() != Kind::Object {
        return Err(mismatch(value, NEEDED));
    }
    let mut bytes = [0; DURATION_BYTES];
    for (key, member) in value.members() {
        let part = key.text().and_then(|name| DURATION_PARTS.iter().position(|part| *part == name));
        let part = or_mismatch(part, key, NEEDED)?;
        let number: u32 = or_mismatch(as_integer(member), member, "a whole number of 32 bits")?;
        bytes[4 * part..4 * part + 4].copy_from_slice(&number.to_le_bytes());
    }
    Ok(bytes)
}

/// Name and number of each part.
pub(super) fn duration_parts(bytes: &[u8]) -> impl Iterator<Item = (&'static str, u32)> {
    let parts = DURATION_PARTS.into_iter().zip(bytes.chunks_exact(4));
    parts.map(|(name, part)| (name, part.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_has_the_fewest_bytes_and_comes_back() {
        for number in [0, 1, -1, 127, 128, -128, -129, 255, 256, i128::MAX, i128::MIN] {
            let bytes = number.to_be_bytes();
            assert_eq!(unscaled(shortest(&bytes)), Some(number));
            let mut fixed = Vec::new();
            extend(number, 20, &mut fixed).unwrap();
            assert_eq!((fixed.len(), unscaled(&fixed)), (20, Some(number)));
        }
        assert_eq!(shortest(&128i128.to_be_bytes()), [0, 0x80]);
        assert_eq!(shortest(&(-128i128).to_be_bytes()), [0x80]);
        assert_eq!(unscaled(&[]), Some(0));
        assert_eq!(unscaled(&[1; 17]), None);
        assert_eq!(unscaled(&[0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert!(extend(128, 1, &mut Vec::new()).is_err());
    }

    #[test]
    fn a_decimal_prints_all_its_digits() {
        assert_eq!(decimal_text(1_230, 2), "12.30");
        assert_eq!(decimal_text(-5, 3), "-0.005");
        assert_eq!(decimal_text(7, 0), "7");
        assert_eq!(decimal_text(i128::MIN, 1), "-17014118346046923173168730371588410572.8");
    }
}
