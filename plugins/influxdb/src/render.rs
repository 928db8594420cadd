//! A row as a record: its payload, and the text of its series.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use picomq_connector_sdk::Schema;

use crate::error::Error;
use crate::layout::{Cell, Column, Layout, Role};
use crate::selection::Draft;
use crate::time;

/// How a record looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) shape: Shape,
    /// False leaves out what is not needed to understand the value.
    pub(crate) has_metadata: bool,
    /// One column is the whole payload.
    pub(crate) payload: Option<(String, PayloadFormat)>,
    /// The columns that tell series apart, where the definition names them.
    pub(crate) tags: Option<Vec<String>>,
}

/// The members of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `measurement`, `field`, `timestamp`, `value`, `row`: one value a record, as Flux gives it.
    Value,
    /// `measurement`, `timestamp`, `tags`, `fields`: one point a record.
    Point,
    /// The row itself.
    Row,
}

/// What the payload column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PayloadFormat {
    Json,
    Text,
    Raw,
}

impl Form {
    /// Of every payload.
    pub(crate) fn schema(&self) -> Schema {
        match self.payload {
            None | Some((_, PayloadFormat::Json)) => Schema::Json,
            Some((_, PayloadFormat::Text)) => Schema::Text,
            Some((_, PayloadFormat::Raw)) => Schema::Raw,
        }
    }

    pub(crate) fn payload_column(&self) -> Option<&str> {
        self.payload.as_ref().map(|(name, _)| name.as_str())
    }

    /// Whether the definition names this column as one that tells series apart; `None` when it names none.
    pub(crate) fn is_tag(&self, name: &str) -> Option<bool> {
        self.tags.as_ref().map(|tags| tags.iter().any(|tag| tag == name))
    }
}

/// A row with its columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) cells: &'a [Cell<'a>],
    pub(crate) time: i64,
}

impl<'a> Row<'a> {
    fn cell(&self, index: Option<usize>) -> Cell<'a> {
        index.and_then(|index| self.cells.get(index)).copied().unwrap_or(Cell::Null)
    }

    fn columns(&self) -> impl Iterator<Item = (&'a Column, Cell<'a>)> {
        self.layout.columns.iter().zip(self.cells.iter().copied())
    }
}

/// Draws payload and series.
///
/// # Errors
/// When the payload column is not there or not of its format.
pub(crate) fn draw(draft: &mut Draft, form: &Form, row: Row<'_>) -> Result<(), Error> {
    draft.is_exact = row.layout.is_exact;
    series(&mut draft.key, row);
    let out = &mut draft.payload;
    match (&form.payload, form.shape) {
        (Some((name, format)), _) => return payload_column(out, name, *format, row),
        (None, Shape::Value) => value(out, form, row),
        (None, Shape::Point) => point(out, form, row),
        (None, Shape::Row) => plain(out, form, row),
    }
    Ok(())
}

fn payload_column(out: &mut Vec<u8>, name: &str, format: PayloadFormat, row: Row<'_>) -> Result<(), Error> {
    let Some(index) = row.layout.payload else {
        return Err(Error::Value(format!(
            "payload_column = \"{name}\": the row at {} has no such column; select it in the query",
            time::text(row.time)
        )));
    };
    let cell = row.cell(Some(index));
    match format {
        PayloadFormat::Json => match cell {
            Cell::Text(_) | Cell::Quoted(_) => {
                out.extend_from_slice(cell.text().unwrap_or_default().as_bytes());
            }
            Cell::Null | Cell::Bare(_) | Cell::Nested(_) => cell.write(out),
        },
        PayloadFormat::Text => out.extend_from_slice(cell.text().unwrap_or_default().as_bytes()),
        PayloadFormat::Raw => {
            let text = cell.text().unwrap_or_default();
            let bytes = STANDARD.decode(text.as_bytes()).map_err(|_| {
                Error::Value(format!(
                    "payload_column = \"{name}\": the value at {} is no base64; payload_format = \"text\" takes it as it is",
                    time::text(row.time)
                ))
            })?;
            out.extend_from_slice(&bytes);
        }
    }
    Ok(())
}

fn value(out: &mut Vec<u8>, form: &Form, row: Row<'_>) {
    let layout = row.layout;
    out.extend_from_slice(b"{\"measurement\":");
    row.cell(layout.measurement).write(out);
    out.extend_from_slice(b",\"field\":");
    row.cell(layout.field).write(out);
    out.extend_from_slice(b",\"timestamp\":");
    time::write(out, row.time);
    out.extend_from_slice(b",\"value\":");
    row.cell(layout.value).write(out);
    out.extend_from_slice(b",\"row\":");
    let is_wanted = |role: Role| match role {
        Role::Time | Role::Value => true,
        Role::Measurement | Role::Field | Role::Tag | Role::Plain => form.has_metadata,
        Role::Hidden => false,
    };
    members(out, row, |column, _| is_wanted(column.role));
    out.push(b'}');
}

fn point(out: &mut Vec<u8>, form: &Form, row: Row<'_>) {
    out.push(b'{');
    if form.has_metadata {
        out.extend_from_slice(b"\"measurement\":");
        row.cell(row.layout.measurement).write(out);
        out.push(b',');
    }
    out.extend_from_slice(b"\"timestamp\":");
    time::write(out, row.time);
    if form.has_metadata {
        out.extend_from_slice(b",\"tags\":");
        members(out, row, |column, cell| column.role == Role::Tag && !is_no_tag(cell));
    }
    out.extend_from_slice(b",\"fields\":");
    let is_field = |role: Role| matches!(role, Role::Plain | Role::Value | Role::Field);
    members(out, row, |column, cell| is_field(column.role) && cell != Cell::Null);
    out.push(b'}');
}

/// InfluxQL writes a tag that a series has not as an empty text, and no tag can be one.
fn is_no_tag(cell: Cell<'_>) -> bool {
    cell.text().is_none_or(|text| text.is_empty())
}

fn plain(out: &mut Vec<u8>, form: &Form, row: Row<'_>) {
    members(out, row, |column, _| {
        column.role != Role::Hidden && (form.has_metadata || column.role != Role::Time)
    });
}

fn members(out: &mut Vec<u8>, row: Row<'_>, is_wanted: impl Fn(&Column, Cell<'_>) -> bool) {
    let mut separator = b'{';
    for (column, cell) in row.columns().filter(|(column, cell)| is_wanted(column, *cell)) {
        out.push(separator);
        separator = b',';
        out.extend_from_slice(&column.label);
        cell.write(out);
    }
    if separator == b'{' {
        out.push(separator);
    }
    out.push(b'}');
}

/// As line protocol writes a series, its tags by name: `cpu,host=a,region=eu`, and with Flux the field after a blank.
fn series(out: &mut Vec<u8>, row: Row<'_>) {
    let layout = row.layout;
    if let Some(name) = row.cell(layout.measurement).text() {
        escaped(out, &name);
    }
    for index in &layout.tags {
        let Some(value) = row.cell(Some(*index)).text().filter(|value| !value.is_empty()) else { continue };
        if !out.is_empty() {
            out.push(b',');
        }
        escaped(out, &layout.columns[*index].name);
        out.push(b'=');
        escaped(out, &value);
    }
    if let Some(field) = row.cell(layout.field).text() {
        out.push(b' ');
        escaped(out, &field);
    }
}

fn escaped(out: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        if matches!(byte, b',' | b'=' | b' ' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let columns = [
            ("_time", Role::Time),
            ("_measurement", Role::Measurement),
            ("_field", Role::Field),
            ("_value", Role::Value),
            ("table", Role::Hidden),
            ("region", Role::Tag),
            ("host", Role::Tag),
        ];
        let columns = columns.iter().map(|(name, role)| Column::new(name, *role)).collect();
        Layout::new(columns, Some("_value"), true)
    }

    const CELLS: [Cell<'_>; 7] = [
        Cell::Text("1970-01-01T00:00:00.000000002Z"),
        Cell::Text("c p,u"),
        Cell::Text("n"),
        Cell::Bare("9223372036854775807"),
        Cell::Text("0"),
        Cell::Text(""),
        Cell::Text("a=b"),
    ];

    fn drawn(shape: Shape, has_metadata: bool, payload: Option<(String, PayloadFormat)>) -> (String, String) {
        let form = Form { shape, has_metadata, payload, tags: None };
        let mut draft = Draft::default();
        draw(&mut draft, &form, Row { layout: &layout(), cells: &CELLS, time: 2 }).unwrap();
        (String::from_utf8(draft.payload).unwrap(), String::from_utf8(draft.key).unwrap())
    }

    #[test]
    fn a_series_reads_as_line_protocol_and_cannot_be_taken_for_another() {
        assert_eq!(drawn(Shape::Value, true, None).1, r"c\ p\,u,host=a\=b n");
    }

    #[test]
    fn a_value_has_the_members_that_the_existing_runtimes_write_b101() {
        assert_eq!(
            drawn(Shape::Value, true, None).0,
            r#"{"measurement":"c p,u","field":"n","timestamp":"1970-01-01T00:00:00.000000002Z","value":9223372036854775807,"row":{"_time":"1970-01-01T00:00:00.000000002Z","_measurement":"c p,u","_field":"n","_value":9223372036854775807,"region":"","host":"a=b"}}"#
        );
        let slim = drawn(Shape::Value, false, None).0;
        assert!(
            slim.ends_with(
                r#""row":{"_time":"1970-01-01T00:00:00.000000002Z","_value":9223372036854775807}}"#
            )
        );
    }

    #[test]
    fn a_point_has_its_tags_and_fields_apart() {
        let (payload, _) = drawn(Shape::Point, true, None);
        assert!(
            payload.contains(r#""tags":{"host":"a=b"},"fields":{"_field":"n","_value":922"#),
            "{payload}"
        );
    }

    #[test]
    fn a_payload_column_is_the_whole_payload() {
        let column = |format| drawn(Shape::Row, true, Some(("_value".to_owned(), format))).0;
        assert_eq!(column(PayloadFormat::Json), "9223372036854775807");
        assert_eq!(column(PayloadFormat::Text), "9223372036854775807");
    }
}
