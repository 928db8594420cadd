//! The identity of a source. One grammar for definitions, the API and the names of state files, so that a key
//! can never leave its folder or meet another key there.

use std::fmt;

use crate::parse_error::ParseError;

/// Longest key, in characters (all ASCII, so also bytes).
pub const KEY_LENGTH_MAX: usize = 64;

/// A checked source key: `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`. Unique among sources ignoring case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceKey(String);

impl SourceKey {
    /// Checks the grammar. Reserved device names such as `con` are legal: keys are never bare file names.
    pub fn parse(text: &str) -> Result<SourceKey, ParseError> {
        const RIGHT: &str = "a key is 1 to 64 of A-Z a-z 0-9 . _ - and begins with a letter or digit";
        let Some(first) = text.chars().next() else {
            return Err(ParseError::new(0, "the key is empty").hint(RIGHT));
        };
        if !first.is_ascii_alphanumeric() {
            return Err(ParseError::new(0, format!("the key begins with {first:?}")).hint(RIGHT));
        }
        if let Some((at, bad)) = text.char_indices().find(|(_, c)| !is_key_char(*c)) {
            return Err(ParseError::new(at, format!("the key contains {bad:?}")).hint(RIGHT));
        }
        if text.len() > KEY_LENGTH_MAX {
            let reason =
                format!("the key has {} characters, at most {KEY_LENGTH_MAX} are allowed", text.len());
            return Err(ParseError::new(KEY_LENGTH_MAX, reason));
        }
        Ok(SourceKey(text.to_owned()))
    }

    /// The key as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Lower case: two keys whose folded forms are equal are the same source.
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// The form in names of environment variables: upper case, every other character `_`.
    pub(crate) fn variable_form(&self) -> String {
        variable_form(&self.0)
    }
}

/// Upper case, and every character outside `[A-Z0-9]` as `_`.
pub(crate) fn variable_form(text: &str) -> String {
    text.chars()
        .map(|c| c.to_ascii_uppercase())
        .map(|c| if c.is_ascii_uppercase() || c.is_ascii_digit() { c } else { '_' })
        .collect()
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

impl fmt::Display for SourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for SourceKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for SourceKey {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<SourceKey, ParseError> {
        SourceKey::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_could_meet_or_leave_the_folder_are_refused_b067() {
        for bad in ["a/b", "", ".x", "-x", "_x", "..", "a b", "ä", "a\0", "a\n", "a%2fb", "a\\b", "a:b"] {
            assert!(SourceKey::parse(bad).is_err(), "{bad:?} was accepted");
        }
        assert!(SourceKey::parse(&"k".repeat(65)).is_err());
        for good in ["a", "a_b", "x.state", "Orders", "0", "con", &"k".repeat(64)] {
            assert_eq!(SourceKey::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn keys_that_differ_in_case_fold_to_one_b067() {
        let (upper, lower) = (SourceKey::parse("Orders").unwrap(), SourceKey::parse("orders").unwrap());
        assert_ne!(upper, lower);
        assert_eq!(upper.folded(), lower.folded());
    }

    #[test]
    fn a_refused_key_names_the_character_and_its_place() {
        let error = SourceKey::parse("ab/c").unwrap_err();
        assert_eq!((error.at, error.reason.as_str()), (2, "the key contains '/'"));
    }

    #[test]
    fn the_variable_form_keeps_letters_and_digits_only() {
        assert_eq!(SourceKey::parse("orders-eu.v2").unwrap().variable_form(), "ORDERS_EU_V2");
    }
}
