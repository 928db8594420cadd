//! An entrance for fuzzers: whatever a server answers, nothing panics, and a part of an answer is never taken for another whole
//! one. No part of what the plugin offers.

use serde_json::value::RawValue;

use crate::answer::{Decoder, FluxCsv, InfluxQl, JsonLines, Schema};
use crate::error::Error;
use crate::render::{Form, Shape};
use crate::selection::{Room, Selection, Want};

/// How an answer is read, chosen by one byte.
#[derive(Debug)]
struct Reading {
    dialect: u8,
    schema: Schema,
    form: Form,
}

/// What came of an answer.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    /// Time, payload and series of each row, sorted.
    rows: Vec<(i64, Vec<u8>, Vec<u8>)>,
    is_truncated: bool,
}

/// An answer behind three bytes that choose: language, form of the records and known columns; the size of the pieces it comes in;
/// where it is cut. Read in pieces it is what it is in one, every record is JSON, and of an answer that is cut either nothing is
/// taken, or rows that the whole has too.
///
/// # Panics
/// When that is not so.
pub fn answer(bytes: &[u8]) {
    let Some((&[choice, step, cut], answer)) = bytes.split_first_chunk::<3>() else { return };
    let reading = Reading::chosen(choice);
    let whole = reading.read(answer, answer.len()).ok();
    let pieces = reading.read(answer, usize::from(step) + 1).ok();
    assert_eq!(whole, pieces, "{reading:?} in pieces of {}", usize::from(step) + 1);
    let Some(whole) = whole else { return };
    for (_, payload, series) in &whole.rows {
        let record: Result<&RawValue, _> = serde_json::from_slice(payload);
        assert!(record.is_ok(), "{reading:?}: {}", payload.escape_ascii());
        assert!(std::str::from_utf8(series).is_ok());
    }
    if !whole.is_truncated {
        reading.cut(answer, answer.len() * usize::from(cut) / 256, &whole);
    }
}

impl Reading {
    fn chosen(choice: u8) -> Reading {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let schema = match choice / 3 % 4 {
            0 => Schema::Unknown,
            1 => Schema::Tags(names(&["host", "region"])),
            2 => Schema::Fields(names(&["usage", "n"])),
            _ => Schema::Asked { tags: names(&["host"]), fields: names(&["host", "n"]), is_fresh: true },
        };
        let shape = [Shape::Point, Shape::Value, Shape::Row][usize::from(choice / 12 % 3)];
        let form = Form { shape, has_metadata: true, payload: None, tags: None };
        Reading { dialect: choice % 3, schema, form }
    }

    fn decoder(&self) -> Decoder {
        match self.dialect {
            0 => Decoder::InfluxQl(Box::new(InfluxQl::new((&self.schema).into()))),
            1 => Decoder::Flux(Box::new(FluxCsv::new(self.schema.clone()))),
            _ => Decoder::JsonLines(Box::new(JsonLines::new(self.schema.clone()))),
        }
    }

    fn read(&self, answer: &[u8], step: usize) -> Result<Read, Error> {
        let room = Room { records: usize::MAX, bytes: usize::MAX };
        let want = Want { low: i64::MIN, high: None, group: None, room, limit: None, cursor: None };
        let (mut decoder, mut rows) = (self.decoder(), Selection::new(want));
        for piece in answer.chunks(step.max(1)) {
            decoder.feed(piece, &self.form, &mut rows)?;
        }
        let is_truncated = decoder.finish(&self.form, &mut rows)?;
        let page = rows.finish(is_truncated)?;
        let row = |entry| (page.payload(entry).to_vec(), page.key(entry).to_vec());
        let mut rows: Vec<_> = page.entries.iter().map(|entry| (entry.time, row(entry))).collect();
        rows.sort();
        let rows = rows.into_iter().map(|(time, (payload, key))| (time, payload, key)).collect();
        Ok(Read { rows, is_truncated })
    }

    /// Reads the answer up to `end`; `whole` is what all of it holds.
    fn cut(&self, answer: &[u8], end: usize, whole: &Read) {
        let Ok(part) = self.read(&answer[..end], end) else { return };
        let mut rest = whole.rows.iter();
        for row in &part.rows {
            assert!(rest.any(|other| other == row), "{self:?} cut at {end}: {row:?} is no row of the whole");
        }
    }
}

#[cfg(test)]
mod tests;
