//! A TOML document as an owned tree in the order of the file, every value with the place it came from. Environment
//! overrides are put into this tree, so that what follows checks one thing only.

use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Bytes of the file.
    Span(Range<usize>),
    /// An environment variable.
    Variable(String),
}

/// A value and its origin.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) value: Raw,
    pub(crate) origin: Origin,
}

/// A value before anything was checked.
#[derive(Debug, Clone)]
pub(crate) enum Raw {
    /// A string of the file; may hold references.
    Text(String),
    /// The exact text of a variable, for a field that holds a string.
    Exact(String),
    /// The text of a variable or reference, whose type is that of the field it is for.
    Untyped(String),
    /// JSON's null, out of a variable; TOML has none.
    Null,
    Integer(i128),
    Float(f64),
    Bool(bool),
    Datetime(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A member of a table.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) name_origin: Origin,
    pub(crate) node: Node,
}

impl Node {
    /// The document as a tree; tables are put back into the order of the file.
    pub(crate) fn document(document: &Spanned<DeTable<'_>>) -> Node {
        Node { value: table(document.get_ref()), origin: Origin::Span(document.span()) }
    }

    /// A JSON text as a tree, everything of one origin. Texts in it are exact.
    pub(crate) fn from_json(value: Value, origin: &Origin) -> Node {
        let entry = |(name, value)| {
            let node = Node::from_json(value, origin);
            Entry { name, name_origin: origin.clone(), node }
        };
        let raw = match value {
            Value::Null => Raw::Null,
            Value::Bool(flag) => Raw::Bool(flag),
            Value::Number(number) => json_number(&number),
            Value::String(text) => Raw::Exact(text),
            Value::Array(items) => Raw::List(items.into_iter().map(|v| Node::from_json(v, origin)).collect()),
            Value::Object(map) => Raw::Table(map.into_iter().map(entry).collect()),
        };
        Node { value: raw, origin: origin.clone() }
    }

    /// The member of a table.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        match &self.value {
            Raw::Table(entries) => entries.iter().find(|entry| entry.name == name).map(|entry| &entry.node),
            Raw::Text(_) | Raw::Exact(_) | Raw::Untyped(_) | Raw::Integer(_) | Raw::Float(_) => None,
            Raw::Null | Raw::Bool(_) | Raw::Datetime(_) | Raw::List(_) => None,
        }
    }

    /// The text of a string of the file.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Raw::Text(text) => Some(text),
            Raw::Exact(_) | Raw::Untyped(_) | Raw::Integer(_) | Raw::Float(_) | Raw::Bool(_) => None,
            Raw::Null | Raw::Datetime(_) | Raw::List(_) | Raw::Table(_) => None,
        }
    }

    /// What the value is, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self.value {
            Raw::Text(_) | Raw::Exact(_) | Raw::Untyped(_) => "a string",
            Raw::Null => "null",
            Raw::Integer(_) => "an integer",
            Raw::Float(_) => "a float",
            Raw::Bool(_) => "a boolean",
            Raw::Datetime(_) => "a date or time",
            Raw::List(_) => "a list",
            Raw::Table(_) => "a table",
        }
    }
}

fn json_number(number: &Number) -> Raw {
    match number.as_i128() {
        Some(integer) => Raw::Integer(integer),
        None => Raw::Float(number.as_f64().unwrap_or(f64::NAN)),
    }
}

fn node(value: &Spanned<DeValue<'_>>) -> Node {
    let raw = match value.get_ref() {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(integer) => match i128::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(integer) => Raw::Integer(integer),
            Err(_) => Raw::Float(f64::INFINITY),
        },
        DeValue::Float(float) => Raw::Float(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Raw::Bool(*flag),
        DeValue::Datetime(when) => Raw::Datetime(when.to_string()),
        DeValue::Array(items) => Raw::List(items.iter().map(node).collect()),
        DeValue::Table(members) => table(members),
    };
    Node { value: raw, origin: Origin::Span(value.span()) }
}

fn table(members: &DeTable<'_>) -> Raw {
    let mut entries: Vec<(usize, Entry)> = members
        .iter()
        .map(|(name, value)| {
            let name_origin = Origin::Span(name.span());
            (name.span().start, Entry { name: name.get_ref().to_string(), name_origin, node: node(value) })
        })
        .collect();
    entries.sort_by_key(|(start, _)| *start);
    Raw::Table(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// A value as JSON, its strings as they are. None: a number JSON cannot hold.
pub(crate) fn to_json(node: &Node) -> Option<Value> {
    Some(match &node.value {
        Raw::Text(text) | Raw::Exact(text) | Raw::Datetime(text) => Value::String(text.clone()),
        Raw::Untyped(untyped) => guessed(untyped),
        Raw::Null => Value::Null,
        Raw::Integer(integer) => Value::Number(Number::from_i128(*integer)?),
        Raw::Float(float) => Value::Number(Number::from_f64(*float)?),
        Raw::Bool(flag) => Value::Bool(*flag),
        Raw::List(items) => Value::Array(items.iter().map(to_json).collect::<Option<Vec<Value>>>()?),
        Raw::Table(entries) => {
            let pairs = entries.iter().map(|entry| Some((entry.name.clone(), to_json(&entry.node)?)));
            Value::Object(pairs.collect::<Option<Map<String, Value>>>()?)
        }
    })
}

/// A variable for a field that nothing declares: JSON lists and tables, booleans and numbers that print back to
/// the very same text are these; `007`, `1e5` and everything else stay text.
fn guessed(text: &str) -> Value {
    let exact = || Value::String(text.to_owned());
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Array(_) | Value::Object(_))) => value,
        Ok(value @ (Value::Bool(_) | Value::Number(_))) if prints_as(&value, text) => value,
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | Err(_) => exact(),
    }
}

fn prints_as(value: &Value, text: &str) -> bool {
    let printed = value.to_string();
    printed == text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Node {
        Node::document(&DeTable::parse(text).unwrap())
    }

    #[test]
    fn tables_keep_the_order_of_the_file() {
        let tree = parse("b = 1\na = 2\n[z]\n[y]\n");
        let Raw::Table(entries) = tree.value else { unreachable!() };
        assert_eq!(entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["b", "a", "z", "y"]);
    }

    #[test]
    fn a_variable_of_no_known_type_becomes_a_number_only_if_it_prints_back_b138() {
        assert_eq!(guessed("12"), Value::from(12));
        assert_eq!(guessed("true"), Value::from(true));
        assert_eq!(guessed("[1]"), serde_json::json!([1]));
        for text in ["007", "1e5", "nan", "", "null", "\"x\"", "it's \"q\"\nline", "{broken"] {
            assert_eq!(guessed(text), Value::from(text));
        }
    }

    #[test]
    fn a_number_json_cannot_hold_is_no_json() {
        for text in ["a = nan", "a = inf", "a = 99999999999999999999999999999999999999999999"] {
            assert!(to_json(&parse(text)).is_none(), "{text}");
        }
    }
}
