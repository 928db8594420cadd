//! Numbers as Java writes them, and whole ones quickly.

use crate::value::{Fault, Out};

/// More digits than a `double` has in any text of PostgreSQL's.
const DIGITS_MAX: usize = 40;

/// Writes a whole number.
pub(super) fn put_integer(out: &mut impl Out, number: i64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        // Below ten.
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.put(b"-");
    }
    out.put(&digits[at..]);
}

/// Writes the number `text`, the shortest of its value, as `Double.toString` does: at least one digit behind the point,
/// and an exponent below a thousandth and from ten millions on.
pub(super) fn put_float(out: &mut impl Out, text: &[u8]) -> Result<(), Fault> {
    const WRONG: Fault = "it is no number";
    let (sign, rest) = match text.strip_prefix(b"-") {
        Some(rest) => (&b"-"[..], rest),
        None => (&b""[..], text),
    };
    let (mantissa, exponent) = match rest.iter().position(|byte| *byte == b'e') {
        Some(at) => (&rest[..at], exponent(&rest[at + 1..]).ok_or(WRONG)?),
        None => (rest, 0),
    };
    let mut digits = [0_u8; DIGITS_MAX];
    let mut count = 0;
    let mut point = None;
    for byte in mantissa {
        match byte {
            b'.' if point.is_none() => point = Some(count as i32),
            // Zeros before the first digit only move the point.
            b'0'..=b'9' if count < DIGITS_MAX => {
                digits[count] = *byte;
                count += 1;
            }
            _ => return Err(WRONG),
        }
    }
    if count == 0 {
        return Err(WRONG);
    }
    let point = point.unwrap_or(count as i32) + exponent;
    let zeros = digits[..count].iter().take_while(|digit| **digit == b'0').count();
    let digits = without_zeros(&digits[zeros..count]);
    out.put(sign);
    put_java(out, digits, point - zeros as i32);
    Ok(())
}

/// Writes 0.`digits` × 10^`point`.
fn put_java(out: &mut impl Out, digits: &[u8], point: i32) {
    const ZEROS: &[u8] = b"0000000";
    let length = digits.len() as i32;
    match point {
        _ if digits.is_empty() => out.put(b"0.0"),
        -2..=0 => {
            out.put(b"0.");
            out.put(&ZEROS[..point.unsigned_abs() as usize]);
            out.put(digits);
        }
        1..=7 if length <= point => {
            out.put(digits);
            out.put(&ZEROS[..(point - length) as usize]);
            out.put(b".0");
        }
        1..=7 => {
            out.put(&digits[..point as usize]);
            out.put(b".");
            out.put(&digits[point as usize..]);
        }
        _ => {
            out.put(&digits[..1]);
            out.put(b".");
            out.put(if length == 1 { b"0" } else { &digits[1..] });
            out.put(b"E");
            put_integer(out, i64::from(point - 1));
        }
    }
}

fn exponent(text: &[u8]) -> Option<i32> {
    std::str::from_utf8(text).ok()?.parse::<i32>().ok().filter(|exponent| exponent.abs() < 1000)
}

/// Cuts off the zeros at the end.
fn without_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
    &digits[..digits.len() - zeros]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn float(text: &str) -> String {
        let mut out = Vec::new();
        put_float(&mut out, text.as_bytes()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_written_as_java_writes_them() {
        for (from, right) in [
            ("0", "0.0"),
            ("-0", "-0.0"),
            ("3", "3.0"),
            ("0.1", "0.1"),
            ("0.001", "0.001"),
            ("0.0001", "1.0E-4"),
            ("1e-05", "1.0E-5"),
            ("100000", "100000.0"),
            ("1234567", "1234567.0"),
            ("1e+07", "1.0E7"),
            ("12345678", "1.2345678E7"),
            ("1e+10", "1.0E10"),
            ("1.2345678901234568e+17", "1.2345678901234568E17"),
            ("-1234.5678", "-1234.5678"),
            ("0.30000000000000004", "0.30000000000000004"),
            ("3.4028235e+38", "3.4028235E38"),
        ] {
            assert_eq!(float(from), right, "{from}");
        }
        for wrong in ["", "-", ".", "1.2.3", "e5", "1e", "1e9999", "x", &"1".repeat(41)] {
            assert!(put_float(&mut Vec::new(), wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_float_keeps_its_value(number in any::<f64>().prop_filter("JSON has no other", |number| number.is_finite())) {
            for text in [format!("{number:?}"), format!("{number:e}")] {
                let back = float(&text).parse::<f64>().unwrap();
                prop_assert_eq!(back.to_bits(), number.to_bits(), "{}", text);
            }
        }

        #[test]
        fn whole_numbers_are_those_of_everybody(number: i64) {
            let mut out = Vec::new();
            put_integer(&mut out, number);
            prop_assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }
}
