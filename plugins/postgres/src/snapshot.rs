//! The rows that are there before the first change: table by table, each in parts that several connections read at once.
//!
//! In the process that made the slot everything is read in the slot's own snapshot, so the stream goes on exactly where it
//! ends. That snapshot dies with the process; what is left then is read while the stream runs (`backfill`), or, where that cannot
//! be, in a new one: then changes between the two come again behind their rows. Nothing is lost, and the last record of a key is
//! right, either way.

mod part;
mod split;
mod workers;

pub(crate) use part::{Reading, fits, select};
pub(crate) use split::last_place;
pub(crate) use workers::{Order, Workers};

use crate::client::{Connection, Purpose};
use crate::error::Error;
use crate::publication;
use crate::quote::{self, TableName};
use crate::server::{self, TableFacts};
use crate::settings::Settings;
use crate::state::{By, Part, Progress};

/// A snapshot others can read in. It lives as long as its connection says nothing else.
#[derive(Debug)]
pub(crate) struct Exported {
    _connection: Connection,
    name: String,
}

impl Exported {
    /// The one a new slot exported.
    pub(crate) fn new(connection: Connection, name: String) -> Exported {
        Exported { _connection: connection, name }
    }

    /// One of this moment.
    pub(crate) async fn now(settings: &Settings) -> Result<Exported, Error> {
        let mut connection = Connection::open(&settings.target, Purpose::Sql).await?;
        connection.simple("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let answer = connection.simple("SELECT pg_catalog.pg_export_snapshot()").await?;
        let name = answer.text(0, 0).map(str::to_owned);
        let name = name.ok_or_else(|| Error::Protocol("a snapshot without a name".into()))?;
        Ok(Exported { _connection: connection, name })
    }

    /// A connection that reads in it.
    async fn open(&self, settings: &Settings) -> Result<Connection, Error> {
        let mut connection = Connection::open(&settings.target, Purpose::Sql).await?;
        connection.simple(BEGIN).await?;
        let name = quote::literal(&self.name);
        connection.simple(&format!("SET TRANSACTION SNAPSHOT {}", name.trim_start())).await?;
        Ok(connection)
    }
}

/// Rows come in the order of the file when nothing else is asked for: a scan does not begin where another one is.
const BEGIN: &str = "SET synchronize_seqscans TO off; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// The tables that are read, in the order of their names; `None` when the publication is gone.
pub(crate) async fn tables(
    sql: &mut Connection,
    settings: &Settings,
) -> Result<Option<Vec<TableName>>, Error> {
    let Some(published) = server::publication(sql, &settings.publication).await? else { return Ok(None) };
    let mut tables = publication::plan(Some(&published), &server::tables(sql).await?, settings)?.tables;
    // Not as the database sorts them: what was taken is what comes before the frontier.
    tables.sort();
    Ok(Some(tables))
}

/// How the rows of a table are told apart.
pub(crate) fn by_of(facts: &TableFacts) -> By {
    match facts.file {
        Some(file) if facts.primary_key.is_empty() => By::Place { file },
        Some(_) | None => By::Key,
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

impl Progress {
    /// The progress with which taking parts of `table` begins.
    pub(crate) fn entered(&self, table: &TableName) -> Progress {
        if self.table.as_ref() == Some(table) && !self.is_table_done {
            return self.clone();
        }
        let (rows, open) = (self.rows, self.open.clone());
        Progress { table: Some(table.clone()), rows, open, ..Progress::default() }
    }

    /// `part`, behind the frontier, was taken.
    pub(crate) fn take(&mut self, part: &Part) {
        self.table = Some(part.table.clone());
        self.after.clone_from(&part.until);
        self.by = part.by;
        self.is_table_done = part.until.is_empty();
        self.open.push(part.clone());
    }

    /// `rows` more were read of `part`, which now stands at its `after`.
    pub(crate) fn advance(&mut self, part: &Part, rows: u64, is_done: bool) {
        self.rows += rows;
        let place = self.open.iter().position(|open| open.is_same(part));
        match place {
            Some(place) if is_done => drop(self.open.remove(place)),
            Some(place) => self.open[place] = part.clone(),
            None => {}
        }
    }

    /// Whether no part of `table` is left.
    pub(crate) fn is_read(&self, table: &TableName) -> bool {
        let is_taken =
            self.table.as_ref().is_some_and(|at| table < at || (table == at && self.is_table_done));
        is_taken && self.open.iter().all(|part| part.table != *table)
    }
}

impl Part {
    pub(crate) fn is_same(&self, other: &Part) -> bool {
        (&self.table, &self.until) == (&other.table, &other.until)
    }
}

#[cfg(test)]
mod tests;
