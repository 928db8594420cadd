//! What the engine keeps for us.

use serde::{Deserialize, Serialize};

use crate::backfill::Backfill;
use crate::lsn::Lsn;
use crate::polling::state::PollingState;
use crate::position::Position;
use crate::progress::Progress;

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

/// What is taken from an offset of Debezium.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Taken {
    /// Debezium's name for the server, its `topic.prefix`.
    pub(crate) server: String,
    /// The end of the last transaction before the one that its newest record is of: everything up to here was delivered. `None` when
    /// no change came after the snapshot: then the slot itself says where.
    pub(crate) commit: Option<Lsn>,
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
