//! `doctor`: every look at the server that can be taken, each with what to run where it failed. Changes nothing, and goes on after
//! a failure: a person wants all of them at once.

use std::time::Duration;

use picomq_connector_sdk::doctor::{self, Grade, Look};
use picomq_connector_sdk::{CheckStatus, Error as SourceError};
use serde_json::Value;
use tokio::time::timeout;

use crate::client::{Connection, Purpose};
use crate::config::{CdcBackend, Mode};
use crate::error::Error;
use crate::lsn::Lsn;
use crate::publication::{self, TableRow};
use crate::quote::{self, TableName};
use crate::server;
use crate::settings::Settings;
use crate::slot::{self, SlotRow};
use crate::slot_drop::size;
use crate::state::Saved;
use crate::stopped::Stopped;

/// For all looks together.
const PATIENCE: Duration = Duration::from_secs(40);

/// A text of ours, which ends with what to run.
fn of_text(name: &'static str, status: Grade, text: &str) -> Look {
    let look = Look { status, ..Look::ok(name, text) };
    match text.split_once("; run: ").or_else(|| text.split_once(" run: ")) {
        Some((detail, sql)) => Look { detail: detail.to_owned(), ..look }.advice(sql),
        None => look,
    }
}

fn of_error(name: &'static str, error: Error) -> Look {
    let advice = match (&error, error.code()) {
        (_, Some("28P01")) => Some("mend user and password in connection_string"),
        (_, Some("28000")) => Some("let pg_hba.conf admit this role to its database from here"),
        (_, Some("3D000")) => Some("mend the database in connection_string"),
        (_, Some("53300")) => {
            Some("raise max_connections, or end connections: SELECT * FROM pg_stat_activity;")
        }
        (Error::Connect { .. }, _) => {
            Some("is the server up, and are host and port of connection_string right?")
        }
        (_, _) => None,
    };
    let look = of_text(name, Grade::Error, &SourceError::from(error).chain());
    Look { advice: look.advice.clone().or(advice.map(str::to_owned)), ..look }
}

/// Looks everywhere.
pub(crate) async fn run(stopped: &Stopped) -> Value {
    let mut looks = Vec::new();
    if timeout(PATIENCE, look(stopped, &mut looks)).await.is_err() {
        let seconds = PATIENCE.as_secs();
        looks.push(Look::error("server", format!("it did not answer everything within {seconds} s")));
    }
    doctor::answer(&looks)
}

async fn look(stopped: &Stopped, looks: &mut Vec<Look>) {
    let mut sql = match Connection::open(&stopped.settings.target, Purpose::Sql).await {
        Ok(sql) => sql,
        Err(error) => return looks.push(of_error("connection", error)),
    };
    looks
        .push(Look::ok("connection", format!("PostgreSQL {}, {:?}", sql.version(), stopped.settings.target)));
    let looked = match stopped.mode {
        Mode::Cdc => cdc(stopped, &mut sql, looks).await,
        Mode::Polling => polling(&stopped.settings, &mut sql, looks).await,
    };
    if let Err(error) = looked {
        looks.push(of_error("server", error));
    }
    sql.close().await;
}

async fn cdc(stopped: &Stopped, sql: &mut Connection, looks: &mut Vec<Look>) -> Result<(), Error> {
    let settings = &stopped.settings;
    match server::check_wal_level(sql).await {
        Ok(()) => looks.push(Look::ok("wal_level", "logical")),
        Err(error) => looks.push(of_error("wal_level", error)),
    }
    looks.push(role(sql, &settings.target.user).await?);
    let slot = server::slot(sql, &settings.slot).await?;
    looks.extend(room(sql, slot.is_some(), settings.backend).await?);
    looks.push(slot_look(stopped, sql, slot.as_ref()).await);
    if let Some(slot) = &slot {
        looks.push(lag(sql, settings, slot).await?);
    }
    published(settings, sql, looks).await
}

async fn role(sql: &mut Connection, user: &str) -> Result<Look, Error> {
    let answer = sql
        .simple(
            "SELECT rolsuper OR rolreplication OR EXISTS (SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = 'rds_replication' \
             AND pg_catalog.pg_has_role(current_user, oid, 'member')) FROM pg_catalog.pg_roles WHERE rolname = current_user",
        )
        .await?;
    let name = quote::identifier(user);
    Ok(if answer.text(0, 0) == Some("t") {
        Look::ok("replication_role", format!("{name} may replicate"))
    } else {
        Look::error(
            "replication_role",
            format!("{name} may not replicate, so it can neither make nor read a slot"),
        )
        .advice(format!("ALTER ROLE {name} REPLICATION; (on RDS: GRANT rds_replication TO {name};)"))
    })
}

/// Whether there is a place left for our slot and our connection.
async fn room(sql: &mut Connection, has_slot: bool, backend: CdcBackend) -> Result<Vec<Look>, Error> {
    let answer = sql
        .simple(
            "SELECT (SELECT count(*) FROM pg_catalog.pg_replication_slots)::text, current_setting('max_replication_slots'), \
             (SELECT count(*) FROM pg_catalog.pg_stat_replication)::text, current_setting('max_wal_senders')",
        )
        .await?;
    let number =
        |column| answer.text(0, column).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    let mut looks = Vec::new();
    let mut full = |name, (used, max), setting: &str, what: &str| {
        if used >= max {
            looks.push(
                Look::error(name, format!("all {max} {what} are taken"))
                    .advice(format!("ALTER SYSTEM SET {setting} = {}; and restart PostgreSQL", max + 10)),
            );
        }
    };
    if !has_slot {
        full("replication_slots", (number(0), number(1)), "max_replication_slots", "replication slots");
    }
    if backend == CdcBackend::Stream {
        full("wal_senders", (number(2), number(3)), "max_wal_senders", "places for replication connections");
    }
    Ok(looks)
}

/// The slot against the saved state, as an opening would judge them.
async fn slot_look(stopped: &Stopped, sql: &mut Connection, slot: Option<&SlotRow>) -> Look {
    let judged = judged(stopped, sql, slot).await;
    let name = &stopped.settings.slot;
    match (judged, slot) {
        (Err(error), _) => of_error("slot", error),
        (Ok(_), None) => Look::ok("slot", format!("`{name}` is not there yet and will be made")),
        (Ok(_), Some(slot)) => in_use(stopped, sql, slot).await,
    }
}

async fn judged(
    stopped: &Stopped,
    sql: &mut Connection,
    slot: Option<&SlotRow>,
) -> Result<slot::Start, Error> {
    let Stopped { settings, saved, .. } = stopped;
    let state = match saved {
        Saved::Cdc(state) => Some(state),
        Saved::Fresh | Saved::Debezium(_) | Saved::Polling(_) => None,
    };
    let timeline = state.map(|state| state.timeline);
    let (server, switched_at) = match server::met(sql, settings, timeline).await {
        Ok((replication, server, switched_at)) => {
            if let Some(replication) = replication {
                replication.close().await;
            }
            (server, switched_at)
        }
        // Told by the look at the role; what can be said of the slot is said all the same.
        Err(error) if error.to_string().starts_with("postgres.replication_role") => {
            (server::identify_by_sql(sql).await?, None)
        }
        Err(error) => return Err(error),
    };
    match saved {
        Saved::Debezium(taken) => taken.judge(slot, settings, &server),
        Saved::Fresh | Saved::Cdc(_) | Saved::Polling(_) => {
            slot::judge(slot, state, settings, &server, switched_at)
        }
    }
}

/// A slot has one reader: another one than us is worth knowing.
async fn in_use(stopped: &Stopped, sql: &mut Connection, slot: &SlotRow) -> Look {
    let Settings { slot: name, target, .. } = &stopped.settings;
    let Some(pid) = &slot.active_pid else {
        return Look::ok("slot", format!("`{name}` is there, and nobody reads it"));
    };
    let reader = server::reader_of(sql, pid).await.ok().flatten().unwrap_or_default();
    if Some(&reader) == target.application_name.as_ref() {
        return Look::ok("slot", format!("`{name}` is read by this source (process {pid})"));
    }
    Look::warning(
        "slot",
        format!("`{name}` is in use by process {pid} (\"{reader}\"), and has room for one reader"),
    )
    .advice(format!("end that reader, or, if its connection is broken: SELECT pg_terminate_backend({pid});"))
}

/// How much of the log the slot holds, against `max_retained_wal` and the server's own limit.
async fn lag(sql: &mut Connection, settings: &Settings, slot: &SlotRow) -> Result<Look, Error> {
    let held = server::held_wal(sql, &settings.slot).await?;
    let check = held.check(&settings.slot, settings.max_retained_wal);
    let end = server::end_of_log(sql).await?;
    let unread = end.0.saturating_sub(slot.confirmed.unwrap_or(Lsn(end.0)).0);
    let (detail, advice) = match check.advice.split_once("; ") {
        Some((detail, advice)) => (detail.to_owned(), Some(advice.to_owned())),
        None => (check.advice, None),
    };
    let status = match check.status {
        CheckStatus::Ok => Grade::Ok,
        CheckStatus::Warn => Grade::Warning,
        CheckStatus::Fail => Grade::Error,
    };
    let detail = format!("{detail}; {} were written since what is confirmed", size(unread));
    Ok(Look { status, advice, ..Look::ok("slot_wal", detail) })
}

/// Publication, replica identities, and the right to read the tables for the snapshot.
async fn published(settings: &Settings, sql: &mut Connection, looks: &mut Vec<Look>) -> Result<(), Error> {
    let published = server::publication(sql, &settings.publication).await?;
    let all = server::tables(sql).await?;
    let plan = match publication::plan(published.as_ref(), &all, settings) {
        Ok(plan) => plan,
        Err(error) => {
            looks.push(of_error("publication", error));
            return Ok(());
        }
    };
    let name = &settings.publication;
    looks.push(match &plan.sql {
        None => Look::ok("publication", format!("`{name}` has all it should")),
        Some(statement) => {
            let may = may_publish(sql, settings, &plan.tables).await?;
            let what = if published.is_some() { "lacks tables" } else { "is not there" };
            if may {
                Look::ok("publication", format!("`{name}` {what}, and the source mends that when it starts"))
            } else {
                Look::error("publication", format!("`{name}` {what}, and this role may not mend that"))
                    .advice(format!("as owner of the tables, or superuser: {statement};"))
            }
        }
    });
    looks.extend(plan.warnings.iter().map(|text| of_text("publication", Grade::Warning, text)));
    if settings.snapshot.reads() {
        looks.push(readable(sql, &plan.tables, "SELECT").await?);
    }
    Ok(())
}

async fn may_publish(sql: &mut Connection, settings: &Settings, tables: &[TableName]) -> Result<bool, Error> {
    let answer = sql
        .simple(
            "SELECT rolsuper, pg_catalog.has_database_privilege(current_database(), 'CREATE') FROM pg_catalog.pg_roles \
             WHERE rolname = current_user",
        )
        .await?;
    if answer.text(0, 0) == Some("t") {
        return Ok(true);
    }
    if settings.tables.is_all() || answer.text(0, 1) != Some("t") {
        return Ok(false);
    }
    for table in tables {
        let owned = sql
            .query(
                "SELECT pg_catalog.pg_has_role(current_user, relowner, 'USAGE') FROM pg_catalog.pg_class WHERE oid = $1::regclass",
                &[Some(&table.quoted())],
            )
            .await?;
        if owned.text(0, 0) != Some("t") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the role may do `right` with each of the tables.
async fn readable(sql: &mut Connection, tables: &[TableName], right: &str) -> Result<Look, Error> {
    // One column is marked, so the right to it may have been granted alone.
    let has = if right == "UPDATE" { "has_any_column_privilege" } else { "has_table_privilege" };
    let question = format!(
        "SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE'), pg_catalog.{has}(c.oid, $3) FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2"
    );
    let (mut refused, mut schemas) = (Vec::new(), Vec::new());
    for table in tables {
        let parameters = [Some(table.schema.as_str()), Some(table.table.as_str()), Some(right)];
        let answer = sql.query(&question, &parameters).await?;
        if answer.text(0, 0) == Some("f") && !schemas.contains(&table.schema) {
            schemas.push(table.schema.clone());
        }
        if answer.text(0, 1) == Some("f") {
            refused.push(table.quoted());
        }
    }
    let user = sql.simple("SELECT quote_ident(current_user)").await?;
    let user = user.text(0, 0).unwrap_or_default();
    if refused.is_empty() && schemas.is_empty() {
        return Ok(Look::ok("rights", format!("{right} on {} tables", tables.len())));
    }
    let mut grants: Vec<String> = schemas
        .iter()
        .map(|schema| format!("GRANT USAGE ON SCHEMA {} TO {user};", quote::identifier(schema)))
        .collect();
    if !refused.is_empty() {
        grants.push(format!("GRANT {right} ON {} TO {user};", refused.join(", ")));
    }
    let detail = format!("{user} lacks {right} on {} of {} tables", refused.len().max(1), tables.len());
    Ok(Look::error("rights", detail).advice(grants.join(" ")))
}

async fn polling(settings: &Settings, sql: &mut Connection, looks: &mut Vec<Look>) -> Result<(), Error> {
    let all: Vec<TableRow> = server::tables(sql).await?;
    let mut tables = Vec::new();
    for table in publication::named(&all, settings) {
        match server::table_facts(sql, &table, server::Sight::Whole).await? {
            Some(_) => tables.push(table),
            None => {
                looks.push(Look::error("tables", format!("there is no table {table}")).advice(
                    "names are taken exactly as written, capitals too; without a schema it is `public`",
                ))
            }
        }
    }
    looks.push(readable(sql, &tables, "SELECT").await?);
    if let Some(right) = settings.polling.cleanup_right() {
        looks.push(readable(sql, &tables, right).await?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_ours_is_cut_before_what_to_run() {
        let look = of_text("slot", Grade::Error, "it is gone; run: SELECT 1;");
        assert_eq!((look.detail.as_str(), look.advice.as_deref()), ("it is gone", Some("SELECT 1;")));
        let look = of_text("slot", Grade::Error, "it is gone");
        assert_eq!((look.detail.as_str(), look.advice), ("it is gone", None));
    }

    #[test]
    fn sizes_are_written_for_people() {
        let sizes = [0, 1023, 1024, 10 << 10, 5 << 20, 3 << 40, 4_000 << 40];
        let texts = sizes.map(size);
        assert_eq!(texts, ["0 bytes", "1023 bytes", "1.0 kB", "10 kB", "5.0 MB", "3.0 TB", "4000 TB"]);
    }
}
