//! Where polling stands: a cursor for each table, and the cleanup that is owed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::quote::TableName;

/// The state of a source in `mode = "polling"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PollingState {
    /// By the quoted name of the table.
    pub(crate) tables: BTreeMap<String, Cursor>,
    /// The number of the newest batch.
    pub(crate) batch: u64,
    /// Rows delivered and not cleaned up yet, oldest first.
    #[serde(default)]
    pub(crate) owed: Vec<Owed>,
}

/// The last row read of one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// What the values are of: the tracking column first.
    pub(crate) columns: Vec<String>,
    /// As the server writes them, so nothing of them is lost.
    pub(crate) values: Vec<String>,
}

/// Rows of one batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owed {
    pub(crate) batch: u64,
    pub(crate) table: TableName,
    pub(crate) key: Vec<String>,
    pub(crate) rows: Vec<OwedRow>,
}

/// A row as it was read: its key, and which version of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwedRow {
    pub(crate) key: Vec<String>,
    pub(crate) version: String,
}

impl PollingState {
    /// The state with which a further batch is staged: what was cleaned up by now, up to and with batch `cleaned`, is owed no more.
    pub(crate) fn next(&self, cleaned: u64) -> PollingState {
        let owed = self.owed.iter().filter(|owed| owed.batch > cleaned).cloned().collect();
        PollingState { tables: self.tables.clone(), batch: self.batch + 1, owed }
    }

    /// How much is owed, about, in bytes.
    pub(crate) fn owed_bytes(&self) -> usize {
        self.owed.iter().flat_map(|owed| &owed.rows).map(OwedRow::bytes).sum()
    }
}

impl OwedRow {
    pub(crate) fn bytes(&self) -> usize {
        self.version.len() + self.key.iter().map(|value| value.len() + 8).sum::<usize>() + 16
    }
}
