//! Times as Debezium's `isostring` has them, out of the text of PostgreSQL (`datestyle = ISO`, `intervalstyle = iso_8601`, UTC).

use super::number::put_integer;
use crate::value::{Fault, Out, write_utf8};

const NO_DATE: Fault = "it is no date of the form that the session asked for";
const NO_TIME: Fault = "it is no time of the form that the session asked for";
const NO_INTERVAL: Fault = "it is no interval of the form that the session asked for";

const DAY_S: i64 = 86_400;
const DAY_US: i128 = 86_400_000_000;
/// 30.4375 days: a twelfth of 365.25.
const MONTH_US: i128 = 2_629_800_000_000;

/// Whether PostgreSQL has no moment for it: `infinity`, `-infinity`.
fn is_infinite(text: &str) -> bool {
    text.ends_with("infinity")
}

/// `2024-02-29`, `0044-03-15 BC`, `10000-01-01`, `infinity`.
pub(super) fn put_date(out: &mut impl Out, text: &str) -> Result<(), Fault> {
    if is_infinite(text) {
        write_utf8(out, text);
        return Ok(());
    }
    let (date, is_bc) = without_era(text);
    out.put(b"\"");
    put_day(out, date, is_bc)?;
    out.put(b"Z\"");
    Ok(())
}

/// `2024-02-29 23:59:59.5`, with `+00` behind it where it has a zone; `digits` of a second, or as many as there are.
pub(super) fn put_timestamp(out: &mut impl Out, text: &str, digits: Option<u8>) -> Result<(), Fault> {
    if is_infinite(text) {
        write_utf8(out, text);
        return Ok(());
    }
    let (text, is_bc) = without_era(text);
    let text = text.strip_suffix("+00").unwrap_or(text);
    let (date, time) = text.split_once(' ').ok_or(NO_DATE)?;
    out.put(b"\"");
    put_day(out, date, is_bc)?;
    out.put(b"T");
    put_clock(out, time)?;
    let has = fraction(time);
    if let Some(digits) = digits.map(usize::from).filter(|digits| *digits > has) {
        out.put(if has == 0 { b"." } else { b"" });
        out.put(&b"000000"[..digits - has]);
    }
    out.put(b"Z\"");
    Ok(())
}

/// `12:34:56.789`
pub(super) fn put_time(out: &mut impl Out, text: &str) -> Result<(), Fault> {
    out.put(b"\"");
    put_clock(out, text)?;
    out.put(b"Z\"");
    Ok(())
}

/// `12:00:00.5+05:30:15`, moved to UTC on a day that has no date.
pub(super) fn put_time_tz(out: &mut impl Out, text: &str) -> Result<(), Fault> {
    let zone_at = text.rfind(['+', '-']).ok_or(NO_TIME)?;
    let (clock, zone) = text.split_at(zone_at);
    let (whole, fraction) = clock.split_at(clock.find('.').unwrap_or(clock.len()));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !fraction.is_empty() && (fraction.len() < 2 || !is_digits(&fraction[1..])) {
        return Err(NO_TIME);
    }
    let offset = seconds(&zone[1..])? * if zone.starts_with('-') { -1 } else { 1 };
    let utc = (seconds(whole)? - offset).rem_euclid(DAY_S);
    out.put(b"\"");
    for (at, part) in [utc / 3600, utc / 60 % 60, utc % 60].into_iter().enumerate() {
        out.put(if at == 0 { b"" } else { b":" });
        // Both digits are below ten.
        out.put(&[b'0' + (part / 10) as u8, b'0' + (part % 10) as u8]);
    }
    out.put(fraction.as_bytes());
    out.put(b"Z\"");
    Ok(())
}

/// `12`, `12:00` or `12:00:00`.
fn seconds(text: &str) -> Result<i64, Fault> {
    let mut unit = 3600;
    let mut sum = 0;
    for part in text.split(':') {
        let is_two = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        let number: i64 = part.parse().ok().filter(|_| is_two && unit > 0).ok_or(NO_TIME)?;
        sum += number * unit;
        unit /= 60;
    }
    Ok(sum)
}

fn without_era(text: &str) -> (&str, bool) {
    match text.strip_suffix(" BC") {
        Some(text) => (text, true),
        None => (text, false),
    }
}

/// ISO 8601 with a year 0: 1 BC is 0000, 44 BC is -0043; a year of more than four digits has its sign.
fn put_day(out: &mut impl Out, date: &str, is_bc: bool) -> Result<(), Fault> {
    let year_end = date.find('-').filter(|end| *end >= 4).ok_or(NO_DATE)?;
    let (year, rest) = date.split_at(year_end);
    let is_right = rest.len() == 6 && rest.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    let number: u32 = year.parse().ok().filter(|_| is_right).ok_or(NO_DATE)?;
    if is_bc {
        let before = number.checked_sub(1).ok_or(NO_DATE)?;
        out.put(if before == 0 { b"" } else { b"-" });
        out.put(format!("{before:04}").as_bytes());
    } else {
        out.put(if year.len() > 4 { b"+" } else { b"" });
        out.put(year.as_bytes());
    }
    out.put(rest.as_bytes());
    Ok(())
}

/// What a clock shows has no quote or backslash in it.
fn put_clock(out: &mut impl Out, text: &str) -> Result<(), Fault> {
    let is_right = text.len() >= 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b':' | b'.'));
    if !is_right {
        return Err(NO_TIME);
    }
    out.put(text.as_bytes());
    Ok(())
}

/// How many digits of a second there are.
fn fraction(time: &str) -> usize {
    time.find('.').map_or(0, |point| time.len() - point - 1)
}

/// `P1Y2M3DT4H5M6.7S` as microseconds. What is more than they can count is the most they can, as Debezium has it.
pub(super) fn put_interval(out: &mut impl Out, text: &str) -> Result<(), Fault> {
    if is_infinite(text) {
        write_utf8(out, text);
        return Ok(());
    }
    let sum = microseconds(text)?;
    let clamped = sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    put_integer(out, i64::try_from(clamped).map_err(|_| NO_INTERVAL)?);
    Ok(())
}

fn microseconds(text: &str) -> Result<i128, Fault> {
    let mut rest = text.strip_prefix('P').ok_or(NO_INTERVAL)?;
    let (mut sum, mut is_time) = (0_i128, false);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('T').filter(|_| !is_time) {
            (rest, is_time) = (after, true);
            continue;
        }
        let end = rest.find(|character: char| character.is_ascii_uppercase()).ok_or(NO_INTERVAL)?;
        let (number, unit) = (&rest[..end], rest.as_bytes()[end]);
        sum += match (unit, is_time) {
            (b'Y', false) => whole(number)? * 12 * MONTH_US,
            (b'M', false) => whole(number)? * MONTH_US,
            (b'D', false) => whole(number)? * DAY_US,
            (b'H', true) => whole(number)? * 3_600_000_000,
            (b'M', true) => whole(number)? * 60_000_000,
            (b'S', true) => second(number)?,
            _ => return Err(NO_INTERVAL),
        };
        rest = &rest[end + 1..];
    }
    Ok(sum)
}

fn whole(number: &str) -> Result<i128, Fault> {
    number.parse::<i64>().map(i128::from).map_err(|_| NO_INTERVAL)
}

/// `-6.789` as microseconds.
fn second(number: &str) -> Result<i128, Fault> {
    let (seconds, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.len() > 6 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NO_INTERVAL);
    }
    let micros = format!("{fraction:0<6}").parse::<i128>().map_err(|_| NO_INTERVAL)?;
    let sign = if seconds.starts_with('-') { -1 } else { 1 };
    Ok(whole(seconds)? * 1_000_000 + sign * micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(put: impl FnOnce(&mut Vec<u8>) -> Result<(), Fault>) -> String {
        let mut out = Vec::new();
        put(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    // What is right here was read off a real Debezium 3.6.1.
    #[test]
    fn dates_are_iso_dates_with_a_z() {
        for (from, right) in [
            ("2024-02-29", "2024-02-29Z"),
            ("0001-01-01", "0001-01-01Z"),
            ("10000-01-01", "+10000-01-01Z"),
            ("5874897-12-31", "+5874897-12-31Z"),
            ("0044-03-15 BC", "-0043-03-15Z"),
            ("4713-01-01 BC", "-4712-01-01Z"),
            ("0001-01-01 BC", "0000-01-01Z"),
            ("infinity", "infinity"),
        ] {
            assert_eq!(text(|out| put_date(out, from)), format!("\"{right}\""), "{from}");
        }
    }

    #[test]
    fn timestamps_have_as_many_digits_as_they_have_or_as_their_column() {
        for (from, digits, right) in [
            ("2024-02-29 23:59:59.123456", None, "2024-02-29T23:59:59.123456Z"),
            ("2024-02-29 00:00:00", None, "2024-02-29T00:00:00Z"),
            ("0044-03-15 01:02:03 BC", None, "-0043-03-15T01:02:03Z"),
            ("294276-12-31 23:59:59.999999", None, "+294276-12-31T23:59:59.999999Z"),
            ("2024-02-29 18:29:59.5+00", Some(6), "2024-02-29T18:29:59.500000Z"),
            ("2024-02-29 18:29:59+00", Some(6), "2024-02-29T18:29:59.000000Z"),
            ("2024-02-29 18:29:59.123456+00", Some(6), "2024-02-29T18:29:59.123456Z"),
            ("2024-01-01 00:00:00.5+00", Some(1), "2024-01-01T00:00:00.5Z"),
            ("2024-01-01 00:00:00.5+00", Some(3), "2024-01-01T00:00:00.500Z"),
            ("2024-01-01 00:00:00+00", Some(0), "2024-01-01T00:00:00Z"),
            ("0044-03-15 01:02:03+00 BC", Some(6), "-0043-03-15T01:02:03.000000Z"),
            ("-infinity", Some(6), "-infinity"),
        ] {
            assert_eq!(text(|out| put_timestamp(out, from, digits)), format!("\"{right}\""), "{from}");
        }
    }

    #[test]
    fn times_with_a_zone_move_to_utc() {
        for (from, right) in [
            ("12:00:00+02", "10:00:00Z"),
            ("12:00:00.5+00", "12:00:00.5Z"),
            ("24:00:00+00", "00:00:00Z"),
            ("01:00:00+02", "23:00:00Z"),
            ("23:00:00-02:30", "01:30:00Z"),
            ("12:00:00+05:30:15", "06:29:45Z"),
        ] {
            assert_eq!(text(|out| put_time_tz(out, from)), format!("\"{right}\""), "{from}");
        }
        assert_eq!(text(|out| put_time(out, "12:34:56.789")), "\"12:34:56.789Z\"");
    }

    #[test]
    fn intervals_are_microseconds() {
        for (from, right) in [
            ("P1Y2M3DT4H5M6.7S", "37091106700000"),
            ("P-3DT-4H-5M-6.789S", "-273906789000"),
            ("PT0S", "0"),
            ("P10M", "26298000000000"),
            ("PT36H", "129600000000"),
            ("PT0.000001S", "1"),
            ("PT-0.000001S", "-1"),
            ("P-10M", "-26298000000000"),
            ("P1M-1DT1S", "2543401000000"),
            ("P-1Y-2M3DT-4H-5M-6.789S", "-36572706789000"),
            ("P178000000Y", "9223372036854775807"),
        ] {
            assert_eq!(text(|out| put_interval(out, from)), right, "{from}");
        }
    }

    #[test]
    fn what_has_another_form_is_an_error_and_no_guess() {
        for wrong in ["", "24-1-1", "2024-02-29\"", "x-02-29", "0000-01-01 BC"] {
            assert!(put_date(&mut Vec::new(), wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "2024-02-29", "2024-02-29 1:2", "2024-02-29 12:00:00\""] {
            assert!(put_timestamp(&mut Vec::new(), wrong, None).is_err(), "{wrong}");
        }
        for wrong in
            ["", "12:00:00", "12:00:00+", "1:00:00+00", "12:00:00.+00", "12:00:00.x+00", "12:00:00:00+00"]
        {
            assert!(put_time_tz(&mut Vec::new(), wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "P1", "P1H", "PT1Y", "PT1.0000001S", "P1.5Y", "PTT1S", "1 day"] {
            assert!(put_interval(&mut Vec::new(), wrong).is_err(), "{wrong}");
        }
    }
}
