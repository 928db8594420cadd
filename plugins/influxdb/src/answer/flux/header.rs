//! The columns of one table of annotated CSV.

use crate::answer::Schema;
use crate::error::Error;
use crate::layout::{Cell, Column, Layout, Role, is_number};
use crate::render::{Form, Shape};

/// How the text of a cell is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Boolean,
}

/// One table.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) layout: Layout,
    /// Of each column of the layout: its place in a record, its type, its default.
    places: Vec<(usize, Kind, String)>,
    /// Columns in a record.
    width: usize,
    result: Option<usize>,
    table: Option<usize>,
    error: Option<usize>,
    reference: Option<usize>,
    default_result: String,
}

impl Header {
    pub(super) fn new(
        names: &[&str],
        annotations: &[(String, Vec<String>)],
        schema: &Schema,
        form: &Form,
    ) -> Result<Header, Error> {
        let annotation = |name: &str| annotations.iter().find(|(known, _)| known == name).map(|(_, row)| row);
        for (name, row) in annotations {
            if row.len() != names.len() {
                return Err(Error::Malformed(format!(
                    "#{name} has {} columns, its table has {}",
                    row.len(),
                    names.len()
                )));
            }
        }
        let (types, defaults) = (annotation("datatype"), annotation("default"));
        let (mut columns, mut places) = (Vec::new(), Vec::new());
        for (index, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let datatype = types.map(|types| types[index].as_str());
            let default = defaults.map(|row| row[index].clone()).unwrap_or_default();
            columns.push(Column::new(name, role(name, datatype, schema, form)?));
            places.push((index, kind(datatype), default));
        }
        let place = |wanted: &str| names.iter().position(|name| *name == wanted);
        let is_exact = match (form.shape, schema) {
            (Shape::Point, Schema::Unknown) | (Shape::Value | Shape::Row, _) => {
                form.tags.is_some() || (place("_field").is_some() && place("_measurement").is_some())
            }
            (Shape::Point, Schema::Tags(_) | Schema::Fields(_) | Schema::Asked { .. }) => true,
        };
        Ok(Header {
            layout: Layout::new(columns, form.payload_column(), is_exact),
            places,
            width: names.len(),
            result: place("result"),
            table: place("table"),
            error: place("error"),
            reference: place("reference"),
            default_result: place("result")
                .and_then(|index| defaults.map(|row| row[index].clone()))
                .unwrap_or_default(),
        })
    }

    /// What tells this table from the one before.
    ///
    /// # Errors
    /// When the row has not as many columns as its table: nothing is ever shifted.
    pub(super) fn table<'a>(&'a self, fields: &[&'a str]) -> Result<(&'a str, &'a str), Error> {
        if fields.len() != self.width {
            return Err(Error::Malformed(format!(
                "a row of {} columns in a table of {}",
                fields.len(),
                self.width
            )));
        }
        let at = |place: Option<usize>| place.map_or("", |place| fields[place]);
        let result = if at(self.result).is_empty() { &self.default_result } else { at(self.result) };
        Ok((result, at(self.table)))
    }

    /// The text of a column of the layout, or its default.
    pub(super) fn field<'a>(&'a self, fields: &[&'a str], index: usize) -> &'a str {
        let (place, _, default) = &self.places[index];
        let field = fields[*place];
        if field.is_empty() { default } else { field }
    }

    /// The value of a column of the layout. An empty cell is null; only a value may be an empty text.
    pub(super) fn cell<'a>(&'a self, fields: &[&'a str], index: usize) -> Cell<'a> {
        let text = self.field(fields, index);
        match self.places[index].1 {
            Kind::Text if text.is_empty() && self.layout.columns[index].role != Role::Value => Cell::Null,
            Kind::Number | Kind::Boolean if text.is_empty() => Cell::Null,
            Kind::Boolean if matches!(text, "true" | "false") => Cell::Bare(text),
            Kind::Number if is_number(text) => Cell::Bare(text),
            // NaN and the infinities, which JSON has no number for.
            Kind::Text | Kind::Number | Kind::Boolean => Cell::Text(text),
        }
    }

    /// The words of a row that is an error.
    pub(super) fn error(&self, fields: &[&str]) -> Option<String> {
        let words = fields[self.error?];
        match self.reference.map(|place| fields[place]).filter(|reference| !reference.is_empty()) {
            Some(reference) => Some(format!("{words} (reference {reference})")),
            None => Some(words.to_owned()),
        }
    }
}

fn kind(datatype: Option<&str>) -> Kind {
    match datatype {
        Some("long" | "unsignedLong" | "double") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        Some(_) | None => Kind::Text,
    }
}

/// Without a list of tags, text columns beside `_field` and `_measurement` tell series apart: Flux keeps one value a row.
fn role(name: &str, datatype: Option<&str>, schema: &Schema, form: &Form) -> Result<Role, Error> {
    let is_text = matches!(datatype, Some("string") | None);
    Ok(match name {
        "result" | "table" | "_start" | "_stop" => Role::Hidden,
        "_time" => Role::Time,
        "_measurement" => Role::Measurement,
        "_field" => Role::Field,
        "_value" => Role::Value,
        _ => match (form.is_tag(name), schema) {
            (Some(true), _) => Role::Tag,
            (Some(false), Schema::Unknown) => Role::Plain,
            (None, Schema::Unknown) if is_text && form.shape == Shape::Value => Role::Tag,
            (None, Schema::Unknown) => Role::Plain,
            (_, known) => match known.is_tag(name) {
                Some(true) => Role::Tag,
                Some(false) => Role::Plain,
                None if is_text => return Err(Error::SchemaChanged),
                None => Role::Plain,
            },
        },
    })
}
