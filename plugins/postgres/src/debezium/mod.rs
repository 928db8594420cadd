//! `envelope = "debezium"`: what Debezium's connector for PostgreSQL writes, byte for byte where it can be, as JSON without schemas.
//!
//! The pattern is version 3.6 with `decimal.handling.mode=string`, `time.precision.mode=isostring`,
//! `binary.handling.mode=base64`, `tombstones.on.delete=true` and `skipped.operations=t`. What differs stands in
//! `docs/migrate-from-debezium.md`, and a test runs both on one writer.

mod form;
mod message;
mod number;
pub(crate) mod offset;
pub(crate) mod table;
#[cfg(test)]
mod tests;
mod time;
mod value;

use jiff::Timestamp;
use picomq_connector_sdk::{Batch, RecordWriter};

use crate::change::{Change, OldRow, Origin, Place, Verb};
use crate::column::ShapeColumn;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::pgoutput::Value;
use crate::row::Row;
use crate::shape::Shape;
use crate::value::{Fault, Out};
use number::put_integer;
use table::{ColumnForm, Form};

/// The shape of a table and its form.
type Formed<'a> = (&'a Shape, &'a Form);

/// One record to write.
struct Event<'a> {
    op: &'static [u8],
    before: Option<OldRow<'a>>,
    after: Option<Row<'a>>,
}

/// Writes changes into batches; keeps what it needs for that from record to record.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    key: Vec<u8>,
    old_key: Vec<u8>,
    id: String,
    /// `,"ts_ms":…,"ts_us":…,"ts_ns":…}`: when the changes at hand are read.
    clock: Vec<u8>,
}

impl Writer {
    /// Looks at the clock: Debezium's time of processing. Once a transaction is often enough.
    pub(crate) fn tick(&mut self) {
        let now = Timestamp::now();
        self.clock.clear();
        let nanos = i64::try_from(now.as_nanosecond()).unwrap_or_default();
        for (name, number) in [("ms", now.as_millisecond()), ("us", now.as_microsecond()), ("ns", nanos)] {
            self.clock.put(b",\"ts_");
            self.clock.put(name.as_bytes());
            self.clock.put(b"\":");
            put_integer(&mut self.clock, number);
        }
        self.clock.put(b"}");
    }

    /// Adds the records of `change`: one, with a tombstone behind a deletion; for a changed key the deletion of the old one and
    /// the creation of the new one.
    ///
    /// # Errors
    /// A value that cannot be written; the batch is then of no use.
    pub(crate) fn add(
        &mut self,
        batch: &mut Batch,
        formed: Formed<'_>,
        change: &Change<'_>,
        origin: &Origin<'_>,
    ) -> Result<(), Error> {
        if self.clock.is_empty() {
            self.tick();
        }
        let has_key = self.keys(formed, change)?;
        origin.identify(&mut self.id, &formed.0.table, &self.key);
        let event = |op, before, after| Event { op, before, after };
        match change.verb {
            Verb::Insert => self.event(batch, formed, &event(b"c", None, change.new), origin),
            Verb::Read | Verb::Select => self.event(batch, formed, &event(b"r", None, change.new), origin),
            Verb::Truncate => {
                self.key.clear();
                self.event(batch, formed, &event(b"t", None, None), origin)
            }
            Verb::Update if has_key && !self.old_key.is_empty() && self.old_key != self.key => {
                self.move_key(batch, formed, change, origin)
            }
            Verb::Update => self.event(batch, formed, &event(b"u", change.old, change.new), origin),
            Verb::Delete => {
                self.event(batch, formed, &event(b"d", change.old, None), origin)?;
                self.bury(batch, formed, (None, origin));
                Ok(())
            }
        }
    }

    fn move_key(
        &mut self,
        batch: &mut Batch,
        formed: Formed<'_>,
        change: &Change<'_>,
        origin: &Origin<'_>,
    ) -> Result<(), Error> {
        let new_key = std::mem::take(&mut self.key);
        self.key = std::mem::take(&mut self.old_key);
        let length = self.id.len();
        self.id.push_str(":delete");
        let gone = Event { op: b"d", before: change.old, after: None };
        let mut record = self.record(batch, formed, origin);
        record.payload_with(|out| self.put_event(out, formed, &gone, origin))?;
        record.header("__debezium.newkey", &new_key);
        self.id.truncate(length);
        self.bury(batch, formed, (Some(&new_key), origin));
        self.id.truncate(length);
        self.old_key = std::mem::replace(&mut self.key, new_key);
        let come = Event { op: b"c", before: None, after: change.new };
        let mut record = self.record(batch, formed, origin);
        record.payload_with(|out| self.put_event(out, formed, &come, origin))?;
        record.header("__debezium.oldkey", &self.old_key);
        Ok(())
    }

    fn event(
        &mut self,
        batch: &mut Batch,
        formed: Formed<'_>,
        event: &Event<'_>,
        origin: &Origin<'_>,
    ) -> Result<(), Error> {
        let mut record = self.record(batch, formed, origin);
        record.payload_with(|out| self.put_event(out, formed, event, origin))
    }

    /// Begins a record with all but its payload. The names of the table are headers, so that a rule finds them for a tombstone too.
    fn record<'b>(
        &self,
        batch: &'b mut Batch,
        (shape, _): Formed<'_>,
        origin: &Origin<'_>,
    ) -> RecordWriter<'b> {
        let mut record = batch.add();
        record.timestamp_ms(origin.time.as_millisecond()).event_time_ns(origin.time.as_nanosecond());
        record.header("picomq.schema", shape.table.schema.as_bytes());
        record.header("picomq.table", shape.table.table.as_bytes());
        if !self.id.is_empty() {
            record.id(&self.id);
        }
        if !self.key.is_empty() {
            record.key(&self.key);
        }
        record
    }

    /// A record without payload for the key that is no more.
    fn bury(
        &mut self,
        batch: &mut Batch,
        formed: Formed<'_>,
        (new_key, origin): (Option<&[u8]>, &Origin<'_>),
    ) {
        if !formed.1.settings.has_tombstones || self.key.is_empty() {
            return;
        }
        self.id.push_str(":tombstone");
        let mut record = self.record(batch, formed, origin);
        if let Some(key) = new_key {
            record.header("__debezium.newkey", key);
        }
    }

    /// Computes the key after and before the change. False when the table has none.
    fn keys(&mut self, formed: Formed<'_>, change: &Change<'_>) -> Result<bool, Error> {
        self.key.clear();
        self.old_key.clear();
        let old = change.old.map(|old| old.row);
        if formed.1.key.is_empty() {
            return Ok(false);
        }
        if let (Some(old), Some(_)) = (old, change.new) {
            put_key(&mut self.old_key, formed, old)?;
        }
        let Some(row) = change.new.or(old) else { return Ok(false) };
        put_key(&mut self.key, formed, row)
    }

    fn put_event(
        &self,
        out: &mut impl Out,
        formed: Formed<'_>,
        event: &Event<'_>,
        origin: &Origin<'_>,
    ) -> Result<(), Error> {
        out.put(b"{\"before\":");
        put_image(out, formed, event.before)?;
        out.put(b",\"after\":");
        put_image(out, formed, event.after.map(|row| OldRow { row, is_key_only: false }))?;
        put_source(out, formed.1, origin);
        out.put(b",\"transaction\":null,\"op\":\"");
        out.put(event.op);
        out.put(b"\"");
        out.put(&self.clock);
        Ok(())
    }
}

fn put_source(out: &mut impl Out, form: &Form, origin: &Origin<'_>) {
    let time = origin.time;
    out.put(&form.settings.source);
    put_integer(out, time.as_millisecond());
    let (snapshot, at, after, xid) = match origin.place {
        Place::Change { at, after, xid, .. } => (&b"false"[..], at, Some(after), Some(xid)),
        Place::Snapshot { lsn } => (&b"true"[..], lsn.parse().unwrap_or_default(), None, None),
        Place::Poll { .. } => (&b"false"[..], Lsn(0), None, None),
    };
    out.put(b",\"snapshot\":\"");
    out.put(snapshot);
    out.put(&form.settings.database);
    match after {
        Some(after) => {
            out.put(b"\\\"");
            put_lsn(out, after);
            out.put(b"\\\"");
        }
        None => out.put(b"null"),
    }
    out.put(b",\\\"");
    put_lsn(out, at);
    out.put(b"\\\"]\",\"ts_us\":");
    put_integer(out, time.as_microsecond());
    out.put(b",\"ts_ns\":");
    put_integer(out, time.as_nanosecond());
    out.put(&form.table);
    match xid {
        Some(xid) => put_integer(out, i64::from(xid)),
        None => out.put(b"null"),
    }
    out.put(b",\"lsn\":");
    put_lsn(out, at);
    out.put(b",\"xmin\":null,\"origin\":null,\"origin_lsn\":null}");
}

/// As Debezium does: a number; PostgreSQL never comes to the half of what it can count.
fn put_lsn(out: &mut impl Out, lsn: Lsn) {
    put_integer(out, lsn.0.cast_signed());
}

/// The key as an object. False, and nothing of use, when a value of it is not there.
fn put_key(out: &mut Vec<u8>, formed: Formed<'_>, row: Row<'_>) -> Result<bool, Error> {
    let (shape, form) = formed;
    let mut separator: &[u8] = b"{";
    for place in &form.key {
        let (column, how) = (&shape.columns[*place], &form.columns[*place]);
        out.put(separator);
        out.put(&column.label);
        separator = b",";
        match row.values().nth(*place) {
            Some(Value::Text(text)) => put_value(out, shape, (column, how), text)?,
            Some(Value::Null) => out.put(b"null"),
            Some(Value::Unchanged) | None => {
                out.clear();
                return Ok(false);
            }
        }
    }
    out.put(b"}");
    Ok(true)
}

/// A row as an object. What the server did not send of a row before is null there.
fn put_image(out: &mut impl Out, (shape, form): Formed<'_>, row: Option<OldRow<'_>>) -> Result<(), Error> {
    let Some(OldRow { row, is_key_only }) = row else {
        out.put(b"null");
        return Ok(());
    };
    let mut separator: &[u8] = b"{";
    let mut count = 0;
    for (columns, value) in shape.columns.iter().zip(&form.columns).zip(row.values()) {
        count += 1;
        let (column, how) = columns;
        if column.is_excluded || (value == Value::Unchanged && how.unavailable.is_none()) {
            continue;
        }
        out.put(separator);
        separator = b",";
        out.put(&column.label);
        match value {
            _ if is_key_only && !column.is_identity => out.put(b"null"),
            Value::Text(text) => put_value(out, shape, columns, text)?,
            Value::Null => out.put(b"null"),
            Value::Unchanged => out.put(how.unavailable.unwrap_or_default()),
        }
    }
    if count != shape.columns.len() {
        return Err(Error::Protocol(format!(
            "a row of {} with {count} values for {} columns",
            shape.table,
            shape.columns.len()
        )));
    }
    out.put(if separator == b"{" { b"{}" } else { b"}" });
    Ok(())
}

fn put_value(
    out: &mut impl Out,
    shape: &Shape,
    (column, how): (&ShapeColumn, &ColumnForm),
    text: &[u8],
) -> Result<(), Error> {
    value::write(out, &how.value, text).map_err(|why: Fault| Error::Value {
        table: shape.table.to_string(),
        column: column.name.clone(),
        why,
    })
}
