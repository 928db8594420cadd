//! Whether a name or a value is what a pattern asks for. Values are looked at as they are written; only `equals` of an
//! object or array makes a tree of them.

use std::borrow::Cow;
use std::cmp::Ordering;

use pico_config::{KeyPattern, ValuePattern, ValueType};
use serde_json::{Number, Value};

/// Whether the name is what is asked for.
pub(crate) fn key_matches(pattern: &KeyPattern, name: &[u8]) -> bool {
    match pattern {
        KeyPattern::Exact(text) => name == text.as_bytes(),
        KeyPattern::StartsWith(text) => name.starts_with(text.as_bytes()),
        KeyPattern::EndsWith(text) => name.ends_with(text.as_bytes()),
        KeyPattern::Contains(text) => std::str::from_utf8(name).is_ok_and(|name| name.contains(text)),
        KeyPattern::Regex(regex) => std::str::from_utf8(name).is_ok_and(|name| regex.is_in(name)),
    }
}

/// Whether the value, JSON text, is what is asked for.
pub(crate) fn value_matches(pattern: &ValuePattern, json: &str) -> bool {
    match pattern {
        ValuePattern::Equals(value) => equals(value, json),
        ValuePattern::Contains(part) => string_of(json).is_some_and(|text| text.contains(part.as_str())),
        ValuePattern::Regex(regex) => string_of(json).is_some_and(|text| regex.is_in(&text)),
        ValuePattern::GreaterThan(bound) => compare(json, bound) == Some(Ordering::Greater),
        ValuePattern::LessThan(bound) => compare(json, bound) == Some(Ordering::Less),
        ValuePattern::Between(least, most) => {
            compare(json, least).is_some_and(Ordering::is_ge)
                && compare(json, most).is_some_and(Ordering::is_le)
        }
        ValuePattern::Is(kind) => type_of(json) == *kind,
        ValuePattern::IsNotNull => type_of(json) != ValueType::Null,
    }
}

/// The type of a JSON text.
pub(crate) fn type_of(json: &str) -> ValueType {
    match json.trim_ascii_start().as_bytes().first() {
        Some(b'n') => ValueType::Null,
        Some(b'"') => ValueType::String,
        Some(b't' | b'f') => ValueType::Boolean,
        Some(b'{') => ValueType::Object,
        Some(b'[') => ValueType::Array,
        Some(_) | None => ValueType::Number,
    }
}

/// The text of a JSON string. None for other values and for half a surrogate pair.
pub(crate) fn string_of(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.trim_ascii().strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(json).ok().map(Cow::Owned)
}

fn equals(value: &Value, json: &str) -> bool {
    match value {
        Value::Null => type_of(json) == ValueType::Null,
        Value::Bool(flag) => json.trim_ascii() == if *flag { "true" } else { "false" },
        Value::Number(number) => compare(json, number) == Some(Ordering::Equal),
        Value::String(text) => string_of(json).is_some_and(|found| found == *text),
        Value::Array(_) | Value::Object(_) => {
            type_of(json) == if value.is_array() { ValueType::Array } else { ValueType::Object }
                && serde_json::from_str(json).is_ok_and(|found: Value| same(value, &found))
        }
    }
}

/// Equality of trees in which 1 and 1.0 are one number and the order of members does not count.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            compare(&left.to_string(), right) == Some(Ordering::Equal)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}

/// Two integers are compared exactly, as far as 128 bits go; everything else as floats, so that integers past 2⁵³ and
/// decimals meet within rounding.
fn compare(json: &str, bound: &Number) -> Option<Ordering> {
    let json = json.trim_ascii();
    if type_of(json) != ValueType::Number {
        return None;
    }
    if let (Ok(left), Some(right)) = (json.parse::<i128>(), bound.as_i128()) {
        return Some(left.cmp(&right));
    }
    json.parse::<f64>().ok()?.partial_cmp(&bound.as_f64()?)
}

#[cfg(test)]
mod tests {
    use pico_config::SearchPattern;
    use serde_json::json;

    use super::*;

    fn matching<'a>(pattern: &ValuePattern, values: &[&'a str]) -> Vec<&'a str> {
        values.iter().copied().filter(|value| value_matches(pattern, value)).collect()
    }

    const VALUES: [&str; 14] = [
        "null",
        "true",
        "false",
        "\"\"",
        "\"abc\"",
        "\"a\\u0062c\"",
        "0",
        "-0.0",
        "1",
        "1.0",
        "1e2",
        "99",
        "{\"a\":1}",
        "[1, 2]",
    ];

    #[test]
    fn every_value_pattern_matches_what_it_says() {
        let number = |value: Value| value.as_number().unwrap().clone();
        let cases: [(ValuePattern, &[&str]); 17] = [
            (ValuePattern::Equals(json!("abc")), &["\"abc\"", "\"a\\u0062c\""]),
            (ValuePattern::Equals(json!(1)), &["1", "1.0"]),
            (ValuePattern::Equals(json!(0)), &["0", "-0.0"]),
            (ValuePattern::Equals(json!(true)), &["true"]),
            (ValuePattern::Equals(Value::Null), &["null"]),
            (ValuePattern::Equals(json!({ "a": 1.0 })), &["{\"a\":1}"]),
            (ValuePattern::Equals(json!([1, 2])), &["[1, 2]"]),
            (ValuePattern::Contains("b".to_owned()), &["\"abc\"", "\"a\\u0062c\""]),
            (
                ValuePattern::Regex(SearchPattern::parse("^$|c$").unwrap()),
                &["\"\"", "\"abc\"", "\"a\\u0062c\""],
            ),
            (ValuePattern::GreaterThan(number(json!(1))), &["1e2", "99"]),
            (ValuePattern::LessThan(number(json!(0.5))), &["0", "-0.0"]),
            (ValuePattern::Between(number(json!(1)), number(json!(100))), &["1", "1.0", "1e2", "99"]),
            (ValuePattern::Is(ValueType::Null), &["null"]),
            (ValuePattern::Is(ValueType::Boolean), &["true", "false"]),
            (ValuePattern::Is(ValueType::String), &["\"\"", "\"abc\"", "\"a\\u0062c\""]),
            (ValuePattern::Is(ValueType::Object), &["{\"a\":1}"]),
            (ValuePattern::Is(ValueType::Array), &["[1, 2]"]),
        ];
        for (pattern, expected) in cases {
            assert_eq!(matching(&pattern, &VALUES), expected, "{pattern:?}");
        }
        assert_eq!(matching(&ValuePattern::IsNotNull, &VALUES).len(), VALUES.len() - 1);
        assert_eq!(matching(&ValuePattern::Is(ValueType::Number), &VALUES).len(), 6);
    }

    #[test]
    fn large_integers_are_not_rounded_before_they_are_compared() {
        let bound = json!(9_007_199_254_740_993_u64).as_number().unwrap().clone();

        assert!(value_matches(&ValuePattern::GreaterThan(bound.clone()), "9007199254740994"));
        assert!(!value_matches(&ValuePattern::GreaterThan(bound.clone()), "9007199254740992"));
        assert!(value_matches(&ValuePattern::Equals(Value::Number(bound)), "9007199254740993"));
    }

    #[test]
    fn every_key_pattern_matches_what_it_says() {
        let names = ["", "a", "user_id", "USER_id", "ä_id"];
        let matching = |pattern: &KeyPattern| -> Vec<&str> {
            names.iter().copied().filter(|name| key_matches(pattern, name.as_bytes())).collect()
        };
        let text = || "a".to_owned();

        assert_eq!(matching(&KeyPattern::Exact(text())), ["a"]);
        assert_eq!(matching(&KeyPattern::StartsWith("user".to_owned())), ["user_id"]);
        assert_eq!(matching(&KeyPattern::EndsWith("_id".to_owned())), ["user_id", "USER_id", "ä_id"]);
        assert_eq!(matching(&KeyPattern::Contains("ser_".to_owned())), ["user_id"]);
        assert_eq!(
            matching(&KeyPattern::Regex(SearchPattern::parse("(?i)^user").unwrap())),
            ["user_id", "USER_id"]
        );
    }
}
