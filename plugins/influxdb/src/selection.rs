//! The rows of an answer that are taken: the earliest, as many as fit, and never a time of which some may be missing.
//!
//! A table with as many rows as were asked for was cut, so its last time may be missing rows; so may every time whose rows did
//! not fit. The earliest such time is the *horizon*: what lies before it is complete, whatever the order of tables and rows.
//! Of one time alone (a *group*) the rows with the least digests are taken, which needs no order of the server at all.

use std::fmt::Write;

use picomq_connector_sdk::Error as SourceError;
use ring::digest;

use crate::error::Error;
use crate::mark::{Digest, Mark};

/// Of an id, beside the series: blanks, nanoseconds with a sign, a digest.
const ID_BYTES_MAX: usize = 48;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    /// The least time.
    pub(crate) low: i64,
    /// The least time no longer wanted.
    pub(crate) high: Option<i64>,
    /// Set for a group: rows after this one in the order of their digests. All rows have the time `low`.
    pub(crate) group: Option<Option<Mark>>,
    /// How much is taken.
    pub(crate) room: Room,
    /// A table with so many rows was cut by the query.
    pub(crate) limit: Option<u64>,
    /// What stood for `$cursor` in a query that somebody wrote.
    pub(crate) cursor: Option<i64>,
}

/// Bounds of what is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) records: usize,
    pub(crate) bytes: usize,
}

/// A row as it will be delivered, while it is drawn.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) payload: Vec<u8>,
    /// The series, as text; empty if nothing tells.
    pub(crate) key: Vec<u8>,
    /// Whether series and time alone tell the point.
    pub(crate) is_exact: bool,
}

/// A row that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) time: i64,
    pub(crate) digest: Digest,
    pub(crate) is_exact: bool,
    /// Which of the rows of its time that are equal to it it is.
    occurrence: u32,
    start: usize,
    payload: usize,
    key: usize,
}

/// Takes rows.
#[derive(Debug)]
pub(crate) struct Selection {
    want: Want,
    draft: Draft,
    arena: Vec<u8>,
    entries: Vec<Entry>,
    horizon: Option<i64>,
    /// Of a group: larger digests do not fit.
    ceiling: Option<Digest>,
    /// Rows equal to the mark of a group so far.
    equals: u32,
    table: Table,
    facts: Facts,
}

/// What was noticed on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) rows: u64,
    /// A row had exactly the time of `$cursor`.
    pub(crate) has_cursor: bool,
    /// A row was before `$cursor`.
    pub(crate) has_earlier: bool,
    /// Of a group: the query cut it.
    pub(crate) is_short: bool,
    /// The server cut the answer.
    pub(crate) is_truncated: bool,
}

#[derive(Debug, Default)]
struct Table {
    rows: u64,
    last: i64,
    is_descending: bool,
}

/// What was taken, in the order of time, then of digest.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) want: Want,
    pub(crate) entries: Vec<Entry>,
    /// So many of them were delivered with earlier batches.
    taken: usize,
    arena: Vec<u8>,
    /// Times from here on may be incomplete.
    pub(crate) horizon: Option<i64>,
    /// Of a group: there is more after the last entry.
    pub(crate) has_more: bool,
    pub(crate) facts: Facts,
}

impl Selection {
    pub(crate) fn new(want: Want) -> Selection {
        Selection {
            want,
            draft: Draft::default(),
            arena: Vec::new(),
            entries: Vec::new(),
            horizon: None,
            ceiling: None,
            equals: 0,
            table: Table::default(),
            facts: Facts::default(),
        }
    }

    /// What follows is of another table, which the query limits for itself.
    pub(crate) fn next_table(&mut self) -> Result<(), Error> {
        let table = std::mem::take(&mut self.table);
        if self.want.limit.is_some_and(|limit| table.rows >= limit) {
            self.cut_at(&table)?;
        }
        Ok(())
    }

    /// A row; `draw` writes it when it is wanted.
    pub(crate) fn row(
        &mut self,
        time: i64,
        draw: impl FnOnce(&mut Draft) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.note(time);
        let is_beyond = |bound: Option<i64>| bound.is_some_and(|bound| time >= bound);
        if time < self.want.low || is_beyond(self.want.high) || is_beyond(self.horizon) {
            return Ok(());
        }
        self.draft.payload.clear();
        self.draft.key.clear();
        draw(&mut self.draft)?;
        let digest = self.draft.digest();
        if self.is_delivered(digest) {
            return Ok(());
        }
        let entry = Entry {
            time,
            digest,
            is_exact: self.draft.is_exact,
            occurrence: 0,
            start: self.arena.len(),
            payload: self.draft.payload.len(),
            key: self.draft.key.len(),
        };
        self.arena.extend_from_slice(&self.draft.payload);
        self.arena.extend_from_slice(&self.draft.key);
        self.entries.push(entry);
        let Room { records, bytes } = self.want.room;
        if self.entries.len() >= records.saturating_mul(2) || self.arena.len() >= bytes.saturating_mul(2) {
            self.trim();
        }
        Ok(())
    }

    /// The end of the answer; `is_truncated` when the server said that it left something out.
    pub(crate) fn finish(mut self, is_truncated: bool) -> Result<Page, Error> {
        self.facts.is_truncated = is_truncated;
        let table = std::mem::take(&mut self.table);
        if is_truncated || self.want.limit.is_some_and(|limit| table.rows >= limit) {
            self.cut_at(&table)?;
        }
        self.trim();
        // What was cut lies where nothing was wanted.
        let high = self.want.high;
        self.horizon = self.horizon.filter(|horizon| high.is_none_or(|high| *horizon < high));
        if let Some(horizon) = self.horizon {
            let complete = self.entries.partition_point(|entry| entry.time < horizon);
            self.entries.truncate(complete);
        }
        count(&mut self.entries, self.want.group.flatten());
        Ok(Page {
            want: self.want,
            entries: self.entries,
            taken: 0,
            arena: self.arena,
            horizon: self.horizon,
            has_more: self.ceiling.is_some(),
            facts: self.facts,
        })
    }

    fn note(&mut self, time: i64) {
        self.facts.rows += 1;
        if let Some(cursor) = self.want.cursor {
            self.facts.has_cursor |= time == cursor;
            self.facts.has_earlier |= time < cursor;
        }
        let table = &mut self.table;
        table.is_descending |= table.rows > 0 && time < table.last;
        table.rows += 1;
        table.last = time;
    }

    /// A table that ends too early: what it lacks lies at its last time or after it, if it is in order.
    fn cut_at(&mut self, table: &Table) -> Result<(), Error> {
        if table.is_descending {
            return Err(Error::Unreadable(
                "query: its rows are not in the order of time, so those that its limit leaves out cannot be found again; sort by \
                 time, ascending, before the limit"
                    .to_owned(),
            ));
        }
        if table.rows == 0 {
            return Ok(());
        }
        match self.want.group {
            Some(_) => self.facts.is_short |= table.last <= self.want.low,
            None => self.lower_horizon(table.last),
        }
        Ok(())
    }

    fn lower_horizon(&mut self, time: i64) {
        self.horizon = Some(self.horizon.map_or(time, |horizon| horizon.min(time)));
    }

    /// Whether a row of a group was delivered with an earlier piece, or belongs to a later one.
    fn is_delivered(&mut self, digest: Digest) -> bool {
        let Some(after) = self.want.group else { return false };
        if let Some(after) = after {
            if digest < after.digest {
                return true;
            }
            if digest == after.digest {
                self.equals = self.equals.saturating_add(1);
                return self.equals <= after.occurrence.saturating_add(1);
            }
        }
        self.ceiling.is_some_and(|ceiling| digest > ceiling)
    }

    /// Keeps what fits: the earliest times, or the least digests of a group.
    fn trim(&mut self) {
        self.entries.sort_unstable_by_key(|entry| (entry.time, entry.digest));
        let fitting = self.fitting();
        if fitting == self.entries.len() {
            return;
        }
        if self.want.group.is_some() {
            // A piece has a row at least, however large.
            let fitting = fitting.max(1);
            if fitting < self.entries.len() {
                self.ceiling = Some(self.entries[fitting - 1].digest);
                self.entries.truncate(fitting);
            }
        } else {
            let first_out = self.entries[fitting].time;
            self.lower_horizon(first_out);
            let complete = self.entries.partition_point(|entry| entry.time < first_out);
            self.entries.truncate(complete);
        }
        self.compact();
    }

    fn fitting(&self) -> usize {
        let Room { records, bytes } = self.want.room;
        let mut sum = 0;
        let fits = |entry: &&Entry| {
            sum += entry.bytes();
            sum <= bytes
        };
        self.entries.iter().take(records).take_while(fits).count()
    }

    /// Drops the bytes of rows that are gone.
    fn compact(&mut self) {
        let mut arena = Vec::with_capacity(self.arena.len() / 2);
        for entry in &mut self.entries {
            let end = entry.start + entry.payload + entry.key;
            let start = arena.len();
            arena.extend_from_slice(&self.arena[entry.start..end]);
            entry.start = start;
        }
        self.arena = arena;
    }
}

/// Counts rows that are equal, in the order of time and digest; `after` is the one before the first.
fn count(entries: &mut [Entry], after: Option<Mark>) {
    let mut before: Option<(i64, Mark)> = None;
    for entry in entries {
        let mark = before.filter(|(time, _)| *time == entry.time).map_or(after, |(_, mark)| Some(mark));
        let equal = mark.filter(|mark| mark.digest == entry.digest);
        entry.occurrence = equal.map_or(0, |mark| mark.occurrence.saturating_add(1));
        before = Some((entry.time, entry.mark()));
    }
}

impl Draft {
    /// Of payload and series, told apart by the length of the first.
    fn digest(&self) -> Digest {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(&(self.payload.len() as u64).to_le_bytes());
        context.update(&self.payload);
        context.update(&self.key);
        let hash = context.finish();
        let word = |from: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&hash.as_ref()[from..from + 8]);
            u64::from_be_bytes(bytes)
        };
        Digest(word(0), word(8))
    }
}

impl Entry {
    pub(crate) fn mark(&self) -> Mark {
        Mark { digest: self.digest, occurrence: self.occurrence }
    }

    /// What it takes in a batch at most: its key stands there twice, as such and in the id.
    pub(crate) fn bytes(&self) -> usize {
        self.payload + 2 * self.key + ID_BYTES_MAX
    }

    /// Series and nanoseconds; where these may be those of several rows, the row's digest too.
    pub(crate) fn write_id(&self, series: &[u8], id: &mut String) {
        // What was drawn is text, escaped byte by byte at ASCII characters alone.
        id.push_str(&String::from_utf8_lossy(series));
        if !id.is_empty() {
            id.push(' ');
        }
        let written = match self.is_exact {
            true => write!(id, "{}", self.time),
            false => write!(id, "{} {:016x}", self.time, self.digest.0),
        };
        written.expect("a text can always be written to");
    }
}

impl Page {
    pub(crate) fn payload(&self, entry: &Entry) -> &[u8] {
        &self.arena[entry.start..entry.start + entry.payload]
    }

    pub(crate) fn key(&self, entry: &Entry) -> &[u8] {
        let start = entry.start + entry.payload;
        &self.arena[start..start + entry.key]
    }

    /// Where the entries begin that are left.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    /// Leaves the entries from this one on for later. Answers whether there are any.
    pub(crate) fn take(&mut self, until: usize) -> bool {
        self.taken = until;
        self.facts.rows = 0;
        self.taken < self.entries.len()
    }

    /// The engine takes no batch larger than `most`.
    ///
    /// # Errors
    /// When a single point is larger.
    pub(crate) fn check(&self, most: u64) -> Result<(), SourceError> {
        match self.entries.iter().find(|entry| entry.bytes() as u64 > most) {
            None => Ok(()),
            Some(entry) => Err(SourceError::permanent(format!(
                "the point at {} has {} bytes as a record, a batch holds {most}: raise [limits] batch_bytes and record_bytes, or \
                 leave fields out",
                crate::time::text(entry.time),
                entry.bytes()
            ))),
        }
    }
}

#[cfg(test)]
mod tests;
