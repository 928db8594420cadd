//! Decimal numbers as they are written, without a float in between.

use std::borrow::Cow;

use super::tape::{Json, Kind};
use super::text::float_of_name;
use super::trouble::Trouble;

/// Most digits of a decimal: those that an `i128` holds whatever they are.
pub(crate) const DIGITS_MAX: u32 = 38;

/// `unscaled × 10^-scale`, without trailing zeros in the fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exact {
    unscaled: i128,
    scale: i32,
}

impl Exact {
    /// Of a number in JSON's grammar. None when it is none, or has more digits than are held.
    pub(crate) fn parse(text: &str) -> Option<Exact> {
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?)
            }
            None => (digits, 0i32),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        if whole.is_empty() {
            return None;
        }
        let mut unscaled: i128 = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            let digit = digit.is_ascii_digit().then(|| i128::from(digit - b'0'))?;
            unscaled = unscaled.checked_mul(10)?.checked_add(digit)?;
        }
        let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        let unscaled = if is_negative { -unscaled } else { unscaled };
        Some(Exact { unscaled, scale })
    }

    /// The number times ten to the `scale`, if that is whole and fits.
    pub(crate) fn at_scale(self, scale: u32) -> Option<i128> {
        if self.unscaled == 0 {
            return Some(0);
        }
        let shift = i32::try_from(scale).ok()?.checked_sub(self.scale)?;
        let factor = 10i128.checked_pow(shift.unsigned_abs())?;
        if shift >= 0 {
            self.unscaled.checked_mul(factor)
        } else {
            (self.unscaled % factor == 0).then_some(self.unscaled / factor)
        }
    }
}

/// A whole number as it is written: `5`, and also `5.0` and `5e3`.
pub(crate) fn whole(text: &str) -> Option<i128> {
    match text.parse::<i64>() {
        Ok(number) => Some(number.into()),
        Err(_) => Exact::parse(text)?.at_scale(0),
    }
}

/// A JSON number that is whole and fits an integer of this type.
pub(crate) fn as_integer<T: TryFrom<i128>>(value: Json<'_>) -> Option<T> {
    let number = (value.kind() == Kind::Number).then(|| whole(value.written())).flatten()?;
    T::try_from(number).ok()
}

/// The nearest double of a JSON number, or what one of the names stands for that JSON has no number for. A number
/// beyond all doubles is none.
pub(crate) fn as_double(value: Json<'_>) -> Option<f64> {
    match value.kind() {
        Kind::Number => value.written().parse::<f64>().ok().filter(|number| number.is_finite()),
        Kind::String => value.text().and_then(|text| float_of_name(&text)),
        Kind::Null | Kind::Bool(_) | Kind::Array | Kind::Object => None,
    }
}

/// Likewise the nearest float.
pub(crate) fn as_float(value: Json<'_>) -> Option<f32> {
    match value.kind() {
        Kind::Number => value.written().parse::<f32>().ok().filter(|number| number.is_finite()),
        Kind::String => value.text().and_then(|text| float_of_name(&text)).map(|number| number as f32),
        Kind::Null | Kind::Bool(_) | Kind::Array | Kind::Object => None,
    }
}

/// The text of a JSON string.
pub(crate) fn as_text(value: Json<'_>) -> Option<Cow<'_, str>> {
    if value.kind() == Kind::String { value.text() } else { None }
}

pub(crate) fn as_bool(value: Json<'_>) -> Option<bool> {
    if let Kind::Bool(flag) = value.kind() { Some(flag) } else { None }
}

/// The value, or what was found and what is needed.
pub(crate) fn or_mismatch<T>(found: Option<T>, value: Json<'_>, needed: &str) -> Result<T, Trouble> {
    found.ok_or_else(|| mismatch(value, needed))
}

/// For messages: what was found, and what is needed.
#[cold]
pub(crate) fn mismatch(value: Json<'_>, needed: &str) -> Trouble {
    Trouble::new(format!("{} is not {needed}", value.shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_may_be_written_in_any_way() {
        for (text, number) in [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("5e3", Some(5_000)),
            ("-1.50E+2", Some(-150)),
            ("18446744073709551615", Some(18_446_744_073_709_551_615)),
            ("0e999999999", Some(0)),
            ("5.5", None),
            ("1e400", None),
            ("1e-2147483648", None),
        ] {
            assert_eq!(whole(text), number, "{text}");
        }
    }

    #[test]
    fn a_decimal_is_exact_or_refused() {
        let at = |text, scale| Exact::parse(text).and_then(|exact| exact.at_scale(scale));
        assert_eq!(at("12.30", 2), Some(1_230));
        assert_eq!(at("12.3", 4), Some(123_000));
        assert_eq!(at("12.345", 2), None);
        assert_eq!(at("99999999999999999999999999999999999999", 0), Some(10i128.pow(38) - 1));
        assert_eq!(at("1e39", 0), None);
        assert_eq!(Exact::parse("1x"), None);
        assert_eq!(Exact::parse(""), None);
        assert_eq!(Exact::parse("."), None);
    }
}
