//! What is asked for a person's sake: before a slot is dropped, and when somebody wants to know what is wrong.

use super::{gap, lsn};
use crate::client::{Connection, Purpose};
use crate::config::CdcBackend;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::settings::Settings;
use crate::slot::{Identity, switch_of};
use crate::slot_drop::Facts;

/// The end of the log, on a standby of what it has of it.
const END: &str = "CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() \
                   ELSE pg_catalog.pg_current_wal_flush_lsn() END";

/// Up to where the log is written.
pub(crate) async fn end_of_log(sql: &mut Connection) -> Result<Lsn, Error> {
    let answer = sql.simple(&format!("SELECT {END}")).await?;
    answer.text(0, 0).map(lsn).unwrap_or_else(|| Err(gap("the end of the log")))
}

/// What `IDENTIFY_SYSTEM` says, for roles and servers that give no replication connection.
pub(crate) async fn identify_by_sql(sql: &mut Connection) -> Result<Identity, Error> {
    let answer = sql
        .simple(
            "SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system())::text, CASE WHEN pg_catalog.pg_is_in_recovery() \
             THEN (SELECT timeline_id FROM pg_catalog.pg_control_checkpoint()) ELSE \
             ('x' || substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::int END::text, \
             current_database()",
        )
        .await?;
    let text = |column| answer.text(0, column).map(str::to_owned).ok_or_else(|| gap("who the server is"));
    Ok(Identity {
        system: text(0)?,
        timeline: text(1)?.parse().map_err(|_| gap("the timeline"))?,
        flushed: end_of_log(sql).await?,
        database: text(2)?,
    })
}

/// Asks the server who it is, over a replication connection unless the source peeks: that connection, the answer, and where the
/// timeline of the saved state ended, if the server is on a later one.
pub(crate) async fn met(
    sql: &mut Connection,
    settings: &Settings,
    timeline: Option<u32>,
) -> Result<(Option<Connection>, Identity, Option<Lsn>), Error> {
    let Settings { target, backend, .. } = settings;
    match backend {
        CdcBackend::Stream => {
            let explained = |error| super::explained(error, &target.user);
            let mut replication = Connection::open(target, Purpose::Replication).await.map_err(explained)?;
            let server = super::identify(&mut replication).await.map_err(explained)?;
            let timeline = timeline.unwrap_or(server.timeline);
            let switched_at = super::switched_at(&mut replication, timeline, &server).await?;
            Ok((Some(replication), server, switched_at))
        }
        CdcBackend::Peek => {
            let server = identify_by_sql(sql).await?;
            let switched_at = match timeline {
                Some(timeline) if timeline != server.timeline => history(sql, timeline, &server).await,
                Some(_) | None => None,
            };
            Ok((None, server, switched_at))
        }
    }
}

/// From the history in the server's folder, which not every role may read: then nobody knows where the timeline ended.
async fn history(sql: &mut Connection, timeline: u32, server: &Identity) -> Option<Lsn> {
    let file = format!("pg_wal/{:08X}.history", server.timeline);
    let answer = sql.query("SELECT pg_catalog.pg_read_file($1)", &[Some(&file)]).await.ok()?;
    switch_of(answer.text(0, 0)?, timeline)
}

/// How the connection of process `pid` is named.
pub(crate) async fn reader_of(sql: &mut Connection, pid: &str) -> Result<Option<String>, Error> {
    let answer = sql
        .query("SELECT application_name FROM pg_catalog.pg_stat_activity WHERE pid = $1::int4", &[Some(pid)])
        .await?;
    Ok(answer.text(0, 0).map(str::to_owned).filter(|name| !name.is_empty()))
}

/// Everything that dropping the slot rests on.
pub(crate) async fn drop_facts(sql: &mut Connection, settings: &Settings) -> Result<Facts, Error> {
    let name = settings.slot.as_str();
    let identity = identify_by_sql(sql).await?;
    let slot = super::slot(sql, name).await?;
    let reader = match slot.as_ref().and_then(|slot| slot.active_pid.as_deref()) {
        Some(pid) => reader_of(sql, pid).await?,
        None => None,
    };
    let query = format!(
        "SELECT pg_catalog.pg_wal_lsn_diff({END}, s.restart_lsn)::text, \
         pg_catalog.pg_wal_lsn_diff(LEAST({END}, (SELECT min(o.restart_lsn) FROM pg_catalog.pg_replication_slots o \
         WHERE o.slot_name <> s.slot_name)), s.restart_lsn)::text, \
         pg_catalog.pg_wal_lsn_diff({END}, s.confirmed_flush_lsn)::text \
         FROM pg_catalog.pg_replication_slots s WHERE s.slot_name = $1"
    );
    let sizes = sql.query(&query, &[Some(name)]).await?;
    let bytes = |column| {
        let number = sizes.text(0, column).and_then(|text| text.parse::<i64>().ok()).unwrap_or_default();
        u64::try_from(number).unwrap_or_default()
    };
    let others = sql
        .query(
            "SELECT slot_name::text FROM pg_catalog.pg_replication_slots WHERE plugin = 'pgoutput' \
             AND database = current_database() AND slot_name <> $1 ORDER BY 1",
            &[Some(name)],
        )
        .await?;
    Ok(Facts {
        slot,
        reader,
        held_bytes: bytes(0),
        freed_bytes: bytes(1),
        unread_bytes: bytes(2),
        has_publication: super::publication(sql, &settings.publication).await?.is_some(),
        others: others.texts(0).map(str::to_owned).collect(),
        system: identity.system,
        database: identity.database,
    })
}
