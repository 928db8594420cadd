//! A batch: what one poll returns.
//!
//! The bytes of all records lie in one arena and the records in one table, so adding a record allocates nothing
//! once both are large enough. The table is already the one that crosses the border: while a batch is built its
//! pointers hold *offset + 1* into the arena (null stays "none"), and sealing adds the arena's address.

use std::{io, ptr};

use serde::Serialize;

use crate::ffi::abi::{RawHeader, RawRecord};
use crate::{Error, Record, Schema, State};

/// Records of one schema and the state that becomes true when they are delivered.
///
/// Without records and without a state it is *empty*: nothing new, acknowledged without touching the store. With a
/// state alone it is a *watermark*: an upstream position moved.
#[derive(Debug)]
pub struct Batch {
    pub(crate) schema: Schema,
    pub(crate) arena: Vec<u8>,
    pub(crate) records: Vec<RawRecord>,
    pub(crate) headers: Vec<RawHeader>,
    pub(crate) state: Option<State>,
    /// Which candidate of `Staged` belongs to it.
    pub(crate) stamp: Option<u64>,
    fault: Option<Fault>,
}

/// Why a batch must not be sent as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    TooLong,
    NotWritten,
}

impl Batch {
    /// A batch whose payloads are all of `schema`.
    pub fn new(schema: Schema) -> Batch {
        Batch::with_capacity(schema, 0, 0)
    }

    /// As [`new`](Batch::new), with room for so many records and so many bytes (payloads, keys, headers and ids
    /// together) before anything has to grow.
    pub fn with_capacity(schema: Schema, records: usize, bytes: usize) -> Batch {
        Batch {
            schema,
            arena: Vec::with_capacity(bytes),
            records: Vec::with_capacity(records),
            headers: Vec::new(),
            state: None,
            stamp: None,
            fault: None,
        }
    }

    /// Nothing new. It carries no state unless an upstream position moved.
    pub fn empty() -> Batch {
        Batch::new(Schema::Raw)
    }

    /// Copies a record in, after those it has.
    pub fn push(&mut self, record: Record) {
        let mut writer = self.add();
        if let Some(payload) = &record.payload {
            writer.payload(payload);
        }
        if let Some(key) = &record.key {
            writer.key(key);
        }
        if let Some(id) = &record.id {
            writer.id(id);
        }
        if let Some(timestamp_ms) = record.timestamp_ms {
            writer.timestamp_ms(timestamp_ms);
        }
        if let Some(event_time_ns) = record.event_time_ns {
            writer.event_time_ns(event_time_ns);
        }
        for header in &record.headers {
            writer.header(&header.name, &header.value);
        }
    }

    /// Adds a record, so far a tombstone without anything, and lets it be written in place.
    pub fn add(&mut self) -> RecordWriter<'_> {
        self.records.push(RawRecord::EMPTY);
        RecordWriter { batch: self }
    }

    /// Attaches what becomes true when this batch is delivered. `Staged::stage` does it together with
    /// queueing the candidate.
    #[must_use]
    pub fn with_state(mut self, state: State) -> Batch {
        self.set_state(state);
        self
    }

    /// As [`with_state`](Batch::with_state), in place.
    pub fn set_state(&mut self, state: State) {
        self.state = Some(state);
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no record; there may still be a state.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes written so far: payloads, keys, headers and ids. Compare with the limit in `OpenContext` to cut a
    /// batch in time.
    pub fn bytes(&self) -> usize {
        self.arena.len()
    }

    /// What the payloads are.
    pub fn schema(&self) -> Schema {
        self.schema
    }

    /// The candidate state, if any.
    pub fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// Refuses a batch in which something did not fit or was not written whole. The border asks before it hands
    /// the batch on.
    ///
    /// # Errors
    /// [`Error::Permanent`] for a field of 4 GiB or more, [`Error::Serialization`] for a payload cut short.
    pub fn check(&self) -> Result<(), Error> {
        match self.fault {
            None => Ok(()),
            Some(Fault::TooLong) => Err(Error::permanent("a field of a record is 4 GiB or longer")),
            Some(Fault::NotWritten) => Err(Error::serialization("a payload was not written whole")),
        }
    }

    /// Appends to the arena; the answer is the offset + 1 and the length.
    fn append(&mut self, bytes: &[u8]) -> (*const u8, u32) {
        let start = self.arena.len();
        self.arena.extend_from_slice(bytes);
        self.span(start)
    }

    /// What was appended since `start`.
    fn span(&mut self, start: usize) -> (*const u8, u32) {
        let bytes = u32::try_from(self.arena.len() - start).unwrap_or_else(|_| {
            self.fault = Some(Fault::TooLong);
            0
        });
        (ptr::without_provenance(start + 1), bytes)
    }

    fn last(&mut self) -> &mut RawRecord {
        self.records.last_mut().expect("a writer exists only after its record was pushed")
    }
}

/// Writes the fields of the record just added. Each field may be left out; a field written twice keeps the later
/// value, except headers, which add up.
#[derive(Debug)]
pub struct RecordWriter<'a> {
    batch: &'a mut Batch,
}

impl RecordWriter<'_> {
    /// Copies the payload in.
    pub fn payload(&mut self, payload: &[u8]) -> &mut Self {
        let (offset, bytes) = self.batch.append(payload);
        let record = self.batch.last();
        (record.payload, record.payload_bytes) = (offset, bytes);
        self
    }

    /// Lets `write` produce the payload in place, and gives back its answer.
    pub fn payload_with<R>(&mut self, write: impl FnOnce(&mut PayloadWriter<'_>) -> R) -> R {
        let start = self.batch.arena.len();
        let answer = write(&mut PayloadWriter { arena: &mut self.batch.arena });
        let (offset, bytes) = self.batch.span(start);
        let record = self.batch.last();
        (record.payload, record.payload_bytes) = (offset, bytes);
        answer
    }

    /// Writes `value` as one JSON text.
    ///
    /// # Errors
    /// [`Error::Serialization`] when `value` cannot be written. The batch can then no longer be returned.
    pub fn json<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<&mut Self, Error> {
        self.payload_with(|payload| serde_json::to_writer(payload, value)).map_err(|error| {
            self.batch.fault = Some(Fault::NotWritten);
            Error::serialization("a record cannot be written as JSON").with_cause(error)
        })?;
        Ok(self)
    }

    /// Copies the record key in.
    pub fn key(&mut self, key: &[u8]) -> &mut Self {
        let (offset, bytes) = self.batch.append(key);
        let record = self.batch.last();
        (record.key, record.key_bytes) = (offset, bytes);
        self
    }

    /// The upstream's own identity of the record, stable over a replay.
    pub fn id(&mut self, id: &str) -> &mut Self {
        let (offset, bytes) = self.batch.append(id.as_bytes());
        let record = self.batch.last();
        (record.id, record.id_bytes) = (offset, bytes);
        self
    }

    /// Adds one header after those it has.
    pub fn header(&mut self, name: &str, value: &[u8]) -> &mut Self {
        let (name, name_bytes) = self.batch.append(name.as_bytes());
        let (value, value_bytes) = self.batch.append(value);
        self.batch.headers.push(RawHeader { name, value, name_bytes, value_bytes });
        // One-based like the offsets: the position of this header in the table of headers.
        let position = ptr::without_provenance(self.batch.headers.len());
        let record = self.batch.last();
        if record.headers_count == 0 {
            record.headers = position;
        }
        record.headers_count += 1;
        self
    }

    /// Milliseconds since the Unix epoch.
    pub fn timestamp_ms(&mut self, timestamp_ms: i64) -> &mut Self {
        self.batch.last().timestamp_ms = timestamp_ms;
        self
    }

    /// When it happened upstream, in nanoseconds since the Unix epoch.
    pub fn event_time_ns(&mut self, event_time_ns: i64) -> &mut Self {
        self.batch.last().event_time_ns = event_time_ns;
        self
    }
}

/// Appends to the payload being written. It can only grow, so what other records wrote stays where it is.
#[derive(Debug)]
pub struct PayloadWriter<'a> {
    arena: &'a mut Vec<u8>,
}

impl PayloadWriter<'_> {
    /// Appends these bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.arena.extend_from_slice(bytes);
    }

    /// Appends so many zero bytes and hands them out to be written over.
    pub fn grow(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.arena.len();
        self.arena.resize(start + bytes, 0);
        &mut self.arena[start..]
    }
}

impl io::Write for PayloadWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
