//! Answers, decoded while they come: annotated CSV of Flux, chunked JSON of InfluxQL, JSON lines of SQL.

mod flux;
mod influxql;
mod json_lines;
mod lines;

use crate::error::Error;
use crate::render::Form;
use crate::selection::Selection;

pub(crate) use flux::FluxCsv;
pub(crate) use influxql::InfluxQl;
pub(crate) use json_lines::JsonLines;

/// What decides which columns of a generated query are tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Schema {
    /// Nobody knows; a query that somebody wrote.
    Unknown,
    /// These are tags, everything else is a field.
    Tags(Vec<String>),
    /// These are fields, everything else is a tag.
    Fields(Vec<String>),
    /// Both were asked of the server. A text column among neither means that the schema changed; asked a moment ago, it
    /// is a field.
    Asked { tags: Vec<String>, fields: Vec<String>, is_fresh: bool },
}

impl Schema {
    /// Whether a column is a tag; `None` when its name is not known.
    pub(crate) fn is_tag(&self, name: &str) -> Option<bool> {
        let has = |names: &[String]| names.iter().any(|known| known == name);
        match self {
            Schema::Unknown => Some(false),
            Schema::Tags(tags) => Some(has(tags)),
            Schema::Fields(fields) => Some(!has(fields)),
            Schema::Asked { fields, .. } if has(fields) => Some(false),
            Schema::Asked { tags, .. } if has(tags) => Some(true),
            Schema::Asked { is_fresh, .. } => is_fresh.then_some(false),
        }
    }
}

/// A decoder of one answer.
#[derive(Debug)]
pub(crate) enum Decoder {
    Flux(Box<FluxCsv>),
    InfluxQl(Box<InfluxQl>),
    JsonLines(Box<JsonLines>),
}

impl Decoder {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// An error that the server wrote into its answer, or bytes that are no answer. Nothing of the answer counts then.
    pub(crate) fn feed(&mut self, bytes: &[u8], form: &Form, rows: &mut Selection) -> Result<(), Error> {
        match self {
            Decoder::Flux(decoder) => decoder.feed(bytes, form, rows),
            Decoder::InfluxQl(decoder) => decoder.feed(bytes, form, rows),
            Decoder::JsonLines(decoder) => decoder.feed(bytes, form, rows),
        }
    }

    /// The end of the answer. Tells whether the server left something out.
    ///
    /// # Errors
    /// As [`feed`](Decoder::feed), and when it ends in the middle.
    pub(crate) fn finish(&mut self, form: &Form, rows: &mut Selection) -> Result<bool, Error> {
        match self {
            Decoder::Flux(decoder) => decoder.finish().map(|()| false),
            Decoder::InfluxQl(decoder) => decoder.finish(form, rows),
            Decoder::JsonLines(decoder) => decoder.finish(form, rows).map(|()| false),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::render::Shape;
    use crate::selection::{Room, Want};

    pub(crate) fn want() -> Want {
        let room = Room { records: 1_000_000, bytes: 1 << 30 };
        Want { low: i64::MIN, high: None, group: None, room, limit: None, cursor: None }
    }

    pub(crate) fn form(shape: Shape) -> Form {
        Form { shape, has_metadata: true, payload: None, tags: None }
    }

    /// Payloads of an answer that comes in pieces of `step` bytes.
    pub(crate) fn payloads(
        decoder: &mut Decoder,
        form: &Form,
        text: &str,
        step: usize,
    ) -> Result<Vec<String>, Error> {
        let mut rows = Selection::new(want());
        for piece in text.as_bytes().chunks(step) {
            decoder.feed(piece, form, &mut rows)?;
        }
        let is_truncated = decoder.finish(form, &mut rows)?;
        let page = rows.finish(is_truncated)?;
        let text = |entry| String::from_utf8(page.payload(entry).to_vec()).expect("JSON is UTF-8");
        Ok(page.entries.iter().map(text).collect())
    }

    /// Pieces out of which answers are made, good and broken.
    fn piece() -> impl Strategy<Value = String> {
        let known = [
            "#datatype,string,long,dateTime:RFC3339,double\r\n",
            "#default,_result,,,\n",
            ",result,table,_time,_value\n",
            ",,0,1970-01-01T00:00:00Z,1\n",
            ",,0,1970-01-01T00:00:00Z\n",
            ",error,reference\n,bad,1\n",
            "\r\n",
            "\"",
            "{\"results\":[{\"series\":[{\"name\":\"m\",\"columns\":[\"time\",\"v\"],\"values\":[[1,2]]}]}]}\n",
            "{\"results\":[{\"series\":[{\"columns\":[],\"values\":[[]]}]}]}\n",
            "{\"time\":\"1970-01-01T00:00:00\",\"v\":[1]}\n",
            "{\"time\":5}\n",
            "{}\n",
        ];
        prop_oneof![4 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,8}"]
    }

    proptest! {
        /// What a server sends ends in rows or in an error, however it is cut.
        #[test]
        fn no_answer_ends_the_process(pieces in prop::collection::vec(piece(), 0..12), step in 1_usize..40) {
            let text = pieces.concat();
            let schema = Schema::Fields(vec!["v".to_owned()]);
            for schema in [Schema::Unknown, schema] {
                let columns = (&schema).into();
                for mut decoder in [
                    Decoder::Flux(Box::new(FluxCsv::new(schema.clone()))),
                    Decoder::InfluxQl(Box::new(InfluxQl::new(columns))),
                    Decoder::JsonLines(Box::new(JsonLines::new(schema.clone()))),
                ] {
                    for shape in [Shape::Value, Shape::Point, Shape::Row] {
                        let _ = payloads(&mut decoder, &form(shape), &text, step);
                    }
                }
            }
        }
    }
}
