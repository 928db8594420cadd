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
use crate::progress::By;
use crate::publication;
use crate::quote::{self, TableName};
use crate::server::{self, TableFacts};
use crate::settings::Settings;

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
