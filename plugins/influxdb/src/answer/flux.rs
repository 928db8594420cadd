//! Annotated CSV: tables one after the other, each with columns, types and defaults of its own, and errors as tables.

mod header;

use csv_core::{ReadRecordResult, Reader};

use self::header::Header;
use super::Schema;
use crate::error::Error;
use crate::layout::Cell;
use crate::render::{Form, Row, draw};
use crate::selection::Selection;
use crate::{time, words};

/// Longest record.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// Decodes the CSV of Flux, with any annotations in any order, or none.
#[derive(Debug)]
pub(crate) struct FluxCsv {
    reader: Reader,
    /// Bytes of the record under way.
    text: Vec<u8>,
    text_len: usize,
    /// Ends of its fields.
    ends: Vec<usize>,
    ends_len: usize,
    /// Lines read when the record before ended.
    line: u64,
    has_begun: bool,
    tables: Tables,
}

/// What is known of the table under way.
#[derive(Debug)]
struct Tables {
    schema: Schema,
    annotations: Vec<(String, Vec<String>)>,
    header: Option<Header>,
    /// `result` and `table` of the row before.
    current: Option<(String, String)>,
}

impl FluxCsv {
    pub(crate) fn new(schema: Schema) -> FluxCsv {
        FluxCsv {
            reader: Reader::new(),
            text: vec![0; 4 << 10],
            text_len: 0,
            ends: vec![0; 64],
            ends_len: 0,
            line: 1,
            has_begun: false,
            tables: Tables { schema, annotations: Vec::new(), header: None, current: None },
        }
    }

    pub(super) fn feed(&mut self, mut bytes: &[u8], form: &Form, rows: &mut Selection) -> Result<(), Error> {
        while !bytes.is_empty() {
            let (result, read) = self.step(bytes)?;
            if result == ReadRecordResult::Record {
                self.record(form, rows)?;
            }
            bytes = &bytes[read..];
        }
        Ok(())
    }

    /// The server ends every row, so one without an end was cut, and its last value may be a part of one.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        loop {
            // Empty input is the end to the reader, and a row under way comes out of it.
            match self.step(&[])?.0 {
                ReadRecordResult::InputEmpty | ReadRecordResult::End => return Ok(()),
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
                ReadRecordResult::Record => {
                    return Err(Error::Malformed("it ends in the middle of a row".to_owned()));
                }
            }
        }
    }

    /// Reads some bytes and answers how many, and what came of them.
    fn step(&mut self, bytes: &[u8]) -> Result<(ReadRecordResult, usize), Error> {
        let (text, ends) = (&mut self.text[self.text_len..], &mut self.ends[self.ends_len..]);
        let (result, read, wrote, ended) = self.reader.read_record(bytes, text, ends);
        self.text_len += wrote;
        self.ends_len += ended;
        match result {
            ReadRecordResult::OutputFull if self.text.len() >= RECORD_BYTES_MAX => {
                return Err(Error::Malformed(format!("a row longer than {RECORD_BYTES_MAX} bytes")));
            }
            ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
            ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
            ReadRecordResult::Record | ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
        }
        Ok((result, read))
    }

    fn record(&mut self, form: &Form, rows: &mut Selection) -> Result<(), Error> {
        let (text_len, ends_len) = (std::mem::take(&mut self.text_len), std::mem::take(&mut self.ends_len));
        let text = std::str::from_utf8(&self.text[..text_len])
            .map_err(|_| Error::Malformed("no UTF-8".to_owned()))?;
        // The reader passes over empty lines, which end a table: its count of lines shows them.
        let lines = 1 + text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        let is_after_blank = self.has_begun && self.reader.line() > self.line + lines;
        self.line = self.reader.line();
        self.has_begun = true;
        let mut start = 0;
        let mut fields = Vec::with_capacity(ends_len);
        for end in &self.ends[..ends_len] {
            let field = text.get(start..*end).ok_or_else(|| Error::Malformed("no UTF-8".to_owned()))?;
            fields.push(field);
            start = *end;
        }
        if !text.contains("\r\n") {
            return self.tables.take(&fields, is_after_blank, form, rows);
        }
        // The server writes a line end inside a value as it writes those of rows; Go's reader undoes it so.
        let fields: Vec<String> = fields.iter().map(|field| field.replace("\r\n", "\n")).collect();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        self.tables.take(&fields, is_after_blank, form, rows)
    }
}

impl Tables {
    fn take(
        &mut self,
        fields: &[&str],
        is_after_blank: bool,
        form: &Form,
        rows: &mut Selection,
    ) -> Result<(), Error> {
        if is_after_blank && self.header.is_some() {
            self.header = None;
            self.annotations.clear();
        }
        if let Some(name) = fields.first().and_then(|first| first.strip_prefix('#')) {
            if self.header.take().is_some() {
                self.annotations.clear();
            }
            self.annotations
                .push((name.to_owned(), fields.iter().map(|field| (*field).to_owned()).collect()));
            return Ok(());
        }
        match &self.header {
            Some(header) => {
                let table = header.table(fields)?;
                let is_same = |current: &(String, String)| (current.0.as_str(), current.1.as_str()) == table;
                if !self.current.as_ref().is_some_and(is_same) {
                    rows.next_table()?;
                    self.current = Some((table.0.to_owned(), table.1.to_owned()));
                }
                row(header, fields, form, rows)
            }
            None => {
                self.header = Some(Header::new(fields, &self.annotations, &self.schema, form)?);
                self.current = None;
                Ok(())
            }
        }
    }
}

fn row(header: &Header, fields: &[&str], form: &Form, rows: &mut Selection) -> Result<(), Error> {
    let Some(at) = header.layout.time else {
        return Err(match header.error(fields) {
            Some(words) => words::error(&words),
            None => Error::Unreadable(
                "query: its rows have no column `_time`, which the cursor needs; keep it, or give aggregates one with \
                 duplicate(column: \"_stop\", as: \"_time\")"
                    .to_owned(),
            ),
        });
    };
    let written = header.field(fields, at);
    let Some(time) = time::parse(written) else {
        return Err(Error::Malformed(format!(
            "`{}` in _time is no RFC 3339 time",
            written.chars().take(40).collect::<String>()
        )));
    };
    rows.row(time, |draft| {
        let cells: Vec<Cell<'_>> =
            (0..header.layout.columns.len()).map(|index| header.cell(fields, index)).collect();
        draw(draft, form, Row { layout: &header.layout, cells: &cells, time })
    })
}

#[cfg(test)]
mod tests;
