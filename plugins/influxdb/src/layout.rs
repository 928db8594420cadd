//! What the columns of a table are, and the cells of a row.

use std::borrow::Cow;

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Time,
    Measurement,
    Field,
    Value,
    Tag,
    Plain,
    /// Of the query rather than of the point.
    Hidden,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The name as JSON, with the colon.
    pub(crate) label: Vec<u8>,
    pub(crate) role: Role,
}

impl Column {
    pub(crate) fn new(name: &str, role: Role) -> Column {
        let mut label = Vec::new();
        write_text(&mut label, name);
        label.push(b':');
        Column { name: name.to_owned(), label, role }
    }
}

/// The columns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) columns: Vec<Column>,
    pub(crate) time: Option<usize>,
    pub(crate) measurement: Option<usize>,
    pub(crate) field: Option<usize>,
    pub(crate) value: Option<usize>,
    /// Where the tags stand, by name.
    pub(crate) tags: Vec<usize>,
    /// Where the column stands that is the whole payload.
    pub(crate) payload: Option<usize>,
    /// Whether series and time tell a point from every other.
    pub(crate) is_exact: bool,
}

impl Layout {
    pub(crate) fn new(columns: Vec<Column>, payload: Option<&str>, is_exact: bool) -> Layout {
        let first = |role: Role| columns.iter().position(|column| column.role == role);
        let mut tags: Vec<usize> =
            (0..columns.len()).filter(|index| columns[*index].role == Role::Tag).collect();
        tags.sort_by(|one, other| columns[*one].name.cmp(&columns[*other].name));
        Layout {
            time: first(Role::Time),
            measurement: first(Role::Measurement),
            field: first(Role::Field),
            value: first(Role::Value),
            tags,
            payload: payload.and_then(|name| columns.iter().position(|column| column.name == name)),
            is_exact,
            columns,
        }
    }
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Null,
    Text(&'a str),
    /// A JSON number or a boolean.
    Bare(&'a str),
    /// A JSON string, quotes included.
    Quoted(&'a str),
    /// A JSON array or object.
    Nested(&'a str),
}

impl<'a> Cell<'a> {
    /// The value of a JSON text that was checked to be one.
    pub(crate) fn of_json(raw: &'a str) -> Cell<'a> {
        match raw.as_bytes().first() {
            Some(b'"') => Cell::Quoted(raw),
            Some(b'[' | b'{') => Cell::Nested(raw),
            Some(b'n') | None => Cell::Null,
            Some(_) => Cell::Bare(raw),
        }
    }

    /// Writes it as JSON.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Cell::Null => out.extend_from_slice(b"null"),
            Cell::Text(text) => write_text(out, text),
            Cell::Bare(raw) | Cell::Quoted(raw) | Cell::Nested(raw) => out.extend_from_slice(raw.as_bytes()),
        }
    }

    /// As text, without quotes; none for null.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Cell::Null => None,
            Cell::Text(text) | Cell::Bare(text) | Cell::Nested(text) => Some(Cow::Borrowed(text)),
            Cell::Quoted(raw) => Some(unquoted(raw)),
        }
    }
}

/// The text of a JSON string.
fn unquoted(raw: &str) -> Cow<'_, str> {
    let inside = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    if !inside.contains('\\') {
        return Cow::Borrowed(inside);
    }
    match serde_json::from_str::<String>(raw) {
        Ok(text) => Cow::Owned(text),
        // A lone surrogate is no text; the escapes tell it from others.
        Err(_) => Cow::Borrowed(inside),
    }
}

/// Writes a JSON string.
pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("text can always be written into memory");
}

/// Whether a text is a JSON number (RFC 8259, section 6).
pub(crate) fn is_number(text: &str) -> bool {
    let is_begun = text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    is_begun && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok_and(|raw| raw.get() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_json_calls_one() {
        for text in ["0", "-0", "9223372036854775807", "1.50", "1e+21", "-2.5E-3"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "+1", "01", "1.", ".5", "NaN", "+Inf", "-Inf", "1 ", "-", "0x1", "true", "\"1\""] {
            assert!(!is_number(text), "{text}");
        }
    }

    #[test]
    fn json_strings_are_read_and_written_exactly() {
        let cell = Cell::of_json(r#""a\"bé\u003c""#);
        assert_eq!(cell.text().unwrap(), "a\"bé<");
        let mut out = Vec::new();
        Cell::Text("a\"b\n").write(&mut out);
        assert_eq!(out, br#""a\"b\n""#);
        assert_eq!(Cell::of_json("null"), Cell::Null);
    }
}
