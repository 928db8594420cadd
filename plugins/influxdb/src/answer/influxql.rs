//! The JSON of InfluxQL: one document, or with `chunked=true` one a line.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Schema;
use super::lines::Lines;
use crate::error::Error;
use crate::layout::{Cell, Column, Layout, Role};
use crate::render::{Form, Row, draw};
use crate::selection::Selection;
use crate::{time, words};

/// Decodes what `/query` answers with `epoch=ns`.
#[derive(Debug)]
pub(crate) struct InfluxQl {
    columns: Columns,
    lines: Lines,
    documents: Documents,
}

/// How the columns of a generated query are told apart. The server writes fields first, then tags, each by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// A query that somebody wrote.
    Written,
    /// So many fields, then tags.
    FieldsFirst(usize),
    /// So many tags at the end.
    TagsLast(usize),
    /// These were asked of the server; of each kind some may be absent.
    Asked { fields: Vec<String>, tags: Vec<String> },
}

#[derive(Debug, Default)]
struct Documents {
    /// Statement, name and tags of the series under way.
    series: Option<(u32, String)>,
    /// The names of its columns, and what they are.
    layout: Option<(Vec<String>, Layout)>,
    /// The last document said that there is more.
    is_partial: bool,
    count: u64,
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, default)]
    results: Vec<Outcome<'a>>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(default)]
    statement_id: u32,
    #[serde(borrow, default)]
    series: Vec<Series<'a>>,
    error: Option<String>,
    #[serde(default)]
    partial: bool,
}

#[derive(Deserialize)]
struct Series<'a> {
    #[serde(default)]
    name: String,
    #[serde(default)]
    tags: BTreeMap<String, Option<String>>,
    #[serde(default)]
    columns: Vec<String>,
    #[serde(borrow, default)]
    values: Vec<Vec<&'a RawValue>>,
    #[serde(default)]
    partial: bool,
}

impl InfluxQl {
    pub(crate) fn new(columns: Columns) -> InfluxQl {
        InfluxQl { columns, lines: Lines::default(), documents: Documents::default() }
    }

    pub(super) fn feed(&mut self, bytes: &[u8], form: &Form, rows: &mut Selection) -> Result<(), Error> {
        let (columns, documents) = (&self.columns, &mut self.documents);
        self.lines.feed(bytes, |line| documents.take(line, columns, form, rows))
    }

    pub(super) fn finish(&mut self, form: &Form, rows: &mut Selection) -> Result<bool, Error> {
        let (columns, documents) = (&self.columns, &mut self.documents);
        self.lines.finish(|line| documents.take(line, columns, form, rows))?;
        match self.documents.count {
            0 => Err(Error::Malformed("an empty body".to_owned())),
            _ => Ok(self.documents.is_partial),
        }
    }
}

impl Documents {
    fn take(
        &mut self,
        line: &str,
        columns: &Columns,
        form: &Form,
        rows: &mut Selection,
    ) -> Result<(), Error> {
        let document: Document<'_> =
            serde_json::from_str(line).map_err(|error| Error::Malformed(error.to_string()))?;
        if let Some(words) = &document.error {
            return Err(words::error(words));
        }
        self.count += 1;
        self.is_partial = false;
        for outcome in &document.results {
            if let Some(words) = &outcome.error {
                return Err(words::error(words));
            }
            self.is_partial |= outcome.partial || outcome.series.iter().any(|series| series.partial);
            for series in &outcome.series {
                let identity = (outcome.statement_id, format!("{:?}{:?}", series.name, series.tags));
                if self.series.as_ref() != Some(&identity) {
                    rows.next_table()?;
                    (self.series, self.layout) = (Some(identity), None);
                }
                self.rows(series, columns, form, rows)?;
            }
        }
        Ok(())
    }

    fn rows(
        &mut self,
        series: &Series<'_>,
        columns: &Columns,
        form: &Form,
        rows: &mut Selection,
    ) -> Result<(), Error> {
        // Each chunk of a series names its columns, the same ones each time.
        let known = self.layout.take().filter(|(names, _)| *names == series.columns);
        let (_, layout) = match known {
            Some(known) => self.layout.insert(known),
            None => self.layout.insert((series.columns.clone(), layout(series, columns, form)?)),
        };
        let Some(at) = layout.time else {
            return Err(Error::Unreadable(format!(
                "query: its rows have no column `time`, which the cursor needs, but {:?}",
                series.columns
            )));
        };
        for values in &series.values {
            if values.len() != series.columns.len() {
                return Err(Error::Malformed(format!(
                    "a row of {} values under {} columns",
                    values.len(),
                    series.columns.len()
                )));
            }
            let time = instant(values[at])?;
            rows.row(time, |draft| {
                let cells: Vec<Cell<'_>> = values
                    .iter()
                    .enumerate()
                    .map(
                        |(index, raw)| {
                            if index == at { Cell::Bare(raw.get()) } else { Cell::of_json(raw.get()) }
                        },
                    )
                    .chain([Cell::Text(series.name.as_str())])
                    .chain(series.tags.values().map(|value| value.as_deref().map_or(Cell::Null, Cell::Text)))
                    .collect();
                draw(draft, form, Row { layout, cells: &cells, time })
            })?;
        }
        Ok(())
    }
}

/// `epoch=ns` gives a number; what does not heed it gives RFC 3339.
fn instant(raw: &RawValue) -> Result<i64, Error> {
    let text = raw.get();
    let time = text.parse().ok().or_else(|| time::parse(text.trim_matches('"')));
    time.ok_or_else(|| {
        Error::Malformed(format!("`{}` is no time", text.chars().take(40).collect::<String>()))
    })
}

/// The columns of a series, then its name, then the tags it is grouped by.
fn layout(series: &Series<'_>, columns: &Columns, form: &Form) -> Result<Layout, Error> {
    let names = &series.columns;
    let first_tag = match columns {
        Columns::Written => names.len(),
        Columns::FieldsFirst(fields) => (1 + fields).min(names.len()),
        Columns::TagsLast(tags) => names.len().saturating_sub(*tags),
        Columns::Asked { fields, tags } => 1 + split(&names[1.min(names.len())..], fields, tags)?,
    };
    let mut all: Vec<Column> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let is_tag = index >= first_tag;
        let role = match name.as_str() {
            "time" if index == 0 || *columns == Columns::Written => Role::Time,
            name if is_tag || form.is_tag(name) == Some(true) => Role::Tag,
            _ => Role::Plain,
        };
        // A tag of the name of a field is written as `name_1`.
        let twin = name.strip_suffix("_1").filter(|base| is_tag && names.iter().any(|other| other == base));
        all.push(Column::new(twin.unwrap_or(name), role));
    }
    all.push(Column::new("measurement", Role::Measurement));
    all.extend(series.tags.keys().map(|name| Column::new(name, Role::Tag)));
    let is_exact = *columns != Columns::Written || form.tags.is_some() || !series.tags.is_empty();
    Ok(Layout::new(all, form.payload_column(), is_exact))
}

/// How many of the columns are fields.
///
/// # Errors
/// When there is one that is neither: the schema changed.
fn split(names: &[String], fields: &[String], tags: &[String]) -> Result<usize, Error> {
    let is_field = |index: &usize| {
        let is_in_order = *index == 0 || names[index - 1] < names[*index];
        is_in_order && fields.contains(&names[*index])
    };
    let count = (0..names.len()).take_while(is_field).count();
    let is_tag = |name: &String| {
        tags.contains(name) || name.strip_suffix("_1").is_some_and(|base| tags.iter().any(|tag| tag == base))
    };
    if names[count..].iter().all(is_tag) { Ok(count) } else { Err(Error::SchemaChanged) }
}

/// The schema as far as a definition names it.
impl From<&Schema> for Columns {
    fn from(schema: &Schema) -> Columns {
        match schema {
            Schema::Unknown => Columns::Written,
            Schema::Fields(fields) => Columns::FieldsFirst(fields.len()),
            Schema::Tags(tags) => Columns::TagsLast(tags.len()),
            Schema::Asked { tags, fields, .. } => {
                Columns::Asked { fields: fields.clone(), tags: tags.clone() }
            }
        }
    }
}

#[cfg(test)]
mod tests;
