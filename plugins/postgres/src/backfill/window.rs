//! What the stream brings between two marks: the keys it touched, and the transactions. Pure.

use std::collections::HashSet;

use super::marks::Sight;
use crate::change::Change;
use crate::error::Error;
use crate::pgoutput::Value;
use crate::quote::TableName;
use crate::row::Row;
use crate::shape::Shape;

/// Past so many keys the chunk is read again instead of remembering more.
const KEYS_MAX: usize = 100_000;
/// Past so many transactions between two chunks they are no longer noted, and noting begins anew.
const TRANSACTIONS_MAX: usize = 1 << 20;

/// Notes what passes.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// Transactions since noting began that may not be seen by everybody yet; `None` while nothing is noted.
    transactions: Option<Vec<u32>>,
    /// So many of them came before the first mark.
    before: usize,
    open: Option<Keys>,
}

/// The keys that were touched since the first mark.
#[derive(Debug)]
pub(super) struct Keys {
    table: TableName,
    /// A change told all of the row.
    whole: HashSet<Vec<u8>>,
    /// A change left out large values that it did not touch.
    partial: HashSet<Vec<u8>>,
    /// Any row may have been.
    is_all: bool,
    /// The table was described: it may have other columns now.
    is_described: bool,
}

/// What is to be done with a row of the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Sent,
    /// The stream has brought it.
    Left,
    /// The stream has brought it but for large values: it is to be read once more.
    ReadAgain,
}

impl Window {
    /// Notes transactions from now on.
    pub(super) fn begin(&mut self) {
        self.transactions = Some(Vec::new());
    }

    /// The first mark of a chunk of `table`.
    pub(super) fn low(&mut self, table: TableName) {
        self.before = self.transactions.as_ref().map_or(0, Vec::len);
        let (whole, partial) = (HashSet::new(), HashSet::new());
        self.open = Some(Keys { table, whole, partial, is_all: false, is_described: false });
    }

    /// The second mark: what was touched, unless transactions were sent before the first that `sight` does not see: then the chunk may
    /// be older than what was sent. `None` too when they were too many to note.
    pub(super) fn high(&mut self, sight: &Sight) -> Option<Keys> {
        let keys = self.open.take()?;
        let transactions = self.transactions.as_mut()?;
        let is_fresh = transactions.iter().take(self.before).all(|xid| sight.sees(*xid));
        transactions.retain(|xid| !sight.sees(*xid));
        is_fresh.then_some(keys)
    }

    /// Whether transactions are noted.
    pub(super) fn is_noting(&self) -> bool {
        self.transactions.is_some()
    }

    /// A transaction is being sent.
    pub(crate) fn transaction(&mut self, xid: u32) {
        let Some(transactions) = &mut self.transactions else { return };
        transactions.push(xid);
        if transactions.len() > TRANSACTIONS_MAX {
            self.transactions = None;
        }
    }

    /// A table is described.
    pub(crate) fn described(&mut self, schema: &str, table: &str) {
        if let Some(keys) = &mut self.open
            && (keys.table.schema == schema && keys.table.table == table)
        {
            keys.is_described = true;
        }
    }

    /// A change is being sent.
    pub(crate) fn change(&mut self, shape: &Shape, change: &Change<'_>) {
        let Some(keys) = &mut self.open else { return };
        if keys.table == shape.table {
            keys.note(shape, change);
        }
    }
}

impl Keys {
    fn note(&mut self, shape: &Shape, change: &Change<'_>) {
        if change.new.is_none() && change.old.is_none() {
            // TRUNCATE.
            self.is_all = true;
            return;
        }
        if !shape.has_key() || self.is_all {
            return;
        }
        let is_partial = change.new.is_some_and(|row| lacks(shape, row));
        for row in change.new.into_iter().chain(change.old.map(|old| old.row)) {
            let Some(key) = key_of(shape, row) else {
                self.is_all = true;
                return;
            };
            if is_partial {
                self.partial.insert(key);
            } else {
                self.whole.insert(key);
            }
        }
        self.is_all |= self.whole.len() + self.partial.len() > KEYS_MAX;
    }

    /// Whether the chunk as a whole is to be read again.
    pub(super) fn is_void(&self) -> bool {
        self.is_all
    }

    pub(super) fn is_described(&self) -> bool {
        self.is_described
    }

    /// What to do with a row of the chunk.
    pub(super) fn fate(&self, shape: &Shape, row: Row<'_>) -> Result<Fate, Error> {
        if !shape.has_key() || (self.whole.is_empty() && self.partial.is_empty()) {
            return Ok(Fate::Sent);
        }
        let gap = || Error::Protocol(format!("a row of {} without its key", shape.table));
        let key = key_of(shape, row).ok_or_else(gap)?;
        Ok(match (self.whole.contains(&key), self.partial.contains(&key)) {
            (true, _) => Fate::Left,
            (false, true) => Fate::ReadAgain,
            (false, false) => Fate::Sent,
        })
    }
}

/// The columns of the record key, each with its length, whatever the form of records is. `None` when one is not there.
fn key_of(shape: &Shape, row: Row<'_>) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    let columns = shape.columns.iter().zip(row.values()).filter(|(column, _)| column.is_key);
    // By name: the stream and a query may have them in another order.
    let mut parts: Vec<(&str, &[u8])> = Vec::new();
    for (column, value) in columns {
        match value {
            Value::Text(text) => parts.push((&column.name, text)),
            Value::Null | Value::Unchanged => return None,
        }
    }
    parts.sort_unstable_by_key(|(name, _)| *name);
    for (_, text) in parts {
        key.extend_from_slice(&text.len().to_le_bytes());
        key.extend_from_slice(text);
    }
    Some(key)
}

/// Whether large values that are sent were left out of a row.
fn lacks(shape: &Shape, row: Row<'_>) -> bool {
    let mut columns = shape.columns.iter().zip(row.values());
    columns.any(|(column, value)| value == Value::Unchanged && !column.is_excluded)
}

#[cfg(test)]
mod tests;
