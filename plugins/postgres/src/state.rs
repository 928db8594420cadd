//! What the engine keeps for us.

use serde::{Deserialize, Serialize};

use crate::backfill::Backfill;
use crate::debezium::offset::Taken;
use crate::lsn::Lsn;
use crate::polling::state::PollingState;
use crate::position::Position;
use crate::quote::TableName;

/// Raised when a field changes its meaning.
pub(crate) const VERSION: u32 = 1;

/// The whole state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Saved {
    /// Never written: what a source begins with.
    Fresh,
    /// Given to us by a person, until the first batch.
    Debezium(Taken),
    Cdc(CdcState),
    Polling(PollingState),
}

/// Where change capture stands, and on which server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CdcState {
    /// `system_identifier` of the server: another one has another history.
    pub(crate) system: String,
    pub(crate) timeline: u32,
    pub(crate) database: String,
    pub(crate) slot: String,
    /// Decides which changes the stream has, so what an ordinal counts.
    pub(crate) publication: String,
    pub(crate) phase: Phase,
    /// What is read beside the stream.
    #[serde(default, skip_serializing_if = "Backfill::is_unused")]
    pub(crate) backfill: Backfill,
}

/// How far it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// The slot is about to be made: from here on one of that name is ours.
    Intended,
    /// The tables are read; the stream goes on from `start`.
    Snapshot {
        start: Lsn,
        progress: Progress,
    },
    Stream(Position),
    /// The tables were read, and no more was asked for.
    Done,
}

/// How far the snapshot came. Tables are taken in the order of their names and each in parts, several at once, in the order of its
/// key: so all of it is a frontier, up to which everything was taken, and the few parts before it that are not done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The table with the frontier; those before it are taken. `None` before the first.
    pub(crate) table: Option<TableName>,
    /// The frontier: the place of a row, all before it and itself taken; empty at the start of the table.
    pub(crate) after: Vec<String>,
    /// What `after` is.
    #[serde(default)]
    pub(crate) by: By,
    /// Rows so far, for people.
    pub(crate) rows: u64,
    /// Nothing is left behind the frontier in its table.
    pub(crate) is_table_done: bool,
    /// Taken and not done; no more than there are workers.
    #[serde(default)]
    pub(crate) open: Vec<Part>,
}

/// A part of a table: what lies between two rows. The table and where it ends say which one it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) table: TableName,
    /// The last row that was read; empty at the start of the table.
    pub(crate) after: Vec<String>,
    /// The last row that belongs to it; empty when it goes to the end of the table.
    pub(crate) until: Vec<String>,
    #[serde(default)]
    pub(crate) by: By,
}

/// How the place of a row is told, as the server writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    /// By its primary key. Without one there is no place: what is read in part is read again.
    #[default]
    Key,
    /// By where it lies in the table's file, for tables without a key: it means nothing in another file.
    Place { file: u32 },
}

impl CdcState {
    /// As this one, further on.
    pub(crate) fn at(&self, phase: Phase) -> CdcState {
        CdcState { phase, ..self.clone() }
    }

    /// What the slot may be told: everything before it was delivered and saved.
    pub(crate) fn confirmed(&self) -> Option<Lsn> {
        match &self.phase {
            Phase::Intended | Phase::Done => None,
            Phase::Snapshot { start, .. } => Some(*start),
            Phase::Stream(position) => Some(position.commit_end),
        }
    }
}
