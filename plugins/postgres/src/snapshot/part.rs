//! One part of a table: the query, and its rows into batches.

use std::ops::Range;

use bytes::Buf;
use picomq_connector_sdk::{Batch, Schema};

use crate::change::{Change, Moment, Origin, Place, Verb};
use crate::client::Connection;
use crate::client::frame::{self, ResultColumn, tag};
use crate::column::ColumnDraft;
use crate::error::Error;
use crate::progress::{By, Part};
use crate::quote::{self, TableName};
use crate::record::Recorder;
use crate::row::Row;
use crate::server::TableFacts;
use crate::settings::{Cut, RecordSettings};
use crate::shape::Shape;
use crate::value::Catalog;

/// A batch of the snapshot is cut earlier than one of the stream, since every worker holds one or two.
const BATCH_BYTES: usize = 4 << 20;

/// What a query of rows brings, and which of it is the place of a row.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) shape: Shape,
    /// The columns that tell the place of a row.
    pub(crate) place: Vec<usize>,
}

/// A part being read.
#[derive(Debug)]
pub(crate) struct PartReader {
    reading: Reading,
    recorder: Recorder,
    /// Where it stands; what was taken before when the table is not the one it was any more.
    pub(crate) part: Part,
    /// Of the former batch, so that the next one does not grow piece by piece.
    room: (usize, usize),
}

impl PartReader {
    /// Begins to read `part`. When its places mean nothing any more, the key changed or the table was written anew, all of the
    /// table is read.
    pub(crate) async fn begin(
        sql: &mut Connection,
        facts: &TableFacts,
        (types, records): (&Catalog, &RecordSettings),
        part: &Part,
    ) -> Result<PartReader, Error> {
        let part = if fits(part, facts) { part.clone() } else { whole(part, facts) };
        let parameters: Vec<Option<&str>> =
            part.after.iter().chain(&part.until).map(|value| Some(value.as_str())).collect();
        let text = select(facts, &part, None);
        let rows = sql.begin_rows(&text, &parameters).await?;
        let reading = Reading::new(&part.table, facts, &rows.columns, (types, records));
        Ok(PartReader { reading, recorder: Recorder::default(), part, room: (0, 0) })
    }

    /// The next batch, and whether it is the last. When it is dropped half-way the connection is of no use any more.
    pub(crate) async fn batch(
        &mut self,
        sql: &mut Connection,
        (records, cut): (&RecordSettings, &Cut),
        lsn: &str,
    ) -> Result<(Batch, bool), Error> {
        let mut batch = Batch::with_capacity(Schema::Json, self.room.0, self.room.1);
        let time = Moment::now();
        self.recorder.tick(records);
        let origin = Origin { place: Place::Snapshot { lsn }, time: &time };
        loop {
            let drained = self.drain(&sql.input, &mut batch, (records, cut), &origin)?;
            sql.input.advance(drained.bytes);
            match drained.end {
                None => {
                    self.refuse_giant(&sql.input, cut)?;
                    sql.fill().await?;
                }
                Some(End::Rows) => return Ok((batch, true)),
                Some(End::Batch) => {
                    self.room = (batch.len(), batch.bytes());
                    return Ok((batch, false));
                }
            }
        }
    }

    /// Takes whole messages until there is none, the batch is full or the rows are at their end.
    fn drain(
        &mut self,
        input: &[u8],
        batch: &mut Batch,
        (records, cut): (&RecordSettings, &Cut),
        origin: &Origin<'_>,
    ) -> Result<Drained, Error> {
        let mut drained = Drained { bytes: 0, end: None };
        let mut last: Option<Range<usize>> = None;
        while let Some((tag, range)) = frame::first(&input[drained.bytes..])? {
            let range = drained.bytes + range.start..drained.bytes + range.end;
            let body = &input[range.clone()];
            match tag {
                tag::DATA_ROW => {
                    if is_full(batch, body.len(), cut) {
                        drained.end = Some(End::Batch);
                        break;
                    }
                    let change = Change { verb: Verb::Read, new: Some(Row::data(body)?), old: None };
                    self.recorder.add(batch, (&self.reading.shape, records), &change, origin)?;
                    last = Some(range.clone());
                    if batch.bytes() > cut.bytes_max {
                        return Err(self.too_large(batch.bytes(), cut));
                    }
                }
                tag::COMMAND_COMPLETE | tag::EMPTY_QUERY | tag::NOTICE | tag::PARAMETER => {}
                tag::READY => drained.end = Some(End::Rows),
                tag::ERROR => return Err(frame::server_error(body)),
                other => {
                    return Err(Error::Protocol(format!("message `{}` among rows", other.escape_ascii())));
                }
            }
            drained.bytes = range.end;
            if drained.end.is_some() {
                break;
            }
        }
        if let Some(last) = last {
            self.part.after = self.reading.place_of(&input[last])?;
        }
        Ok(drained)
    }

    /// Refuses a row that no batch could hold before it fills the memory.
    fn refuse_giant(&self, input: &[u8], cut: &Cut) -> Result<(), Error> {
        let max = cut.bytes_max.saturating_mul(2);
        match frame::declared(input).filter(|bytes| *bytes > max) {
            Some(bytes) => Err(self.too_large(bytes, cut)),
            None => Ok(()),
        }
    }

    fn too_large(&self, bytes: usize, cut: &Cut) -> Error {
        Error::Refused(format!(
            "one row of {} makes {bytes} bytes, the limit of a batch is {} ([limits] batch_bytes); nothing was skipped: raise the limit, \
             or leave the large column out with exclude_columns (a row soon after {:?})",
            self.part.table, cut.bytes_max, self.part.after
        ))
    }
}

/// What came of reading the input.
struct Drained {
    /// So much of it was taken.
    bytes: usize,
    end: Option<End>,
}

enum End {
    Rows,
    Batch,
}

fn is_full(batch: &Batch, bytes: usize, cut: &Cut) -> bool {
    let most = cut.bytes.min(BATCH_BYTES);
    !batch.is_empty() && (batch.len() >= cut.records || batch.bytes() + 2 * bytes > most)
}

impl Reading {
    /// `columns` are those that `select` asked for.
    pub(crate) fn new(
        table: &TableName,
        facts: &TableFacts,
        columns: &[ResultColumn],
        (types, records): (&Catalog, &RecordSettings),
    ) -> Reading {
        let shown = &columns[..facts.columns.len().min(columns.len())];
        let is_debezium = records.debezium.is_some();
        let record_key = if is_debezium { &facts.debezium_key } else { &facts.record_key };
        let drafts: Vec<ColumnDraft<'_>> = shown
            .iter()
            .map(|column| ColumnDraft {
                name: &column.name,
                label: &column.name,
                oid: column.oid,
                modifier: column.modifier,
                is_key: record_key.contains(&column.name),
                is_identity: false,
            })
            .collect();
        let of_key = |name: &String| columns.iter().position(|column| column.name == *name);
        let place = match super::by_of(facts) {
            By::Key => facts.primary_key.iter().filter_map(of_key).collect(),
            By::Place { .. } => vec![columns.len().saturating_sub(1)],
        };
        let shape = Shape::new(table.clone(), &drafts, types, records).with_key_order(record_key);
        Reading { shape, place }
    }

    /// Where a row lies, from the body of its `DataRow`.
    pub(crate) fn place_of(&self, body: &[u8]) -> Result<Vec<String>, Error> {
        let values = frame::values(body)?;
        let text = |place: &usize| {
            let value = values.get(*place).copied().flatten().unwrap_or_default();
            std::str::from_utf8(value).map(str::to_owned).map_err(|_| Error::Value {
                table: self.shape.table.to_string(),
                column: self.shape.columns.get(*place).map_or_else(String::new, |column| column.name.clone()),
                why: "a key that is no UTF-8 cannot be kept as a position",
            })
        };
        self.place.iter().map(text).collect()
    }
}

/// Whether the places of `part` still mean something.
pub(crate) fn fits(part: &Part, facts: &TableFacts) -> bool {
    let width = match super::by_of(facts) {
        By::Key => facts.primary_key.len(),
        By::Place { .. } => 1,
    };
    let is_place = |place: &[String]| place.is_empty() || place.len() == width;
    part.by == super::by_of(facts) && is_place(&part.after) && is_place(&part.until)
}

/// All of the table, under the name of `part`.
fn whole(part: &Part, facts: &TableFacts) -> Part {
    Part { table: part.table.clone(), after: Vec::new(), until: Vec::new(), by: super::by_of(facts) }
}

/// The rows of `part` in the order of their places; its `after` and then its `until` are the parameters.
pub(crate) fn select(facts: &TableFacts, part: &Part, limit: Option<usize>) -> String {
    let list =
        |names: &[String]| names.iter().map(|name| quote::identifier(name)).collect::<Vec<_>>().join(", ");
    let place = match part.by {
        By::Key => list(&facts.primary_key),
        By::Place { .. } => "ctid".to_owned(),
    };
    let mut columns: Vec<String> = facts.columns.iter().map(|name| quote::identifier(name)).collect();
    match part.by {
        // A column list may lack columns of the key.
        By::Key => {
            let hidden = facts.primary_key.iter().filter(|name| !facts.columns.contains(name));
            columns.extend(hidden.map(|name| quote::identifier(name)));
        }
        By::Place { .. } => columns.push(place.clone()),
    }
    let mut number = 0;
    let mut bound = |values: &[String]| {
        let places: Vec<String> = values
            .iter()
            .map(|_| {
                number += 1;
                format!("${number}")
            })
            .collect();
        places.join(", ")
    };
    let mut conditions = Vec::new();
    if !part.after.is_empty() {
        conditions.push(format!("({place}) > ({})", bound(&part.after)));
    }
    if !part.until.is_empty() {
        conditions.push(format!("({place}) <= ({})", bound(&part.until)));
    }
    if let Some(filter) = &facts.filter {
        conditions.push(format!("({filter})"));
    }
    let only = if facts.is_partitioned { "" } else { "ONLY " };
    let mut sql = format!("SELECT {} FROM {only}{}", columns.join(", "), part.table.quoted());
    if !conditions.is_empty() {
        sql.push_str(" WHERE ");
        sql.push_str(&conditions.join(" AND "));
    }
    if part.by == By::Key && !place.is_empty() {
        sql.push_str(" ORDER BY ");
        sql.push_str(&place);
    }
    if let Some(limit) = limit {
        sql.push_str(&format!(" LIMIT {limit}"));
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> TableFacts {
        TableFacts {
            columns: vec!["id\"".into(), "v".into()],
            primary_key: vec!["id\"".into(), "w".into()],
            file: Some(7),
            ..TableFacts::default()
        }
    }

    fn part(by: By, after: &[&str], until: &[&str]) -> Part {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Part { table: TableName::new("s", "t"), after: texts(after), until: texts(until), by }
    }

    #[test]
    fn a_key_is_a_bound_parameter_and_every_name_is_quoted_b128() {
        let facts = TableFacts { filter: Some("v > 1".into()), ..facts() };
        assert_eq!(
            select(&facts, &part(By::Key, &["1", "a"], &["2", "b"]), Some(5)),
            "SELECT \"id\"\"\", \"v\", \"w\" FROM ONLY \"s\".\"t\" WHERE (\"id\"\"\", \"w\") > ($1, $2) AND (\"id\"\"\", \"w\") <= ($3, $4) \
             AND (v > 1) ORDER BY \"id\"\"\", \"w\" LIMIT 5"
        );
    }

    #[test]
    fn without_a_key_rows_are_told_apart_by_where_they_lie() {
        let bare = TableFacts { primary_key: Vec::new(), ..facts() };
        assert_eq!(
            select(&bare, &part(By::Place { file: 7 }, &[], &["(4,0)"]), None),
            "SELECT \"id\"\"\", \"v\", ctid FROM ONLY \"s\".\"t\" WHERE (ctid) <= ($1)"
        );
        let parted = TableFacts { is_partitioned: true, file: None, ..bare };
        assert_eq!(
            select(&parted, &part(By::Key, &[], &[]), None),
            "SELECT \"id\"\"\", \"v\" FROM \"s\".\"t\""
        );
    }

    #[test]
    fn a_place_in_another_file_or_of_another_key_means_nothing() {
        let bare = TableFacts { primary_key: Vec::new(), ..facts() };
        assert!(fits(&part(By::Place { file: 7 }, &["(1,1)"], &[]), &bare));
        assert!(!fits(&part(By::Place { file: 8 }, &["(1,1)"], &[]), &bare));
        assert!(!fits(&part(By::Key, &["1"], &[]), &facts()));
        assert!(fits(&part(By::Key, &["1", "a"], &[]), &facts()));
        assert!(!fits(&part(By::Place { file: 7 }, &["(1,1)"], &[]), &facts()));
    }
}
