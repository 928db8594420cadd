//! Where a block's records go: a checked routing rule. Evaluating one is the record crate's.

use std::num::NonZeroU32;

use crate::parse_error::ParseError;
use crate::template::{FieldPath, Template};

/// Longest topic name Kafka takes, in characters.
pub const TOPIC_NAME_MAX: usize = 249;

/// The destination of a block, checked at load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// Every record to one topic; the name passed `check_topic_name`.
    Static(String),
    /// The topic depends on the record.
    Dynamic {
        /// Where `{value}` comes from.
        from: Value,
        /// Holds `{value}` at least once; its literals are legal in topic names.
        template: Template,
        /// Topic of records without a value; passed `check_topic_name`. None: by `[errors]`.
        fallback: Option<String>,
        /// What a value with characters outside `[A-Za-z0-9._-]` means.
        illegal: Illegal,
    },
}

/// Where the value of a rule comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A scalar of the JSON payload.
    Field(FieldPath),
    /// The last header of this name, as Kafka clients read one.
    Header(String),
    /// The record key as text.
    Key,
    /// Kafka's murmur2 & 0x7fffffff of the text, modulo `buckets`; the value is the bucket number.
    Hash {
        /// What is hashed.
        of: HashOf,
        /// Number of buckets; changing it moves most keys.
        buckets: NonZeroU32,
    },
}

/// What a `hash` rule hashes: `path` if the rule names one, else `header`, else the record key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HashOf {
    /// The text of a scalar of the JSON payload.
    Field(FieldPath),
    /// The bytes of the last header of this name.
    Header(String),
    /// The bytes of the record key.
    Key,
}

/// What to do with a value that holds characters no topic name may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Illegal {
    /// The value counts as missing (the default: two tenants must never share a topic by accident).
    Missing,
    /// Each such character becomes `_`.
    Replace,
}

/// The grammar of topic names we send to: 1 to 249 of `[A-Za-z0-9._-]`, not `.` or `..`, not beginning with `__`
/// (the broker's own). Names filled in from records pass the same check.
pub fn check_topic_name(name: &str) -> Result<(), ParseError> {
    if name.is_empty() {
        return Err(ParseError::new(0, "the topic name is empty"));
    }
    if let Some((at, bad)) = name.char_indices().find(|(_, c)| !is_topic_char(*c)) {
        let error = ParseError::new(at, format!("a topic name cannot contain {bad:?}"));
        return Err(error.hint("topic names are made of A-Z a-z 0-9 . _ -"));
    }
    if name.len() > TOPIC_NAME_MAX {
        let reason =
            format!("the topic name has {} characters, at most {TOPIC_NAME_MAX} are allowed", name.len());
        return Err(ParseError::new(TOPIC_NAME_MAX, reason));
    }
    if name == "." || name == ".." {
        return Err(ParseError::new(0, format!("`{name}` is not a topic name")));
    }
    if name.starts_with("__") {
        return Err(ParseError::new(0, "names that begin with `__` are the broker's own"));
    }
    Ok(())
}

/// Whether the character may stand in a topic name.
pub fn is_topic_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_name_of_250_characters_is_refused_and_249_is_not_b073() {
        assert!(check_topic_name(&"t".repeat(249)).is_ok());
        for length in [250, 255, 5_000] {
            let error = check_topic_name(&"t".repeat(length)).unwrap_err();
            assert!(error.reason.contains(&length.to_string()), "{error}");
        }
    }

    #[test]
    fn names_that_are_not_topics_are_refused() {
        for bad in ["", ".", "..", "__consumer_offsets", "a b", "a/b", "ä", "orders.{value}", "a\n"] {
            assert!(check_topic_name(bad).is_err(), "{bad:?} was accepted");
        }
        for good in ["orders", "a.b_c-D9", "_x", "..."] {
            assert!(check_topic_name(good).is_ok(), "{good:?} was refused");
        }
    }
}
