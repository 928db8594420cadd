//! Names and values in SQL: whatever is not bound as a parameter goes through here.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest identifier PostgreSQL keeps; longer ones it cuts short, so that they would name something else.
const NAME_BYTES_MAX: usize = 63;

/// `name` as a quoted identifier.
pub(crate) fn identifier(name: &str) -> String {
    quoted(name, '"')
}

/// `text` as a string constant, whatever `standard_conforming_strings` says.
pub(crate) fn literal(text: &str) -> String {
    let doubled = quoted(text, '\'');
    if text.contains('\\') { format!(" E{}", doubled.replace('\\', "\\\\")) } else { doubled }
}

fn quoted(text: &str, mark: char) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(mark);
    for character in text.chars() {
        if character == mark {
            out.push(mark);
        }
        out.push(character);
    }
    out.push(mark);
    out
}

/// Why a text cannot be the name of anything, if so.
pub(crate) fn fault_of_name(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("a name cannot be empty"),
        _ if name.contains('\0') => Some("a name cannot hold a zero byte"),
        _ if name.len() > NAME_BYTES_MAX => Some("a name has at most 63 bytes"),
        _ => None,
    }
}

/// A table with its schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct TableName {
    pub(crate) schema: String,
    pub(crate) table: String,
}

impl TableName {
    pub(crate) fn new(schema: impl Into<String>, table: impl Into<String>) -> TableName {
        TableName { schema: schema.into(), table: table.into() }
    }

    /// Both parts quoted, for SQL.
    pub(crate) fn quoted(&self) -> String {
        format!("{}.{}", identifier(&self.schema), identifier(&self.table))
    }
}

/// For people: unquoted.
impl fmt::Display for TableName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.schema, self.table)
    }
}

/// Cuts `a.b`, `"a.b".c` and the like into its parts, a quoted part without its quotes. No part is folded to lower
/// case: a name means exactly what it says.
pub(crate) fn parts(text: &str) -> Result<Vec<String>, &'static str> {
    let mut parts = Vec::new();
    let mut rest = text.chars().peekable();
    loop {
        let mut part = String::new();
        if rest.next_if_eq(&'"').is_some() {
            loop {
                match rest.next() {
                    Some('"') if rest.next_if_eq(&'"').is_some() => part.push('"'),
                    Some('"') => break,
                    Some(character) => part.push(character),
                    None => return Err("a double quote is not closed"),
                }
            }
        } else {
            while let Some(character) = rest.next_if(|character| *character != '.') {
                part.push(character);
            }
        }
        if let Some(fault) = fault_of_name(&part) {
            return Err(fault);
        }
        parts.push(part);
        match rest.next() {
            None => return Ok(parts),
            Some('.') => {}
            Some(_) => return Err("behind a closing double quote only a dot may stand"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_quote_in_a_name_cannot_end_it_b128() {
        assert_eq!(identifier("id\" desc --"), "\"id\"\" desc --\"");
        assert_eq!(literal("1' or '1'='1"), "'1'' or ''1''=''1'");
        assert_eq!(literal("a\\'"), " E'a\\\\'''");
    }

    #[test]
    fn a_table_is_cut_at_dots_outside_quotes() {
        assert_eq!(parts("orders").unwrap(), ["orders"]);
        assert_eq!(parts("tenant_a.orders").unwrap(), ["tenant_a", "orders"]);
        assert_eq!(parts("\"a.b\".\"c\"\"d\"").unwrap(), ["a.b", "c\"d"]);
        assert_eq!(parts("Sales.Order").unwrap(), ["Sales", "Order"]);
        for wrong in ["", ".", "a.", ".a", "\"a", "\"a\"b", "a..b", "\"\""] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
        assert!(parts(&"x".repeat(64)).is_err());
    }

    proptest! {
        #[test]
        fn every_name_survives_quoting_and_cutting(names in prop::collection::vec("[^\0]{1,15}", 1..4)) {
            let text = names.iter().map(|name| identifier(name)).collect::<Vec<_>>().join(".");
            prop_assert_eq!(parts(&text).unwrap(), names);
        }

        #[test]
        fn a_literal_has_no_lone_quote(text in ".{0,30}") {
            let quoted = literal(&text);
            let inner = &quoted[quoted.find('\'').unwrap() + 1..quoted.len() - 1];
            prop_assert!(!inner.replace("''", "").contains('\''));
        }
    }
}
