//! What we ask a server about itself: who it is, its slot, its publication, its tables and types.

mod maintenance;

pub(crate) use maintenance::{drop_facts, end_of_log, identify_by_sql, met, reader_of};

use crate::client::{Connection, Table};
use crate::error::Error;
use crate::lsn::Lsn;
use crate::publication::{Publication, TableRow};
use crate::quote::{self, TableName};
use crate::slot::{Identity, SlotRow, switch_of};
use crate::value::{Catalog, TypeRow};
use crate::wal::HeldWal;

/// Refuses a server that does not write what logical decoding needs. Asked before anything about roles, since a missing right can
/// hide it.
pub(crate) async fn check_wal_level(sql: &mut Connection) -> Result<(), Error> {
    let answer = sql.simple("SHOW wal_level").await?;
    match answer.text(0, 0) {
        Some("logical") => Ok(()),
        other => Err(Error::Refused(format!(
            "postgres.wal_level: wal_level is `{}`, change capture needs `logical`; run: ALTER SYSTEM SET wal_level = logical; and \
             restart PostgreSQL (hosted: set rds.logical_replication, cloudsql.logical_decoding or the like)",
            other.unwrap_or_default()
        ))),
    }
}

/// Turns the refusals a replication connection meets into what to run.
pub(crate) fn explained(error: Error, user: &str) -> Error {
    match error.code() {
        Some("42501") => Error::Refused(format!(
            "postgres.replication_role: {error}; run: ALTER ROLE {} REPLICATION; (on RDS: GRANT rds_replication TO {0};)",
            quote::identifier(user)
        )),
        Some("28000") => Error::Refused(format!(
            "postgres.pg_hba: {error}; let pg_hba.conf admit this role to its database from here (logical replication matches \
             the database's name)"
        )),
        Some(_) | None => error,
    }
}

/// `IDENTIFY_SYSTEM`, on a replication connection.
pub(crate) async fn identify(replication: &mut Connection) -> Result<Identity, Error> {
    let answer = replication.simple("IDENTIFY_SYSTEM").await?;
    let text = |column| answer.text(0, column).map(str::to_owned).ok_or_else(|| gap("IDENTIFY_SYSTEM"));
    Ok(Identity {
        system: text(0)?,
        timeline: text(1)?.parse().map_err(|_| gap("IDENTIFY_SYSTEM"))?,
        flushed: lsn(&text(2)?)?,
        database: text(3)?,
    })
}

/// Where `timeline` ended, when the server is on a later one.
pub(crate) async fn switched_at(
    replication: &mut Connection,
    timeline: u32,
    server: &Identity,
) -> Result<Option<Lsn>, Error> {
    if timeline == server.timeline {
        return Ok(None);
    }
    let answer = replication.simple(&format!("TIMELINE_HISTORY {}", server.timeline)).await?;
    Ok(answer.text(0, 1).and_then(|history| switch_of(history, timeline)))
}

/// Our row of `pg_replication_slots`.
pub(crate) async fn slot(sql: &mut Connection, name: &str) -> Result<Option<SlotRow>, Error> {
    let invalidation = if sql.version() >= 17 { "invalidation_reason" } else { "NULL::text" };
    let query = format!(
        "SELECT plugin, slot_type, database, active_pid::text, confirmed_flush_lsn::text, wal_status, {invalidation}, temporary \
         FROM pg_catalog.pg_replication_slots WHERE slot_name = $1"
    );
    let answer = sql.query(&query, &[Some(name)]).await?;
    if answer.len() == 0 {
        return Ok(None);
    }
    let text = |column| answer.text(0, column).map(str::to_owned);
    Ok(Some(SlotRow {
        plugin: text(0).unwrap_or_default(),
        kind: text(1).unwrap_or_default(),
        database: text(2).unwrap_or_default(),
        active_pid: text(3),
        confirmed: text(4).map(|text| lsn(&text)).transpose()?,
        wal_status: text(5).unwrap_or_default(),
        invalidation: text(6),
        is_temporary: text(7).as_deref() == Some("t"),
    }))
}

/// How much of the log a slot holds back.
pub(crate) async fn held_wal(sql: &mut Connection, slot: &str) -> Result<HeldWal, Error> {
    let answer = sql
        .query(
            "SELECT pg_catalog.pg_wal_lsn_diff(CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() \
             ELSE pg_catalog.pg_current_wal_lsn() END, restart_lsn)::text, safe_wal_size::text, wal_status \
             FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
            &[Some(slot)],
        )
        .await?;
    let number = |column| answer.text(0, column).and_then(|text| text.parse::<i64>().ok());
    Ok(HeldWal {
        bytes: number(0).map_or(0, |bytes| u64::try_from(bytes).unwrap_or_default()),
        left: number(1),
        status: answer.text(0, 2).unwrap_or_default().to_owned(),
    })
}

/// The publication of that name and what it has, if it is there.
pub(crate) async fn publication(sql: &mut Connection, name: &str) -> Result<Option<Publication>, Error> {
    let answer = sql
        .query(
            "SELECT pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot FROM pg_catalog.pg_publication \
             WHERE pubname = $1",
            &[Some(name)],
        )
        .await?;
    if answer.len() == 0 {
        return Ok(None);
    }
    let is = |column| answer.text(0, column) == Some("t");
    let listed = sql
        .query(
            "SELECT schemaname::text, tablename::text FROM pg_catalog.pg_publication_tables WHERE pubname = $1",
            &[Some(name)],
        )
        .await?;
    Ok(Some(Publication {
        has_insert: is(0),
        has_update: is(1),
        has_delete: is(2),
        has_truncate: is(3),
        is_via_root: is(4),
        tables: names(&listed),
    }))
}

/// Every table that could be published.
pub(crate) async fn tables(sql: &mut Connection) -> Result<Vec<TableRow>, Error> {
    let answer = sql
        .simple(
            "SELECT n.nspname::text, c.relname::text, c.relkind::text, c.relreplident::text, c.relispartition, \
             EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary) \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND n.nspname NOT LIKE 'pg\\_%' \
             AND n.nspname <> 'information_schema' ORDER BY 1, 2",
        )
        .await?;
    let row = |row| {
        let is = |column, what| answer.text(row, column) == Some(what);
        TableRow {
            name: TableName::new(
                answer.text(row, 0).unwrap_or_default(),
                answer.text(row, 1).unwrap_or_default(),
            ),
            is_partitioned: is(2, "p"),
            is_partition: is(4, "t"),
            has_identity: is(3, "f") || is(3, "i") || (is(3, "d") && is(5, "t")),
        }
    };
    Ok((0..answer.len()).map(row).collect())
}

/// The columns of a table's primary key, in the order of the key.
pub(crate) async fn primary_key(sql: &mut Connection, table: u32) -> Result<Vec<String>, Error> {
    index_columns(sql, &format!("{table}"), "i.indisprimary").await
}

/// The columns of the unique index that Debezium takes for the key of a table without a primary key: the first by name.
const FIRST_UNIQUE: &str = "i.indexrelid = (SELECT u.indexrelid FROM pg_catalog.pg_index u \
     JOIN pg_catalog.pg_class c ON c.oid = u.indexrelid WHERE u.indrelid = $1::oid AND u.indisunique AND u.indisvalid \
     AND u.indpred IS NULL AND u.indexprs IS NULL ORDER BY c.relname LIMIT 1)";

/// The columns of the key that Debezium gives the records of a table, in the order of the key.
pub(crate) async fn debezium_key(sql: &mut Connection, table: u32) -> Result<Vec<String>, Error> {
    let key = primary_key(sql, table).await?;
    if key.is_empty() { index_columns(sql, &format!("{table}"), FIRST_UNIQUE).await } else { Ok(key) }
}

/// What a snapshot must know of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableFacts {
    pub(crate) oid: String,
    /// The number of the file it lies in, another one after each rewrite; `None` for a partitioned one.
    pub(crate) file: Option<u32>,
    pub(crate) columns: Vec<String>,
    /// Empty without one.
    pub(crate) primary_key: Vec<String>,
    /// The columns of the record key, as the stream has them: the index of the replica identity, else the primary key.
    pub(crate) record_key: Vec<String>,
    /// The same with `envelope = "debezium"`.
    pub(crate) debezium_key: Vec<String>,
    pub(crate) is_partitioned: bool,
    /// The publication's row filter, as SQL.
    pub(crate) filter: Option<String>,
}

/// Through what a table is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sight<'a> {
    /// A publication: its column list, its row filter, and no generated columns, which the stream has not either.
    Published(&'a str),
    Whole,
}

/// Asks for the facts of `table`; `None` when there is no such table any more.
pub(crate) async fn table_facts(
    sql: &mut Connection,
    table: &TableName,
    sight: Sight<'_>,
) -> Result<Option<TableFacts>, Error> {
    let found = sql
        .query(
            "SELECT c.oid::text, c.relkind::text, c.relreplident::text, pg_catalog.pg_relation_filenode(c.oid)::text FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
            &[Some(&table.schema), Some(&table.table)],
        )
        .await?;
    let Some(oid) = found.text(0, 0) else { return Ok(None) };
    let attributes = sql
        .query(
            "SELECT attname::text FROM pg_catalog.pg_attribute WHERE attrelid = $1::oid AND attnum > 0 \
             AND NOT attisdropped AND (attgenerated = '' OR $2::bool) ORDER BY attnum",
            &[Some(oid), Some(if matches!(sight, Sight::Whole) { "t" } else { "f" })],
        )
        .await?;
    let mut facts = TableFacts {
        oid: oid.to_owned(),
        file: found.text(0, 3).and_then(|file| file.parse().ok()),
        columns: attributes.texts(0).map(str::to_owned).collect(),
        primary_key: index_columns(sql, oid, "i.indisprimary").await?,
        is_partitioned: found.text(0, 1) == Some("p"),
        ..TableFacts::default()
    };
    facts.record_key = match found.text(0, 2) {
        Some("i") => index_columns(sql, oid, "i.indisreplident").await?,
        _ => facts.primary_key.clone(),
    };
    facts.debezium_key = match facts.record_key.is_empty() {
        true => index_columns(sql, oid, FIRST_UNIQUE).await?,
        false => facts.record_key.clone(),
    };
    if let Sight::Published(publication) = sight {
        narrow(sql, table, publication, &mut facts).await?;
    }
    Ok(Some(facts))
}

/// Column lists and row filters of the publication count for the snapshot too (15 and newer).
async fn narrow(
    sql: &mut Connection,
    table: &TableName,
    publication: &str,
    facts: &mut TableFacts,
) -> Result<(), Error> {
    if sql.version() < 15 {
        return Ok(());
    }
    let answer = sql
        .query(
            "SELECT array_to_json(attnames)::text, rowfilter FROM pg_catalog.pg_publication_tables \
             WHERE pubname = $1 AND schemaname = $2 AND tablename = $3",
            &[Some(publication), Some(&table.schema), Some(&table.table)],
        )
        .await?;
    if let Some(names) = answer.text(0, 0) {
        let names: Vec<String> = serde_json::from_str(names).map_err(|_| gap("pg_publication_tables"))?;
        facts.columns.retain(|column| names.contains(column));
    }
    facts.filter = answer.text(0, 1).map(str::to_owned);
    Ok(())
}

async fn index_columns(sql: &mut Connection, table: &str, which: &str) -> Result<Vec<String>, Error> {
    let query = format!(
        "SELECT a.attname::text FROM pg_catalog.pg_index i \
         CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, place) \
         JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number \
         WHERE i.indrelid = $1::oid AND {which} AND k.place <= i.indnkeyatts ORDER BY k.place"
    );
    let answer = sql.query(&query, &[Some(table)]).await?;
    Ok(answer.texts(0).map(str::to_owned).collect())
}

/// The types the database has of its own.
pub(crate) async fn types(sql: &mut Connection) -> Result<Catalog, Error> {
    let answer = sql.simple(Catalog::SQL).await?;
    let row = |row| -> Option<TypeRow> {
        Some(TypeRow {
            oid: answer.text(row, 0)?.parse().ok()?,
            name: answer.text(row, 1)?.to_owned(),
            element: answer.text(row, 2)?.parse().ok()?,
            delimiter: *answer.text(row, 3)?.as_bytes().first()?,
            base: answer.text(row, 4)?.parse().ok()?,
            modifier: answer.text(row, 5)?.parse().ok()?,
        })
    };
    let rows: Option<Vec<TypeRow>> = (0..answer.len()).map(row).collect();
    rows.map(|rows| Catalog::from_rows(&rows)).ok_or_else(|| gap("pg_type"))
}

fn names(table: &Table) -> Vec<TableName> {
    let name = |row| Some(TableName::new(table.text(row, 0)?, table.text(row, 1)?));
    (0..table.len()).filter_map(name).collect()
}

fn lsn(text: &str) -> Result<Lsn, Error> {
    text.parse().map_err(|error: crate::lsn::NoLsn| Error::Protocol(error.to_string()))
}

fn gap(what: &str) -> Error {
    Error::Protocol(format!("an answer to {what} without what it should have"))
}
