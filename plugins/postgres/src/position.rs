//! How far the stream was read: the end of the last whole transaction, and how much of the next one.

use serde::{Deserialize, Serialize};

use crate::lsn::Lsn;

/// Everything before it was read. Read again from here, the stream brings exactly what follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The end of the last whole transaction: where the stream is started, and all that is ever confirmed.
    pub(crate) commit_end: Lsn,
    /// Set when a batch ended inside a transaction.
    #[serde(default)]
    pub(crate) inside: Option<Inside>,
}

/// How much of a transaction was read. Changes are counted, since many of them may share one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inside {
    /// Where its commit record begins.
    pub(crate) final_lsn: Lsn,
    pub(crate) xid: u32,
    /// So many of its changes were read.
    pub(crate) ordinal: u64,
}

impl Position {
    pub(crate) fn at(commit_end: Lsn) -> Position {
        Position { commit_end, inside: None }
    }
}
