//! A change as records: payload by the envelope, key, id, headers, tombstones.

use picomq_connector_sdk::{Batch, RecordWriter};

use crate::change::{Change, OldRow, Origin, Place, Verb};
use crate::column::ShapeColumn;
use crate::config::Envelope;
use crate::debezium;
use crate::error::Error;
use crate::pgoutput::Value;
use crate::row::Row;
use crate::settings::RecordSettings;
use crate::shape::Shape;
use crate::value::{self, Out};

/// Writes changes into batches; keeps what it needs for that from record to record.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    key: Vec<u8>,
    old_key: Vec<u8>,
    id: String,
    debezium: debezium::Writer,
}

impl Recorder {
    /// Adds the records of `change`, at most [`RecordSettings::per_change`].
    ///
    /// # Errors
    /// A value that cannot be written; the batch is then of no use.
    pub(crate) fn add(
        &mut self,
        batch: &mut Batch,
        (shape, settings): (&Shape, &RecordSettings),
        change: &Change<'_>,
        origin: &Origin<'_>,
    ) -> Result<(), Error> {
        if let Some(form) = &shape.debezium {
            return self.debezium.add(batch, (shape, form), change, origin);
        }
        let has_key = self.keys(shape, settings, change)?;
        origin.identify(&mut self.id, &shape.table, &self.key);
        let mut record = batch.add();
        record.timestamp_ms(origin.time.as_millisecond());
        record.event_time_ns(origin.time.as_nanosecond());
        if !self.id.is_empty() {
            record.id(&self.id);
        }
        if has_key {
            record.key(&self.key);
        }
        match settings.envelope {
            Envelope::Pico => record.payload_with(|out| pico(out, (shape, settings), change, origin))?,
            // Its shapes have the form that was taken above.
            Envelope::Debezium => {}
            Envelope::Flat => flat(&mut record, (shape, settings), change, origin)?,
        }
        if settings.has_tombstones {
            self.bury(batch, change.verb, has_key, origin);
        }
        Ok(())
    }

    /// Looks at the clock, where the envelope says when a change was read.
    pub(crate) fn tick(&mut self, settings: &RecordSettings) {
        if settings.debezium.is_some() {
            self.debezium.tick();
        }
    }

    /// Computes the key after and, where it differs, before the change. False when the table has none.
    fn keys(&mut self, shape: &Shape, settings: &RecordSettings, change: &Change<'_>) -> Result<bool, Error> {
        self.key.clear();
        self.old_key.clear();
        let old = change.old.map(|old| old.row);
        let Some(row) = change.new.or(old).filter(|_| shape.has_key()) else { return Ok(false) };
        if let Some(old) = old.filter(|_| change.new.is_some()) {
            key(&mut self.old_key, (shape, settings), old)?;
        }
        key(&mut self.key, (shape, settings), row)
    }

    /// A record without payload for a key that is no more.
    fn bury(&mut self, batch: &mut Batch, verb: Verb, has_key: bool, origin: &Origin<'_>) {
        let gone = match verb {
            Verb::Delete if has_key => &self.key,
            Verb::Update if !self.old_key.is_empty() && self.old_key != self.key => &self.old_key,
            Verb::Insert | Verb::Update | Verb::Delete | Verb::Truncate | Verb::Read | Verb::Select => return,
        };
        self.id.push_str(":tombstone");
        let mut record = batch.add();
        record.key(gone).id(&self.id).timestamp_ms(origin.time.as_millisecond());
    }
}

/// The key of `row`: the value itself for one column, else an object. False, and nothing of use, when a value is not there.
fn key(out: &mut Vec<u8>, (shape, settings): (&Shape, &RecordSettings), row: Row<'_>) -> Result<bool, Error> {
    let is_single = shape.columns.iter().filter(|column| column.is_key).count() == 1;
    let mut separator: &[u8] = b"{";
    for (column, value) in shape.columns.iter().zip(row.values()).filter(|(column, _)| column.is_key) {
        if !is_single {
            out.put(separator);
            out.put(&column.label);
            separator = b",";
        }
        match value {
            Value::Text(text) => write_value(out, shape, column, (text, settings))?,
            Value::Null => out.put(b"null"),
            Value::Unchanged => {
                out.clear();
                return Ok(false);
            }
        }
    }
    if !is_single {
        out.put(b"}");
    }
    Ok(true)
}

fn pico(
    out: &mut impl Out,
    (shape, settings): (&Shape, &RecordSettings),
    change: &Change<'_>,
    origin: &Origin<'_>,
) -> Result<(), Error> {
    out.put(&shape.head);
    out.put(change.verb.as_str().as_bytes());
    out.put(b"\",\"timestamp\":\"");
    out.put(origin.time.as_str().as_bytes());
    out.put(b"\",\"data\":");
    let (data, old_data) = images(change);
    image(out, (shape, settings), data)?;
    out.put(b",\"old_data\":");
    image(out, (shape, settings), old_data)?;
    if let Some(unchanged) = unchanged(shape, change) {
        out.put(b",\"unchanged\":");
        out.put(&unchanged);
    }
    out.put(b",\"source\":");
    put_source(out, origin.place);
    out.put(b"}");
    Ok(())
}

fn put_source(out: &mut impl Out, place: Place<'_>) {
    let (lsn, xid, ordinal) = match place {
        Place::Change { lsn, xid, ordinal, .. } => (lsn, Some(u64::from(xid)), Some(ordinal)),
        Place::Snapshot { lsn } => (lsn, None, None),
        Place::Poll { .. } => return out.put(b"null"),
    };
    out.put(b"{\"lsn\":\"");
    out.put(lsn.as_bytes());
    out.put(b"\",\"xid\":");
    put_number(out, xid);
    out.put(b",\"ordinal\":");
    put_number(out, ordinal);
    out.put(b"}");
}

/// What stands as the row and what as the one before: a deletion has its old row as the row.
fn images<'a>(change: &Change<'a>) -> (Option<OldRow<'a>>, Option<OldRow<'a>>) {
    match change.new {
        Some(row) => (Some(OldRow { row, is_key_only: false }), change.old),
        None => (change.old, None),
    }
}

fn flat(
    record: &mut RecordWriter<'_>,
    (shape, settings): (&Shape, &RecordSettings),
    change: &Change<'_>,
    origin: &Origin<'_>,
) -> Result<(), Error> {
    let (data, old_data) = images(change);
    record.payload_with(|out| image(out, (shape, settings), data))?;
    record.header("picomq.operation", change.verb.as_str().as_bytes());
    record.header("picomq.schema", shape.table.schema.as_bytes());
    record.header("picomq.table", shape.table.table.as_bytes());
    record.header("picomq.timestamp", origin.time.as_str().as_bytes());
    match origin.place {
        Place::Change { lsn, xid, .. } => {
            record.header("picomq.lsn", lsn.as_bytes());
            record.header("picomq.xid", xid.to_string().as_bytes());
        }
        Place::Snapshot { lsn } => {
            record.header("picomq.lsn", lsn.as_bytes());
        }
        Place::Poll { .. } => {}
    }
    if old_data.is_some() {
        let mut old = Vec::new();
        image(&mut old, (shape, settings), old_data)?;
        record.header("picomq.old", &old);
    }
    if let Some(unchanged) = unchanged(shape, change) {
        record.header("picomq.unchanged", &unchanged);
    }
    Ok(())
}

fn put_number(out: &mut impl Out, number: Option<u64>) {
    match number {
        Some(number) => out.put(number.to_string().as_bytes()),
        None => out.put(b"null"),
    }
}

/// A row as an object. Columns that were left out of the stream are left out here too, and are never null.
fn image(
    out: &mut impl Out,
    (shape, settings): (&Shape, &RecordSettings),
    row: Option<OldRow<'_>>,
) -> Result<(), Error> {
    let Some(OldRow { row, is_key_only }) = row else {
        out.put(b"null");
        return Ok(());
    };
    let mut separator: &[u8] = b"{";
    let mut count = 0;
    for (column, value) in shape.columns.iter().zip(row.values()) {
        count += 1;
        if column.is_excluded || (is_key_only && !column.is_identity) || value == Value::Unchanged {
            continue;
        }
        out.put(separator);
        separator = b",";
        out.put(&column.label);
        match value {
            Value::Text(text) => write_value(out, shape, column, (text, settings))?,
            Value::Null | Value::Unchanged => out.put(b"null"),
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

/// The names of the columns whose values the stream left out, as a JSON array; `None` when it left out none.
fn unchanged(shape: &Shape, change: &Change<'_>) -> Option<Vec<u8>> {
    let row = change.new.filter(|_| change.verb == Verb::Update)?;
    let mut out = Vec::new();
    for (column, value) in shape.columns.iter().zip(row.values()) {
        if value == Value::Unchanged && !column.is_excluded {
            out.put(if out.is_empty() { b"[" } else { b"," });
            out.put(&column.label[..column.label.len() - 1]);
        }
    }
    if out.is_empty() {
        return None;
    }
    out.put(b"]");
    Some(out)
}

fn write_value(
    out: &mut impl Out,
    shape: &Shape,
    column: &ShapeColumn,
    (text, settings): (&[u8], &RecordSettings),
) -> Result<(), Error> {
    value::write(out, &column.kind, text, settings.forms).map_err(|why| Error::Value {
        table: shape.table.to_string(),
        column: column.name.clone(),
        why,
    })
}
