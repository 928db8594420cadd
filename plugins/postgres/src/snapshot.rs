//! The rows that are there before the first change: table by table, in the order of the primary key.
//!
//! In the process that made the slot all tables are read in the slot's own snapshot, so the stream goes on exactly where it
//! ends. After a restart that snapshot is gone: what is left is read in a new one, and changes between the two come again behind
//! their rows. Nothing is lost, and the last record of a key is right, either way.

use bytes::Bytes;
use picomq_connector_sdk::{Batch, Schema};

use crate::client::{Connection, Purpose, frame};
use crate::error::Error;
use crate::lsn::Lsn;
use crate::quote::{self, TableName};
use crate::record::{Change, Moment, Origin, Place, Recorder, Verb};
use crate::row::Row;
use crate::server::{self, Sight, TableFacts};
use crate::settings::Settings;
use crate::shape::{ColumnDraft, Shape};
use crate::state::Progress;

/// The snapshot a new slot exported. It lives as long as its connection says nothing else.
#[derive(Debug)]
pub(crate) struct Exported {
    _connection: Connection,
    name: String,
}

impl Exported {
    pub(crate) fn new(connection: Connection, name: String) -> Exported {
        Exported { _connection: connection, name }
    }
}

/// One table being read.
#[derive(Debug)]
pub(crate) struct TableReader {
    connection: Connection,
    shape: Shape,
    /// The columns of the primary key in a row, in the order of the key.
    key: Vec<usize>,
    recorder: Recorder,
    /// Read, but of the next batch.
    held: Option<Bytes>,
    /// Where the next batch begins.
    pub(crate) at: Progress,
}

impl TableReader {
    /// Opens a reader of `progress.table` behind what was read of it. `None` when the table is gone.
    pub(crate) async fn open(
        settings: &Settings,
        exported: Option<&Exported>,
        table: &TableName,
        progress: &Progress,
    ) -> Result<Option<TableReader>, Error> {
        let mut connection = Connection::open(&settings.target, Purpose::Sql).await?;
        connection.simple("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        if let Some(Exported { name, .. }) = exported {
            connection
                .simple(&format!("SET TRANSACTION SNAPSHOT {}", quote::literal(name).trim_start()))
                .await?;
        }
        let Some(facts) =
            server::table_facts(&mut connection, table, Sight::Published(&settings.publication)).await?
        else {
            connection.close().await;
            return Ok(None);
        };
        let types = server::types(&mut connection).await?;
        // An interrupted read of a table without a key cannot be gone on with: it is read again from its start.
        let after = if facts.primary_key.len() == progress.after.len() { &progress.after[..] } else { &[] };
        let parameters: Vec<Option<&str>> = after.iter().map(|value| Some(value.as_str())).collect();
        let rows = connection.begin_rows(&select(table, &facts, !after.is_empty()), &parameters).await?;
        let columns: Vec<ColumnDraft<'_>> = rows
            .columns
            .iter()
            .map(|column| ColumnDraft {
                name: &column.name,
                label: &column.name,
                oid: column.oid,
                modifier: column.modifier,
                is_key: facts.record_key.contains(&column.name),
                is_identity: false,
            })
            .collect();
        let place = |name: &String| rows.columns.iter().position(|column| column.name == *name);
        let key: Option<Vec<usize>> = facts.primary_key.iter().map(place).collect();
        Ok(Some(TableReader {
            shape: Shape::new(table.clone(), &columns, &types, &settings.records)
                .with_key_order(&facts.record_key),
            key: key.unwrap_or_default(),
            recorder: Recorder::default(),
            held: None,
            at: Progress { table: Some(table.clone()), after: after.to_vec(), ..progress.clone() },
            connection,
        }))
    }

    /// Reads the next batch. When it is dropped half-way the reader is of no use any more.
    pub(crate) async fn batch(&mut self, settings: &Settings, start: Lsn) -> Result<Batch, Error> {
        let mut batch = Batch::new(Schema::Json);
        let (lsn, time) = (start.to_string(), Moment::now());
        self.recorder.tick(&settings.records);
        let origin = Origin { place: Place::Snapshot { lsn: &lsn }, time: &time };
        loop {
            let next = match self.held.take() {
                Some(row) => Some(row),
                None => self.connection.next_row().await?,
            };
            let Some(body) = next else {
                self.at.is_table_done = true;
                self.at.after.clear();
                return Ok(batch);
            };
            let is_full =
                batch.len() >= settings.cut.records || batch.bytes() + 2 * body.len() > settings.cut.bytes;
            if is_full && !batch.is_empty() {
                self.held = Some(body);
                return Ok(batch);
            }
            let change = Change { verb: Verb::Read, new: Some(Row::data(&body)?), old: None };
            self.recorder.add(&mut batch, (&self.shape, &settings.records), &change, &origin)?;
            if batch.bytes() > settings.cut.bytes_max {
                return Err(self.too_large(batch.bytes(), settings));
            }
            self.remember(&body)?;
        }
    }

    fn remember(&mut self, body: &[u8]) -> Result<(), Error> {
        let values = frame::values(body)?;
        self.at.after.clear();
        for place in &self.key {
            let value = values.get(*place).copied().flatten().unwrap_or_default();
            let value = std::str::from_utf8(value).map_err(|_| Error::Value {
                table: self.shape.table.to_string(),
                column: self.shape.columns[*place].name.clone(),
                why: "a key that is no UTF-8 cannot be kept as a position",
            })?;
            self.at.after.push(value.to_owned());
        }
        self.at.rows += 1;
        Ok(())
    }

    fn too_large(&self, bytes: usize, settings: &Settings) -> Error {
        Error::Refused(format!(
            "one row of {} makes {bytes} bytes, the limit of a batch is {} ([limits] batch_bytes); nothing was skipped: raise the limit, \
             or leave the large column out with exclude_columns (the row after the key {:?})",
            self.shape.table, settings.cut.bytes_max, self.at.after
        ))
    }

    pub(crate) async fn close(self) {
        self.connection.close().await;
    }
}

/// What is the next table to read, if any; they are sorted.
pub(crate) fn next_table<'a>(tables: &'a [TableName], progress: &Progress) -> Option<&'a TableName> {
    tables.iter().find(|table| match &progress.table {
        None => true,
        Some(current) if progress.is_table_done => *table > current,
        Some(current) => *table >= current,
    })
}

/// The progress with which reading `table` begins.
pub(crate) fn entered(progress: &Progress, table: &TableName) -> Progress {
    if progress.table.as_ref() == Some(table) && !progress.is_table_done {
        return progress.clone();
    }
    Progress { table: Some(table.clone()), ..Progress::default() }
}

/// All rows in the order of the key, or those behind the key given as parameters.
fn select(table: &TableName, facts: &TableFacts, is_resumed: bool) -> String {
    let list =
        |names: &[String]| names.iter().map(|name| quote::identifier(name)).collect::<Vec<_>>().join(", ");
    let only = if facts.is_partitioned { "" } else { "ONLY " };
    let mut sql = format!("SELECT {} FROM {only}{}", list(&facts.columns), table.quoted());
    let mut conditions = Vec::new();
    if let Some(filter) = &facts.filter {
        conditions.push(format!("({filter})"));
    }
    if is_resumed {
        let places: Vec<String> = (1..=facts.primary_key.len()).map(|place| format!("${place}")).collect();
        conditions.push(format!("({}) > ({})", list(&facts.primary_key), places.join(", ")));
    }
    if !conditions.is_empty() {
        sql.push_str(" WHERE ");
        sql.push_str(&conditions.join(" AND "));
    }
    if !facts.primary_key.is_empty() {
        sql.push_str(" ORDER BY ");
        sql.push_str(&list(&facts.primary_key));
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<TableName> {
        names.iter().map(|name| TableName::new("s", *name)).collect()
    }

    #[test]
    fn tables_are_read_in_order_and_each_once() {
        let tables = names(&["a", "b", "d"]);
        let mut progress = Progress::default();
        let mut read = Vec::new();
        while let Some(table) = next_table(&tables, &progress) {
            assert_eq!(next_table(&tables, &entered(&progress, table)), Some(table), "begun and not done");
            read.push(table.clone());
            progress = Progress { is_table_done: true, ..entered(&progress, table) };
        }
        assert_eq!(read, tables);
    }

    #[test]
    fn a_table_that_went_away_does_not_stop_the_next() {
        let progress = Progress { table: names(&["b"]).pop(), ..Progress::default() };
        assert_eq!(next_table(&names(&["a", "c"]), &progress), names(&["c"]).first());
    }

    #[test]
    fn a_key_is_a_bound_parameter_and_every_name_is_quoted_b128() {
        let facts = TableFacts {
            columns: vec!["id\"".into(), "v".into()],
            primary_key: vec!["id\"".into(), "v".into()],
            filter: Some("v > 1".into()),
            ..TableFacts::default()
        };
        assert_eq!(
            select(&TableName::new("s", "t"), &facts, true),
            "SELECT \"id\"\"\", \"v\" FROM ONLY \"s\".\"t\" WHERE (v > 1) AND (\"id\"\"\", \"v\") > ($1, $2) ORDER BY \"id\"\"\", \"v\""
        );
        let bare = TableFacts { columns: vec!["v".into()], is_partitioned: true, ..TableFacts::default() };
        assert_eq!(select(&TableName::new("s", "t"), &bare, false), "SELECT \"v\" FROM \"s\".\"t\"");
    }
}
