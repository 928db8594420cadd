//! Reading tables while the stream runs: those a person names, and what a snapshot that was killed did not come to.
//!
//! A chunk is read between two marks in the log. What the stream brings of its keys between them is as new as the chunk or newer,
//! so those rows are left out of it; the others are put into the stream where the second mark stands. The state of the batch that
//! holds them says how far the table was read. `docs/decisions` says which orders hold, and why.

pub(crate) mod chunk;
pub(crate) mod commands;
mod filler;
mod marks;
mod runner;
mod window;

pub(crate) use commands::{CANCEL, COMMANDS, LIST, START, Wanted};
pub(crate) use filler::Filler;
pub(crate) use runner::{Handle, start};
pub(crate) use window::Window;

use serde::{Deserialize, Serialize};

use crate::progress::next_table;
use crate::progress::{Part, Progress};
use crate::quote::TableName;

/// More requests than that are refused.
pub(crate) const JOBS_MAX: usize = 100;

/// What is to be read, as it is saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Backfill {
    /// What a snapshot did not come to.
    #[serde(default)]
    pub(crate) rest: Option<Progress>,
    /// What was asked for; the first is read once `rest` is.
    #[serde(default)]
    pub(crate) jobs: Vec<Job>,
    /// The number of the last request that was taken.
    #[serde(default)]
    pub(crate) last: u64,
}

/// A table somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) table: TableName,
    /// The key of the last row that was read.
    pub(crate) after: Vec<String>,
    /// Rows so far.
    pub(crate) rows: u64,
}

/// On whose behalf a part is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Rest,
    Job,
}

/// What reading made true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// `part` stands at its `after` now, with so many rows more.
    Part { of: Of, part: Part, rows: u64, is_done: bool },
    /// Nothing is left of the snapshot.
    RestDone,
}

impl Backfill {
    /// Whether nothing was ever asked for.
    pub(crate) fn is_unused(&self) -> bool {
        *self == Backfill::default()
    }

    /// Whether there is nothing to read.
    pub(crate) fn is_idle(&self) -> bool {
        self.rest.is_none() && self.jobs.is_empty()
    }

    /// What is read next; `None` when the snapshot turns out to be read. `tables` are those of the source.
    pub(crate) fn next(&self, tables: &[TableName]) -> Option<(Of, Part)> {
        if let Some(rest) = &self.rest {
            let open = rest.open.first().cloned();
            let part = open.or_else(|| {
                let table = next_table(tables, rest)?;
                let Progress { after, by, .. } = rest.entered(table);
                Some(Part { table: table.clone(), after, until: Vec::new(), by })
            });
            return part.map(|part| (Of::Rest, part));
        }
        let Job { table, after, .. } = self.jobs.first()?;
        let (table, after, until) = (table.clone(), after.clone(), Vec::new());
        Some((Of::Job, Part { table, after, until, by: crate::progress::By::Key }))
    }

    /// Takes what was read.
    pub(crate) fn apply(&mut self, moved: &Moved) {
        match moved {
            Moved::RestDone => self.rest = None,
            Moved::Part { of: Of::Rest, part, rows, is_done } => {
                let Some(rest) = &mut self.rest else { return };
                if rest.open.iter().any(|open| open.is_same(part)) {
                    return rest.advance(part, *rows, *is_done);
                }
                let mut next = rest.entered(&part.table);
                (next.after, next.by) = (part.after.clone(), part.by);
                next.rows += rows;
                next.is_table_done = *is_done;
                *rest = next;
            }
            // One that was called off is not there any more.
            Moved::Part { of: Of::Job, part, rows, is_done } => {
                let Some(place) = self.jobs.iter().position(|job| job.table == part.table) else { return };
                self.jobs[place].after.clone_from(&part.after);
                self.jobs[place].rows += rows;
                if *is_done {
                    self.jobs.remove(place);
                }
            }
        }
    }

    /// How it stands, for people.
    pub(crate) fn told(&self) -> String {
        let mut told = Vec::new();
        if let Some(rest) = &self.rest {
            let table = rest.open.first().map(|part| &part.table).or(rest.table.as_ref());
            let table = table.map_or_else(|| "the first table".to_owned(), ToString::to_string);
            told.push(format!(
                "the snapshot goes on beside the stream, at {table}: {} rows so far",
                rest.rows
            ));
        }
        if let Some((first, waiting)) = self.jobs.split_first() {
            let wait =
                if waiting.is_empty() { String::new() } else { format!("; {} more wait", waiting.len()) };
            told.push(format!("{}: {} rows read{wait}", first.table, first.rows));
        }
        told.join("; ")
    }
}

#[cfg(test)]
mod tests;
