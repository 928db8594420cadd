//! JSON lines, as InfluxDB 3 answers SQL: an object a row, absent members are null.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Schema;
use super::lines::Lines;
use crate::error::Error;
use crate::layout::{Cell, Column, Layout, Role};
use crate::render::{Form, Row, draw};
use crate::selection::Selection;
use crate::{time, words};

/// Decodes what `/api/v3/query_sql` answers with `format=jsonl`.
#[derive(Debug)]
pub(crate) struct JsonLines {
    lines: Lines,
    layouts: Layouts,
}

/// The columns of the row before: those of the next are mostly the same.
#[derive(Debug)]
struct Layouts {
    schema: Schema,
    last: Option<Layout>,
}

/// The members of an object, in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Members<'a>, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        from.deserialize_map(InOrder).map(Members)
    }
}

impl JsonLines {
    pub(crate) fn new(schema: Schema) -> JsonLines {
        JsonLines { lines: Lines::default(), layouts: Layouts { schema, last: None } }
    }

    pub(super) fn feed(&mut self, bytes: &[u8], form: &Form, rows: &mut Selection) -> Result<(), Error> {
        let layouts = &mut self.layouts;
        self.lines.feed(bytes, |line| layouts.take(line, form, rows))
    }

    pub(super) fn finish(&mut self, form: &Form, rows: &mut Selection) -> Result<(), Error> {
        let layouts = &mut self.layouts;
        self.lines.finish(|line| layouts.take(line, form, rows))
    }
}

impl Layouts {
    fn take(&mut self, line: &str, form: &Form, rows: &mut Selection) -> Result<(), Error> {
        let Members(members) =
            serde_json::from_str(line).map_err(|error| Error::Malformed(error.to_string()))?;
        let layout = self.layout(&members, form);
        let Some(at) = layout.time else {
            let words = members.iter().find(|(name, _)| name == "error");
            return Err(match words {
                Some((_, words)) => words::error(&Cell::of_json(words.get()).text().unwrap_or_default()),
                None => Error::Unreadable(
                    "query: its rows have no column `time`, which the cursor needs; select it, or name an aggregate's window so"
                        .to_owned(),
                ),
            });
        };
        let written = Cell::of_json(members[at].1.get()).text().unwrap_or_default();
        let Some(time) = time::parse(&written) else {
            return Err(Error::Malformed(format!(
                "`{}` is no time",
                written.chars().take(40).collect::<String>()
            )));
        };
        rows.row(time, |draft| {
            let cells: Vec<Cell<'_>> = members.iter().map(|(_, raw)| Cell::of_json(raw.get())).collect();
            draw(draft, form, Row { layout, cells: &cells, time })
        })
    }

    fn layout(&mut self, members: &[(String, &RawValue)], form: &Form) -> &Layout {
        let is_same = |layout: &Layout| {
            layout.columns.len() == members.len()
                && layout.columns.iter().zip(members).all(|(column, (name, _))| column.name == *name)
        };
        let last = self.last.take().filter(is_same);
        self.last.insert(last.unwrap_or_else(|| {
            let role = |name: &str| match name {
                "time" => Role::Time,
                name if form.is_tag(name) == Some(true) || self.schema.is_tag(name) == Some(true) => {
                    Role::Tag
                }
                _ => Role::Plain,
            };
            let columns = members.iter().map(|(name, _)| Column::new(name, role(name))).collect();
            Layout::new(columns, form.payload_column(), form.tags.is_some())
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Decoder;
    use crate::answer::tests::payloads;
    use crate::render::Shape;

    fn read(text: &str, has_metadata: bool) -> Result<Vec<String>, Error> {
        let tags = Some(vec!["host".to_owned()]);
        let form = Form { shape: Shape::Row, has_metadata, payload: None, tags };
        let mut decoder = Decoder::JsonLines(Box::new(JsonLines::new(Schema::Unknown)));
        payloads(&mut decoder, &form, text, 5)
    }

    const ROWS: &str = "{\"host\":\"a\",\"time\":\"1970-01-01T00:00:00.000000001\",\"n\":9223372036854775807}\n\
                        {\"time\":\"1970-01-01T00:00:00.000000002\",\"u\":1.50}\n";

    #[test]
    fn a_row_is_the_record_with_the_digits_it_came_with_b101() {
        let right: Vec<&str> = ROWS.lines().collect();
        assert_eq!(read(ROWS, true).unwrap(), right);
    }

    #[test]
    fn without_metadata_the_cursor_column_is_left_out() {
        assert_eq!(read(ROWS, false).unwrap(), [r#"{"host":"a","n":9223372036854775807}"#, r#"{"u":1.50}"#]);
    }

    #[test]
    fn errors_rows_without_time_and_cut_rows_fail_the_answer_b103() {
        let error = format!("{ROWS}{{\"error\":\"out of memory\"}}\n");
        assert!(matches!(read(&error, true).unwrap_err(), Error::Server(_)));
        assert!(matches!(read("{\"n\":1}\n", true).unwrap_err(), Error::Unreadable(_)));
        assert!(matches!(read(&ROWS[..ROWS.len() - 4], true).unwrap_err(), Error::Malformed(_)));
    }
}
