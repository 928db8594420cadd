//! The slot and the saved state, held against each other. Pure; every disagreement is an error with the way out, never a gap.

use crate::config::SnapshotMode;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::quote;
use crate::settings::Settings;
use crate::state::{CdcState, Phase};

/// One row of `pg_replication_slots`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlotRow {
    pub(crate) plugin: String,
    pub(crate) kind: String,
    pub(crate) database: String,
    pub(crate) active_pid: Option<String>,
    /// Not there while the slot is being made.
    pub(crate) confirmed: Option<Lsn>,
    pub(crate) wal_status: String,
    pub(crate) invalidation: Option<String>,
    pub(crate) is_temporary: bool,
}

impl SlotRow {
    /// Whether the server has thrown away what the slot was to hold.
    fn is_lost(&self) -> bool {
        self.wal_status == "lost" || self.invalidation.is_some()
    }
}

/// Who the server says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) system: String,
    pub(crate) timeline: u32,
    pub(crate) flushed: Lsn,
    pub(crate) database: String,
}

/// What is to be done first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Save that we will make the slot.
    Intend,
    /// Make it.
    Create,
    /// It was made and the state not saved: it is ours, from here.
    Found(Lsn),
    /// It is somebody else's and given to us, from here.
    Adopt(Lsn),
    /// Go on.
    Resume,
    /// What follows the saved position is gone, and the definition asks for a new snapshot then: make the slot anew.
    Again,
}

/// Decides. `switched_at` is where the state's timeline ended, when the server is on a later one.
///
/// # Errors
/// Anything that would lose changes or take somebody else's.
pub(crate) fn judge(
    slot: Option<&SlotRow>,
    state: Option<&CdcState>,
    settings: &Settings,
    server: &Identity,
    switched_at: Option<Lsn>,
) -> Result<Start, Error> {
    if settings.snapshot == SnapshotMode::InitialOnly {
        return judge_snapshot(state, settings, server, switched_at);
    }
    if state.is_some_and(|state| state.phase == Phase::Done) {
        return Err(other_kind("initial_only, which was done", "another"));
    }
    let name = &settings.slot;
    let may_begin_again = settings.snapshot == SnapshotMode::WhenNeeded;
    if let (Some(state), true) = (state, may_begin_again && slot.is_some_and(SlotRow::is_lost)) {
        same_server(state, settings, server, switched_at)?;
        return Ok(Start::Again);
    }
    if let Some(slot) = slot {
        usable(slot, settings, server)?;
    }
    let Some(state) = state else { return first_time(slot, settings) };
    same_server(state, settings, server, switched_at)?;
    match (slot, state.confirmed()) {
        (None, None) if settings.is_slot_ours => Ok(Start::Create),
        (None, None) => Err(missing_by_hand(settings)),
        (Some(slot), None) => confirmed(slot, name).map(Start::Found),
        (None, Some(_)) if may_begin_again => Ok(Start::Again),
        (None, Some(saved)) => Err(Error::Refused(format!(
            "postgres.slot_missing: the replication slot `{name}` is gone, so the server no longer keeps what happened after {saved}: \
             changes may be lost; to begin anew, stop this source and delete its state, or set snapshot_mode = \"when_needed\""
        ))),
        (Some(slot), Some(saved)) => {
            let confirmed = confirmed(slot, name)?;
            if confirmed > saved {
                return Err(Error::Refused(format!(
                    "postgres.slot_moved: the slot `{name}` stands at {confirmed}, this source saved {saved}: somebody else \
                     advanced or made the slot anew, or the saved state is an old one, and the changes between are lost; to \
                     begin anew, stop this source, delete its state and run: {}",
                    drop_sql(name)
                )));
            }
            Ok(Start::Resume)
        }
    }
}

/// For a source that reads the tables and no more: its slot is a temporary one, for the snapshot's sake.
fn judge_snapshot(
    state: Option<&CdcState>,
    settings: &Settings,
    server: &Identity,
    switched_at: Option<Lsn>,
) -> Result<Start, Error> {
    let Some(state) = state else { return Ok(Start::Intend) };
    same_server(state, settings, server, switched_at)?;
    match state.phase {
        Phase::Intended => Ok(Start::Create),
        Phase::Snapshot { .. } | Phase::Done => Ok(Start::Resume),
        Phase::Stream(_) => Err(other_kind("a source that streams", "initial_only")),
    }
}

fn other_kind(saved: &str, wanted: &str) -> Error {
    Error::Refused(format!(
        "postgres.snapshot_mode: the saved state is of {saved}, the definition says {wanted}; set snapshot_mode back, or stop this \
         source and delete its state to begin anew"
    ))
}

/// Refuses a slot that cannot be read by us.
pub(crate) fn usable(slot: &SlotRow, settings: &Settings, server: &Identity) -> Result<(), Error> {
    let name = &settings.slot;
    if slot.kind != "logical" || slot.plugin != "pgoutput" {
        let what = if slot.kind == "logical" { slot.plugin.as_str() } else { slot.kind.as_str() };
        return Err(Error::Refused(format!(
            "postgres.slot_plugin: the slot `{name}` is of kind `{what}`, this source reads pgoutput only; set another slot_name, or, if \
             nobody needs it any more, run: {}",
            drop_sql(name)
        )));
    }
    if slot.database != server.database {
        return Err(Error::Refused(format!(
            "postgres.slot_database: the slot `{name}` belongs to the database `{}`, connection_string names `{}`; set another \
             slot_name",
            slot.database, server.database
        )));
    }
    if slot.is_lost() {
        let why = slot.invalidation.as_deref().unwrap_or("max_slot_wal_keep_size was exceeded");
        return Err(Error::Refused(format!(
            "postgres.slot_lost: the server gave up the slot `{name}` ({why}); what happened since is lost; to begin \
             anew, stop this source, delete its state and run: {} (or set snapshot_mode = \"when_needed\")",
            drop_sql(name)
        )));
    }
    if slot.is_temporary {
        return Err(Error::Refused(format!(
            "postgres.slot_temporary: the slot `{name}` is temporary: it belongs to a session, or to a standby that was not \
             ready when it was promoted; set another slot_name"
        )));
    }
    Ok(())
}

fn first_time(slot: Option<&SlotRow>, settings: &Settings) -> Result<Start, Error> {
    let name = &settings.slot;
    match slot {
        None if settings.is_slot_ours => Ok(Start::Intend),
        None => Err(missing_by_hand(settings)),
        Some(slot) if settings.adopts_slot => {
            let confirmed = confirmed(slot, name)?;
            let start = settings.start.unwrap_or(confirmed);
            if start < confirmed {
                return Err(Error::Refused(format!(
                    "start_lsn = \"{start}\" lies before {confirmed}, from where the slot `{name}` can be read; leave it out"
                )));
            }
            Ok(Start::Adopt(start))
        }
        Some(_) => Err(Error::Refused(format!(
            "postgres.slot_foreign: a slot `{name}` exists, and this source has no state that says it is its own; set \
             another slot_name, take it over with adopt_slot = true, or, if nobody needs it any more, run: {}",
            drop_sql(name)
        ))),
    }
}

fn same_server(
    state: &CdcState,
    settings: &Settings,
    server: &Identity,
    switched_at: Option<Lsn>,
) -> Result<(), Error> {
    let saved = state.confirmed().unwrap_or_default();
    if state.system != server.system || state.database != server.database {
        return Err(Error::Refused(format!(
            "postgres.other_server: the saved state is of database `{}` on system {}, connection_string leads to `{}` on system \
             {}; a position means nothing there; name the right server, or stop this source and delete its state",
            state.database, state.system, server.database, server.system
        )));
    }
    if state.slot != settings.slot {
        return Err(Error::Refused(format!(
            "postgres.slot_renamed: the saved state goes with the slot `{}`, slot_name is `{}`; set it back, or stop this source and \
             delete its state",
            state.slot, settings.slot
        )));
    }
    if saved > server.flushed {
        return Err(Error::Refused(format!(
            "postgres.server_behind: the saved position {saved} lies beyond the end of the server's log, {}: it was restored \
             from a backup, or is a standby that lags; changes of it may never have come; to begin anew, stop this source and \
             delete its state",
            server.flushed
        )));
    }
    let is_past_switch = state.timeline != server.timeline && switched_at.is_none_or(|switch| saved > switch);
    if is_past_switch {
        return Err(Error::Refused(format!(
            "postgres.timeline: the server is on timeline {}, the saved position {saved} is of timeline {}, which ended \
             before it: the promoted server never had some of what was sent; to begin anew, stop this source and delete its \
             state",
            server.timeline, state.timeline
        )));
    }
    Ok(())
}

/// From where the slot can be read.
pub(crate) fn confirmed(slot: &SlotRow, name: &str) -> Result<Lsn, Error> {
    slot.confirmed.ok_or_else(|| {
        let pid = slot.active_pid.as_deref().unwrap_or("unknown");
        let code = "55006".to_owned();
        let message = format!(
            "the slot `{name}` is being made by process {pid}, which waits for transactions that have written and are open: \
             SELECT pid, xact_start, query FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY xact_start"
        );
        Error::Server(Box::new(crate::error::ServerError { code, message, ..Default::default() }))
    })
}

fn missing_by_hand(settings: &Settings) -> Error {
    Error::Refused(format!(
        "postgres.slot_missing: create_slot = false and there is no slot `{0}`; run: SELECT pg_create_logical_replication_slot({1}, \
         'pgoutput'); and set adopt_slot = true",
        settings.slot,
        quote::literal(&settings.slot)
    ))
}

/// What drops a slot.
pub(crate) fn drop_sql(name: &str) -> String {
    format!("SELECT pg_drop_replication_slot({});", quote::literal(name))
}

/// Where `timeline` ended, from a timeline history file: lines of number, position and reason.
pub(crate) fn switch_of(history: &str, timeline: u32) -> Option<Lsn> {
    history.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let number: u32 = words.next()?.parse().ok()?;
        let end = words.next()?.parse().ok()?;
        (number == timeline).then_some(end)
    })
}

#[cfg(test)]
mod tests;
