//! JSON in one form, so that texts are equal exactly when they mean the same: members sorted, blanks settled, numbers
//! by their value, to the last digit however many there are. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pico_config::FieldPath;
use serde_json::value::RawValue;

/// Deepest nesting; what a person writes into a test is far from it.
const DEPTH_MAX: usize = 128;
/// A number with more zeros than this before or after its digits is written with an exponent.
const ZEROS_MAX: i64 = 40;

/// `text` with one member or item a line, without what lies at the paths of `ignore`.
///
/// # Errors
/// Where it stops being JSON; nested too deep.
pub(super) fn canonical(text: &str, ignore: &[FieldPath]) -> Result<String, String> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut writer = Writer { ignore, path: Vec::new(), out: String::new() };
    writer.value(raw.get())?;
    Ok(writer.out)
}

struct Writer<'a> {
    ignore: &'a [FieldPath],
    path: Vec<String>,
    out: String,
}

impl Writer<'_> {
    fn value(&mut self, raw: &str) -> Result<(), String> {
        if self.path.len() > DEPTH_MAX {
            return Err(format!("nested deeper than {DEPTH_MAX}"));
        }
        let broken = |error: serde_json::Error| error.to_string();
        match raw.as_bytes().first() {
            Some(b'{') => {
                let members: BTreeMap<String, &RawValue> = serde_json::from_str(raw).map_err(broken)?;
                self.all(('{', '}'), members.into_iter().map(|(name, value)| (name, true, value)))
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(broken)?;
                let items = items.into_iter().enumerate();
                self.all(('[', ']'), items.map(|(at, value)| (at.to_string(), false, value)))
            }
            Some(b'"') => {
                // A text with half a surrogate pair is JSON, but no text of ours: it stays as it is written.
                let text = serde_json::from_str::<String>(raw);
                self.out.push_str(&text.map_or(raw.to_owned(), |text| quoted(&text)));
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => {
                self.out.push_str(&number(raw));
                Ok(())
            }
            Some(_) | None => {
                self.out.push_str(raw);
                Ok(())
            }
        }
    }

    fn all<'v>(
        &mut self,
        (open, close): (char, char),
        values: impl Iterator<Item = (String, bool, &'v RawValue)>,
    ) -> Result<(), String> {
        self.out.push(open);
        let mut is_empty = true;
        for (name, is_member, value) in values {
            self.path.push(name);
            if !self.ignore.iter().any(|path| path.segments() == self.path) {
                is_empty = false;
                self.line();
                if is_member {
                    let name = self.path.last().map(|name| quoted(name)).unwrap_or_default();
                    write!(self.out, "{name}: ").expect("a String takes all text");
                }
                self.value(value.get())?;
            }
            self.path.pop();
        }
        if !is_empty {
            self.line();
        }
        self.out.push(close);
        Ok(())
    }

    fn line(&mut self) {
        let is_closing = self.path.len();
        self.out.push('\n');
        self.out.push_str(&"  ".repeat(is_closing));
    }
}

/// As JSON writes a text, on one line whatever it holds.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A JSON number by its value: `12.50`, `1.25e1` and `12.5` are one.
fn number(raw: &str) -> String {
    let (is_negative, rest) = raw.strip_prefix('-').map_or((false, raw), |rest| (true, rest));
    let (digits, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    // An exponent of so many digits stays as it is written; nobody means such a number.
    let Ok(exponent) = exponent.parse::<i64>() else { return raw.to_owned() };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let trimmed = significant.trim_end_matches('0');
    if trimmed.is_empty() {
        return "0".to_owned();
    }
    let zeros = (significant.len() - trimmed.len()) as i64;
    let Some(exponent) = exponent.checked_sub(fraction.len() as i64).and_then(|e| e.checked_add(zeros))
    else {
        return raw.to_owned();
    };
    let sign = if is_negative { "-" } else { "" };
    format!("{sign}{}", plain(trimmed, exponent))
}

/// `digits` times ten to the `exponent`.
fn plain(digits: &str, exponent: i64) -> String {
    let length = digits.len() as i64;
    if exponent.abs() > ZEROS_MAX + length {
        return format!("{digits}e{exponent}");
    }
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or_default());
    match length + exponent {
        _ if exponent >= 0 => format!("{digits}{}", zeros(exponent)),
        whole if whole > 0 => {
            let (whole, fraction) = digits.split_at(whole as usize);
            format!("{whole}.{fraction}")
        }
        whole => format!("0.{}{digits}", zeros(-whole)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        canonical(one, &[]).unwrap() == canonical(other, &[]).unwrap()
    }

    #[test]
    fn order_blanks_and_the_writing_of_numbers_and_texts_do_not_count() {
        assert!(same("{\"a\":1,\"b\":[true,null]}", " { \"b\" : [ true , null ], \"a\" : 1.0 } "));
        assert!(same("\"\\u0041\\/\"", "\"A/\""));
        for other in ["12.50", "1.25e1", "125E-1", "0.125e+2"] {
            assert!(same("12.5", other), "{other}");
        }
        assert!(same("-0", "0.000") && same("1200", "12e2") && same("0.0012", "12e-4"));
    }

    #[test]
    fn numbers_that_differ_in_their_last_digit_are_different_numbers() {
        assert!(!same("9007199254740993", "9007199254740992"));
        assert!(!same("0.1000000000000000055511151231257827", "0.1"));
        assert!(!same("1e400", "1e401") && same("1e400", "10e399") && !same("-1", "1"));
        assert!(!same("1e99999999999999999999", "2e99999999999999999999"));
    }

    #[test]
    fn items_keep_their_order_and_an_ignored_path_counts_on_neither_side() {
        assert!(!same("[1,2]", "[2,1]"));
        let ignore = [FieldPath::parse("a.at").unwrap(), FieldPath::parse("list.1").unwrap()];
        let one = canonical("{\"a\":{\"at\":1,\"x\":2},\"list\":[1,2]}", &ignore).unwrap();
        assert_eq!(one, canonical("{\"a\":{\"x\":2},\"list\":[1,9]}", &ignore).unwrap());
        assert_eq!(one, "{\n  \"a\": {\n    \"x\": 2\n  }\n  \"list\": [\n    1\n  ]\n}");
    }

    #[test]
    fn what_is_not_json_or_endless_is_refused() {
        assert!(canonical("{\"a\":1,}", &[]).is_err());
        assert!(canonical(&format!("{}{}", "[".repeat(5_000), "]".repeat(5_000)), &[]).is_err());
        assert_eq!(canonical("\"\\ud800\"", &[]).unwrap(), "\"\\ud800\"");
    }
}
