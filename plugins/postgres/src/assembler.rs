//! Messages of the stream into batches, each with the position that its delivery makes true. Pure.
//!
//! Invariants: a batch ends between two changes, never inside one; its position is the one after its last change; read again
//! from that position, the next batch begins with the next change, whatever the sizes of batches were before.

use std::collections::HashMap;

use picomq_connector_sdk::{Batch, Schema};

use crate::backfill::Window;
use crate::backfill::chunk::Target;
use crate::change::{Change, Moment, OldRow, Origin, Place, Verb};
use crate::config::Operation;
use crate::error::Error;
use crate::logical::{self, Logical, Transaction};
use crate::lsn::Lsn;
use crate::pgoutput::{Begin, Commit, Message, Old, Relation, TypeName};
use crate::position::{Inside, Position};
use crate::record::Recorder;
use crate::row::Row;
use crate::settings::{Cut, RecordSettings};
use crate::shape::Shape;
use crate::tables::Tables;
use crate::value::Catalog;

/// A batch and what is true once it is delivered.
#[derive(Debug)]
pub(crate) struct Assembled {
    pub(crate) batch: Batch,
    pub(crate) position: Position,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    Taken,
    /// It does not fit: take the batch, then feed it again.
    Full,
}

/// Builds batches out of one stream, from its start.
#[derive(Debug)]
pub(crate) struct Assembler {
    tables: Tables,
    records: RecordSettings,
    cut: Cut,
    types: Catalog,
    /// `None` for a table that is not ours.
    shapes: HashMap<u32, Option<Shape>>,
    /// The end of the last whole transaction.
    done: Lsn,
    /// The transaction we were inside of when the stream was started; the first one decides.
    resume: Option<Inside>,
    open: Option<Open>,
    /// Commit time of the newest transaction, in microseconds since 2000.
    newest_us: i64,
    /// Where the message at hand stands in the log.
    at: Lsn,
    recorder: Recorder,
    batch: Batch,
    /// For what is read beside the stream.
    pub(crate) window: Window,
}

/// As `Open::first`: the whole transaction was read before.
const READ_BEFORE: u64 = u64::MAX;

/// The transaction under way.
#[derive(Debug)]
struct Open {
    begin: Begin,
    lsn: String,
    time: Moment,
    /// Changes seen.
    ordinal: u64,
    /// Changes below this one were read before.
    first: u64,
}

/// A logical message as it comes.
struct Said<'a> {
    lsn: Lsn,
    prefix: &'a str,
    content: &'a [u8],
}

impl<'a> Said<'a> {
    fn logical(&self, after: Lsn, transaction: Option<Transaction<'a>>) -> Logical<'a> {
        Logical { prefix: self.prefix, content: self.content, at: self.lsn, after, transaction }
    }
}

impl Assembler {
    pub(crate) fn new(tables: Tables, records: RecordSettings, cut: Cut, start: &Position) -> Assembler {
        Assembler {
            tables,
            records,
            cut,
            types: Catalog::default(),
            shapes: HashMap::new(),
            done: start.commit_end,
            resume: start.inside,
            open: None,
            newest_us: 0,
            at: Lsn(0),
            recorder: Recorder::default(),
            batch: Batch::new(Schema::Json),
            window: Window::default(),
        }
    }

    /// Takes the types the database has now.
    pub(crate) fn set_types(&mut self, types: Catalog) {
        self.types = types;
    }

    /// Whether the key must be looked up all the same: Debezium keeps the order of its columns, which the stream does not tell,
    /// and has a key for a table without a primary key.
    pub(crate) fn asks_for_key(&self, relation: &Relation<'_>) -> bool {
        let keys = relation.columns.iter().filter(|column| column.is_identity).count();
        self.records.debezium.is_some() && keys != 1
    }

    /// Takes a description of a table, which replaces the former one.
    pub(crate) fn relation(&mut self, relation: &Relation<'_>, primary_key: &[String]) {
        self.window.described(relation.schema, relation.name);
        let is_ours = self.tables.has(relation.schema, relation.name);
        let shape = is_ours.then(|| Shape::of_relation(relation, primary_key, &self.types, &self.records));
        self.shapes.insert(relation.oid, shape);
    }

    /// Takes where the next message stands in the log.
    pub(crate) fn stand_at(&mut self, at: Lsn) {
        self.at = at;
    }

    /// Takes the next message, `bytes` long.
    ///
    /// # Errors
    /// A message out of order, or a value that cannot be written: the stream cannot go on.
    pub(crate) fn feed(&mut self, message: &Message<'_>, bytes: usize) -> Result<Fed, Error> {
        match message {
            Message::Begin(begin) => self.begin(*begin)?,
            Message::Commit(commit) => self.commit(commit)?,
            Message::Type(TypeName { oid, schema, name }) => self.types.learn(*oid, schema, name),
            Message::Relation(relation) => self.relation(relation, &[]),
            Message::Origin => {}
            Message::Logical { is_transactional, lsn, prefix, content } => {
                let is_wanted = self.records.messages.as_ref().is_some_and(|wanted| wanted.has(prefix));
                if is_wanted && self.is_full(1, bytes) {
                    return Ok(Fed::Full);
                }
                let said = Said { lsn: *lsn, prefix, content };
                if *is_transactional {
                    self.change_said(&said, is_wanted)?;
                } else if is_wanted {
                    self.said_alone(&said)?;
                }
            }
            Message::Insert { .. } | Message::Update { .. } | Message::Delete { .. } => {
                if self.is_full(1, bytes) {
                    return Ok(Fed::Full);
                }
                self.row(message)?;
            }
            Message::Truncate { relations } => {
                if self.is_full(relations.len(), bytes) {
                    return Ok(Fed::Full);
                }
                for relation in relations {
                    self.truncate(*relation)?;
                }
            }
        }
        Ok(Fed::Taken)
    }

    /// Whether so many changes more, `bytes` long together, belong into the next batch. The first ones never do.
    fn is_full(&self, changes: usize, bytes: usize) -> bool {
        let records = self.batch.len() + changes * self.records.per_change();
        // Twice: names of columns and the key come on top of what the server sent.
        !self.batch.is_empty()
            && (records > self.cut.records || self.batch.bytes() + 2 * bytes > self.cut.bytes)
    }

    fn begin(&mut self, begin: Begin) -> Result<(), Error> {
        if self.open.is_some() {
            return Err(Error::Protocol("a transaction inside another".into()));
        }
        let is_resumed = |inside: &Inside| (inside.final_lsn, inside.xid) == (begin.final_lsn, begin.xid);
        // The server sends again what ends behind the start, never what ended before it; we look all the same.
        let first = if begin.final_lsn < self.done {
            READ_BEFORE
        } else {
            self.resume.take().filter(is_resumed).map_or(0, |inside| inside.ordinal)
        };
        self.window.transaction(begin.xid);
        let time = Moment::from_postgres(begin.time_us);
        self.newest_us = begin.time_us;
        self.recorder.tick(&self.records);
        self.open = Some(Open { begin, lsn: begin.final_lsn.to_string(), time, ordinal: 0, first });
        Ok(())
    }

    fn commit(&mut self, commit: &Commit) -> Result<(), Error> {
        let open = self.open.take().ok_or_else(outside)?;
        if open.begin.final_lsn != commit.commit_lsn {
            return Err(Error::Protocol("the end of another transaction than the one that began".into()));
        }
        self.done = self.done.max(commit.end_lsn);
        Ok(())
    }

    /// Counts a change; false when it was read before.
    fn count(&mut self) -> Result<bool, Error> {
        let open = self.open.as_mut().ok_or_else(outside)?;
        let is_new = open.ordinal >= open.first;
        open.ordinal += 1;
        Ok(is_new)
    }

    fn row(&mut self, message: &Message<'_>) -> Result<(), Error> {
        let (relation, operation, change) = match message {
            Message::Insert { relation, new } => (
                relation,
                Operation::Insert,
                Change { verb: Verb::Insert, new: Some(Row::Tuple(*new)), old: None },
            ),
            Message::Update { relation, old, new } => {
                let row = match old {
                    Some(Old::Full(old)) => Row::Filled { new: *new, old: *old },
                    Some(Old::Key(_)) | None => Row::Tuple(*new),
                };
                let old = old.as_ref().map(old_row);
                (relation, Operation::Update, Change { verb: Verb::Update, new: Some(row), old })
            }
            Message::Delete { relation, old } => (
                relation,
                Operation::Delete,
                Change { verb: Verb::Delete, new: None, old: Some(old_row(old)) },
            ),
            Message::Begin(_)
            | Message::Commit(_)
            | Message::Origin
            | Message::Relation(_)
            | Message::Type(_)
            | Message::Truncate { .. }
            | Message::Logical { .. } => return Ok(()),
        };
        self.change(*relation, operation, &change)
    }

    /// A message that is a change of the transaction under way; it counts among them whether it is wanted or not.
    fn change_said(&mut self, said: &Said<'_>, is_wanted: bool) -> Result<(), Error> {
        if !self.count()? || !is_wanted {
            return Ok(());
        }
        let open = self.open.as_ref().ok_or_else(outside)?;
        let Open { lsn, begin, ordinal, time, .. } = open;
        let inside = Transaction { lsn, xid: begin.xid, ordinal: ordinal - 1, time };
        let message = said.logical(self.done, Some(inside));
        logical::add(&mut self.batch, &self.records, &message);
        self.refuse_overflow(|| format!("the message with the prefix `{}`", said.prefix))
    }

    /// A message of no transaction: the server sends it as soon as it comes to it, so never inside one, and again to everybody who
    /// starts at it or before. From behind its first byte on it is passed.
    fn said_alone(&mut self, said: &Said<'_>) -> Result<(), Error> {
        if said.lsn < self.done {
            return Ok(());
        }
        // No log is so long, and what came after would be before everything.
        let behind = said.lsn.0.checked_add(1).map(Lsn);
        let behind = behind.ok_or_else(|| Error::Protocol(format!("a message at {}", said.lsn)))?;
        logical::add(&mut self.batch, &self.records, &said.logical(self.done, None));
        self.done = behind;
        self.refuse_overflow(|| format!("the message with the prefix `{}`", said.prefix))
    }

    fn truncate(&mut self, relation: u32) -> Result<(), Error> {
        self.change(relation, Operation::Truncate, &Change { verb: Verb::Truncate, new: None, old: None })
    }

    fn change(&mut self, relation: u32, operation: Operation, change: &Change<'_>) -> Result<(), Error> {
        let is_new = self.count()?;
        let shape = self.shapes.get(&relation).ok_or_else(|| {
            Error::Protocol(format!("a change of table {relation}, which was not described before"))
        })?;
        let Some(shape) = shape.as_ref().filter(|_| is_new) else { return Ok(()) };
        let is_captured = self.records.operations.contains(&operation);
        // What does not become a record is not told, so it leaves no row out; but a truncation takes them all.
        if is_captured || operation == Operation::Truncate {
            self.window.change(shape, change);
        }
        if !is_captured {
            return Ok(());
        }
        let open = self.open.as_ref().ok_or_else(outside)?;
        let Open { lsn, begin, ordinal, time, .. } = open;
        let (at, after) = (self.at, self.done);
        let place = Place::Change { lsn, at, after, xid: begin.xid, ordinal: ordinal - 1 };
        let origin = Origin { place, time };
        self.recorder.add(&mut self.batch, (shape, &self.records), change, &origin)?;
        let table = &shape.table;
        self.refuse_overflow(|| {
            format!(
                "one row of {table} (leave its large column out with exclude_columns, if nobody needs it)"
            )
        })
    }

    /// Refuses a change that no batch can hold.
    fn refuse_overflow(&self, what: impl FnOnce() -> String) -> Result<(), Error> {
        let bytes = self.batch.bytes();
        if bytes <= self.cut.bytes_max {
            return Ok(());
        }
        let place = match &self.open {
            Some(open) => format!("commit {}, change {}", open.lsn, open.ordinal - 1),
            None => format!("before {}", self.done),
        };
        Err(Error::Refused(format!(
            "{} makes {bytes} bytes, the limit of a batch is {} ([limits] batch_bytes); nothing was skipped: raise the limit \
             ({place})",
            what(),
            self.cut.bytes_max
        )))
    }

    /// Where rows that were read beside the stream are put.
    pub(crate) fn target(&mut self) -> Target<'_> {
        let (batch, recorder) = (&mut self.batch, &mut self.recorder);
        Target { batch, recorder, records: &self.records, cut: self.cut }
    }

    /// Where the stream was read to.
    pub(crate) fn position(&self) -> Position {
        let inside = match &self.open {
            Some(Open { begin, ordinal, first, .. }) if *first != READ_BEFORE => {
                // What was read before counts until the stream has come to it again.
                let ordinal = *ordinal.max(first);
                let Begin { final_lsn, xid, .. } = *begin;
                (ordinal > 0).then_some(Inside { final_lsn, xid, ordinal })
            }
            Some(_) | None => self.resume,
        };
        Position { commit_end: self.done, inside }
    }

    /// Whether a transaction is under way, or one that was read in part has not come again yet.
    pub(crate) fn is_inside(&self) -> bool {
        self.open.is_some() || self.resume.is_some()
    }

    /// The server has read to `end` and found nothing for us: outside a transaction, all before it is done.
    pub(crate) fn idle(&mut self, end: Lsn) {
        if !self.is_inside() {
            self.done = self.done.max(end);
        }
    }

    /// When the newest transaction was committed, in microseconds since 2000.
    pub(crate) fn newest_us(&self) -> i64 {
        self.newest_us
    }

    /// Whether the batch has records.
    pub(crate) fn has_records(&self) -> bool {
        !self.batch.is_empty()
    }

    /// Takes the batch, with or without records.
    pub(crate) fn take(&mut self) -> Assembled {
        self.recorder.tick(&self.records);
        let next = Batch::with_capacity(Schema::Json, self.batch.len(), self.batch.bytes());
        Assembled { batch: std::mem::replace(&mut self.batch, next), position: self.position() }
    }
}

fn old_row<'a>(old: &Old<'a>) -> OldRow<'a> {
    match old {
        Old::Key(tuple) => OldRow { row: Row::Tuple(*tuple), is_key_only: true },
        Old::Full(tuple) => OldRow { row: Row::Tuple(*tuple), is_key_only: false },
    }
}

fn outside() -> Error {
    Error::Protocol("a change outside a transaction".into())
}

#[cfg(test)]
mod tests;
