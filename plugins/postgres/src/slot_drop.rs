//! `slot drop`: gives up what the source holds upstream. What would be lost is said first, by a pure function; what is not ours
//! is refused.

use picomq_connector_sdk::{Error as SourceError, Mode as Purpose};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::{Connection, Purpose as Use};
use crate::config::Mode;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::quote;
use crate::server;
use crate::slot::{self, SlotRow};
use crate::state::Saved;
use crate::stopped::Stopped;

/// What may be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wish {
    /// Also a slot that no state says is ours.
    foreign: bool,
    /// The publication too.
    publication: bool,
}

/// What the server says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) slot: Option<SlotRow>,
    /// Who reads it, as the server names connections.
    pub(crate) reader: Option<String>,
    /// From where the slot must be able to begin again to the end of the log.
    pub(crate) held_bytes: u64,
    /// As much of it as no other slot holds too.
    pub(crate) freed_bytes: u64,
    /// From what was confirmed to the end of the log.
    pub(crate) unread_bytes: u64,
    pub(crate) has_publication: bool,
    /// Other slots of this database that the publication may be read with.
    pub(crate) others: Vec<String>,
    /// `system_identifier` of the server.
    pub(crate) system: String,
    pub(crate) database: String,
}

/// What is to be done and what it costs; the answer of the command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Plan {
    slot: String,
    /// To be run in this order; none when there is nothing to do.
    statements: Vec<String>,
    /// Why it is not done.
    refused: Option<String>,
    /// What is lost or freed, for people.
    means: Vec<String>,
    held_bytes: u64,
    freed_bytes: u64,
    unread_bytes: u64,
    is_done: bool,
}

/// Looks, and unless it was only asked to look, drops.
pub(crate) async fn run(stopped: &Stopped, purpose: Purpose, wish: Value) -> Result<Value, SourceError> {
    let wish = if wish.is_null() { Value::Object(serde_json::Map::new()) } else { wish };
    let wish: Wish = serde_json::from_value(wish).map_err(|error| {
        SourceError::config("slot_drop takes `foreign` and `publication`, true or false").with_cause(error)
    })?;
    if stopped.mode == Mode::Polling {
        return Err(SourceError::config("mode = \"polling\" has no slot"));
    }
    let target = &stopped.settings.target;
    let mut sql = Connection::open(target, Use::Sql).await?;
    let facts = server::drop_facts(&mut sql, &stopped.settings).await?;
    let mut plan = plan(stopped, wish, &facts);
    if purpose == Purpose::Run {
        if let Some(why) = plan.refused {
            return Err(SourceError::permanent(why));
        }
        carry_out(&mut sql, &plan.statements, &target.user).await?;
        plan.is_done = true;
    }
    sql.close().await;
    Ok(serde_json::to_value(plan).expect("plain data is JSON"))
}

/// Runs the statements; an error says what was done before it.
async fn carry_out(sql: &mut Connection, statements: &[String], user: &str) -> Result<(), Error> {
    for (number, statement) in statements.iter().enumerate() {
        let Err(error) = sql.simple(statement).await else {
            tracing::warn!(statement, "a person gave this up");
            continue;
        };
        let error = match error.code() {
            Some("42501") if number == 0 => server::explained(error, user),
            Some(_) | None => error,
        };
        let done =
            if number == 0 { "nothing was dropped" } else { "the slot is dropped, the publication is not" };
        return Err(Error::Refused(format!("{error} ({done}; this failed: {statement})")));
    }
    Ok(())
}

fn plan(stopped: &Stopped, wish: Wish, facts: &Facts) -> Plan {
    let name = &stopped.settings.slot;
    let mut plan = Plan { slot: name.clone(), ..Plan::default() };
    match &facts.slot {
        None => plan.means.push(format!("there is no slot `{name}`")),
        Some(slot) => {
            plan.refused = refusal(slot, stopped, wish, facts);
            plan.statements.push(slot::drop_sql(name));
            plan.held_bytes = facts.held_bytes;
            plan.freed_bytes = facts.freed_bytes;
            plan.unread_bytes = facts.unread_bytes;
            plan.means = losses(slot, stopped, facts);
        }
    }
    if wish.publication {
        add_publication(&mut plan, stopped, wish, facts);
    }
    plan
}

fn add_publication(plan: &mut Plan, stopped: &Stopped, wish: Wish, facts: &Facts) {
    let publication = &stopped.settings.publication;
    if !facts.has_publication {
        plan.means.push(format!("there is no publication `{publication}`"));
        return;
    }
    plan.statements.push(format!("DROP PUBLICATION {};", quote::identifier(publication)));
    if !facts.others.is_empty() {
        plan.means.push(format!(
            "other slots of this database may be read with the publication `{publication}`, and stop without it: {}",
            facts.others.join(", ")
        ));
    }
    if !stopped.settings.is_publication_ours && !wish.foreign {
        plan.refused.get_or_insert_with(|| {
            format!(
                "create_publication = false: the publication `{publication}` is somebody else's; leave it, or drop it all the \
                 same with --foreign"
            )
        });
    }
}

/// Why this slot is not dropped.
fn refusal(slot: &SlotRow, stopped: &Stopped, wish: Wish, facts: &Facts) -> Option<String> {
    let name = &stopped.settings.slot;
    if let Some(pid) = &slot.active_pid {
        let reader = facts.reader.as_ref().map(|reader| format!(" (\"{reader}\")")).unwrap_or_default();
        return Some(format!(
            "postgres.slot_active: process {pid}{reader} reads the slot `{name}`; end whoever that is, or, if it is a connection that \
             broke, run: SELECT pg_terminate_backend({pid});"
        ));
    }
    if wish.foreign {
        return None;
    }
    let ours = match &stopped.saved {
        Saved::Cdc(state) => Some(state),
        Saved::Fresh | Saved::Debezium(_) | Saved::Polling(_) => None,
    };
    let is_ours = ours.is_some_and(|state| {
        state.slot == *name && state.system == facts.system && state.database == slot.database
    });
    let is_readable = slot.kind == "logical" && slot.plugin == "pgoutput" && slot.database == facts.database;
    if is_ours && is_readable {
        return None;
    }
    let what = match (slot.kind.as_str(), slot.plugin.as_str()) {
        ("logical", plugin) => format!("plugin `{plugin}`, database `{}`", slot.database),
        (kind, _) => format!("{kind} replication"),
    };
    Some(format!(
        "postgres.slot_foreign: no saved state of this source says that the slot `{name}` ({what}) is its own, so it may be \
         somebody else's; if nobody needs it any more, drop it all the same with --foreign"
    ))
}

/// What dropping costs, and what it gives.
fn losses(slot: &SlotRow, stopped: &Stopped, facts: &Facts) -> Vec<String> {
    let Stopped { key, saved, .. } = stopped;
    let confirmed = slot.confirmed.unwrap_or(Lsn(0));
    let mut said = vec![
        format!(
            "what was committed after {confirmed} and not read by then never comes from this slot: up to {} of the log",
            size(facts.unread_bytes)
        ),
        format!(
            "the slot holds {} of the log, of which the server may free {}",
            size(facts.held_bytes),
            size(facts.freed_bytes)
        ),
    ];
    match saved {
        Saved::Cdc(_) => said.push(format!(
            "the saved state of {key} is worthless afterwards: forget it with `pico-connectors state reset {key}`, and the source \
             begins anew with a slot, and a snapshot if snapshot_mode says so"
        )),
        Saved::Fresh | Saved::Debezium(_) | Saved::Polling(_) => {}
    }
    said
}

/// For people: `512 kB`, `3.1 GB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value < 10.0 { format!("{value:.1} {}", UNITS[unit]) } else { format!("{value:.0} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests;
