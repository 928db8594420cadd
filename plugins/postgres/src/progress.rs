//! How far the reading of tables came, as it is saved.

use serde::{Deserialize, Serialize};

use crate::quote::TableName;

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

impl Progress {
    /// The progress with which taking parts of `table` begins.
    pub(crate) fn entered(&self, table: &TableName) -> Progress {
        if self.table.as_ref() == Some(table) && !self.is_table_done {
            return self.clone();
        }
        let (rows, open) = (self.rows, self.open.clone());
        Progress { table: Some(table.clone()), rows, open, ..Progress::default() }
    }

    /// `part`, behind the frontier, was taken.
    pub(crate) fn take(&mut self, part: &Part) {
        self.table = Some(part.table.clone());
        self.after.clone_from(&part.until);
        self.by = part.by;
        self.is_table_done = part.until.is_empty();
        self.open.push(part.clone());
    }

    /// `rows` more were read of `part`, which now stands at its `after`.
    pub(crate) fn advance(&mut self, part: &Part, rows: u64, is_done: bool) {
        self.rows += rows;
        let place = self.open.iter().position(|open| open.is_same(part));
        match place {
            Some(place) if is_done => drop(self.open.remove(place)),
            Some(place) => self.open[place] = part.clone(),
            None => {}
        }
    }

    /// Whether no part of `table` is left.
    pub(crate) fn is_read(&self, table: &TableName) -> bool {
        let is_taken =
            self.table.as_ref().is_some_and(|at| table < at || (table == at && self.is_table_done));
        is_taken && self.open.iter().all(|part| part.table != *table)
    }
}

impl Part {
    pub(crate) fn is_same(&self, other: &Part) -> bool {
        (&self.table, &self.until) == (&other.table, &other.until)
    }
}

/// What is the next table to read, if any; they are sorted.
pub(crate) fn next_table<'a>(tables: &'a [TableName], progress: &Progress) -> Option<&'a TableName> {
    tables.iter().find(|table| match &progress.table {
        None => true,
        Some(current) if progress.is_table_done => *table > current,
        Some(current) => *table >= current,
    })
}

#[cfg(test)]
mod tests;
