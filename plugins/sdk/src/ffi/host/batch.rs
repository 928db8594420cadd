//! A batch as the engine reads it: the plugin's own memory, in place.
//!
//! Nothing is read before [`Arrived::check`] went through the whole table once; after that every accessor is safe and
//! copies nothing.

use std::ptr::NonNull;
use std::slice;

use crate::ffi::STATE_BYTES_MAX;
use crate::ffi::abi::{NO_TIME, RawBatch, RawHeader, RawRecord, schema};
use crate::ffi::guest::seal;
use crate::{Batch, Limits, Schema};

type Release = unsafe extern "C" fn(*mut RawBatch);

/// A batch that came over the border and was not looked at. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Arrived {
    raw: NonNull<RawBatch>,
    release: Release,
}

// SAFETY: the table belongs to this value alone until it is released, and `release` may be called on any thread.
unsafe impl Send for Arrived {}
// SAFETY: nothing is changed through a shared reference.
unsafe impl Sync for Arrived {}

impl Drop for Arrived {
    fn drop(&mut self) {
        // SAFETY: `raw` was given away by the plugin that `release` belongs to, and this is its only release.
        unsafe { (self.release)(self.raw.as_ptr()) };
    }
}

/// Why a batch is not taken.
#[derive(Debug)]
pub(super) enum Refused {
    /// More than allowed.
    Limit(String),
    /// The plugin broke the rules of the border.
    Invalid(String),
}

impl Arrived {
    /// # Safety
    /// `raw` is null or a batch given away by the plugin that `release` belongs to.
    pub(super) unsafe fn new(raw: *mut RawBatch, release: Release) -> Option<Arrived> {
        NonNull::new(raw).map(|raw| Arrived { raw, release })
    }

    /// Goes through the table once: counts and bytes within `limits`, no null where bytes are, text that is text.
    pub(super) fn check(self, limits: &Limits) -> Result<GuestBatch, Refused> {
        // SAFETY: the plugin handed over a whole table that stays unchanged until it is released.
        let raw = unsafe { self.raw.as_ref() };
        if (raw.size as usize) < size_of::<RawBatch>() {
            return Err(Refused::Invalid(format!("a batch table of {} bytes", raw.size)));
        }
        let schema = schema_of(raw.schema)?;
        if raw.records_count > u64::from(limits.batch_records) {
            let text = format!(
                "a batch of {} records is beyond the limit of {} ([limits] batch_records)",
                raw.records_count, limits.batch_records
            );
            return Err(Refused::Limit(text));
        }
        if raw.state.len > STATE_BYTES_MAX {
            let text = format!("a state of {} bytes is beyond the limit of {STATE_BYTES_MAX}", raw.state.len);
            return Err(Refused::Limit(text));
        }
        if raw.records.is_null() && raw.records_count > 0 {
            return Err(Refused::Invalid("a batch with records but without a table".to_owned()));
        }
        let (records, count) = match NonNull::new(raw.records.cast_mut()) {
            Some(records) => (records, raw.records_count as usize),
            None => (NonNull::dangling(), 0),
        };
        // SAFETY: not null, and the plugin says that so many entries are there.
        let bytes = bytes_of(unsafe { slice::from_raw_parts(records.as_ptr(), count) })?;
        if bytes > limits.batch_bytes {
            let text = format!(
                "a batch of {bytes} bytes is beyond the limit of {} ([limits] batch_bytes)",
                limits.batch_bytes
            );
            return Err(Refused::Limit(text));
        }
        Ok(GuestBatch { schema, records, count, bytes, arrived: self })
    }
}

/// A batch of a plugin, checked. It owns the plugin's table and gives it back when it is dropped.
#[derive(Debug)]
pub struct GuestBatch {
    schema: Schema,
    records: NonNull<RawRecord>,
    count: usize,
    bytes: u64,
    arrived: Arrived,
}

// SAFETY: as for `Arrived`, whose memory `records` points into.
unsafe impl Send for GuestBatch {}
// SAFETY: as for `Arrived`.
unsafe impl Sync for GuestBatch {}

impl GuestBatch {
    /// A batch made on this side, for tests and for ports that stand in for a plugin.
    pub fn from_batch(batch: Batch) -> GuestBatch {
        let limits = Limits { batch_records: u32::MAX, batch_bytes: u64::MAX };
        // SAFETY: sealed here, so `seal::release` of this very program takes it back.
        let arrived = unsafe { Arrived::new(seal::seal(batch), seal::release) };
        let arrived = arrived.expect("sealing allocates");
        arrived.check(&limits).expect("what the SDK seals keeps the rules it checks")
    }

    /// What the payloads are.
    pub fn schema(&self) -> Schema {
        self.schema
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no record; there may still be a state.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Payloads, keys, headers and ids together.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The candidate state, if any.
    pub fn state(&self) -> Option<&[u8]> {
        // SAFETY: the table is whole and lives as long as `self`; so does the state it points to.
        unsafe { self.arrived.raw.as_ref().state.get() }
    }

    /// The record at `index`, from 0.
    ///
    /// # Panics
    /// When there are not so many.
    #[inline]
    pub fn record(&self, index: usize) -> RecordView<'_> {
        view(&self.table()[index])
    }

    /// All records, in the plugin's order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = RecordView<'_>> {
        self.table().iter().map(view)
    }

    #[inline]
    fn table(&self) -> &[RawRecord] {
        // SAFETY: `check` saw so many entries there, and they live unchanged until `arrived` is dropped.
        unsafe { slice::from_raw_parts(self.records.as_ptr(), self.count) }
    }
}

/// One record, in the plugin's memory.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    /// `None` is a tombstone, which is not the same as empty.
    pub payload: Option<&'a [u8]>,
    /// The record key.
    pub key: Option<&'a [u8]>,
    /// Milliseconds since the Unix epoch.
    pub timestamp_ms: Option<i64>,
    /// The upstream's own identity of the record.
    pub id: Option<&'a str>,
    /// When it happened upstream, in nanoseconds since the Unix epoch.
    pub event_time_ns: Option<i64>,
    headers: &'a [RawHeader],
}

impl<'a> RecordView<'a> {
    /// The headers of the plugin, in its order; names may repeat.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = (&'a str, &'a [u8])> + use<'a> {
        self.headers.iter().map(|header| {
            // SAFETY: `check` saw that both are there and that the name is UTF-8; they live for `'a`.
            unsafe {
                let name = slice::from_raw_parts(header.name, header.name_bytes as usize);
                let value = slice::from_raw_parts(header.value, header.value_bytes as usize);
                (str::from_utf8_unchecked(name), value)
            }
        })
    }

    /// The value of the last header of this name, as Kafka's clients look one up.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers().filter(|(found, _)| *found == name).last().map(|(_, value)| value)
    }
}

/// Reads an entry that `check` has been through.
#[inline]
fn view(record: &RawRecord) -> RecordView<'_> {
    let id = bytes_at(record.id, record.id_bytes);
    RecordView {
        payload: bytes_at(record.payload, record.payload_bytes),
        key: bytes_at(record.key, record.key_bytes),
        timestamp_ms: time(record.timestamp_ms),
        // SAFETY: `check` saw that it is UTF-8.
        id: id.map(|id| unsafe { str::from_utf8_unchecked(id) }),
        event_time_ns: time(record.event_time_ns),
        headers: headers_of(record),
    }
}

/// Bytes of a record of this batch; the lifetime is that of the entry they stand in.
#[inline]
fn bytes_at<'a>(data: *const u8, len: u32) -> Option<&'a [u8]> {
    if data.is_null() {
        return None;
    }
    // SAFETY: the plugin says that so many bytes are there, and they live unchanged until the batch is released;
    // every caller ties `'a` to a borrow of the batch.
    Some(unsafe { slice::from_raw_parts(data, len as usize) })
}

#[inline]
fn headers_of(record: &RawRecord) -> &[RawHeader] {
    if record.headers.is_null() {
        return &[];
    }
    // SAFETY: not null, and the plugin says that so many headers are there.
    unsafe { slice::from_raw_parts(record.headers, record.headers_count as usize) }
}

fn time(value: i64) -> Option<i64> {
    (value != NO_TIME).then_some(value)
}

fn schema_of(number: u32) -> Result<Schema, Refused> {
    Ok(match number {
        schema::JSON => Schema::Json,
        schema::RAW => Schema::Raw,
        schema::TEXT => Schema::Text,
        schema::PROTO => Schema::Proto,
        schema::FLATBUFFER => Schema::FlatBuffer,
        schema::AVRO => Schema::Avro,
        unknown => return Err(Refused::Invalid(format!("a batch of unknown schema {unknown}"))),
    })
}

/// Checks every entry and adds up its bytes.
fn bytes_of(records: &[RawRecord]) -> Result<u64, Refused> {
    let mut bytes = 0_u64;
    for (index, record) in records.iter().enumerate() {
        let is_broken = record.payload.is_null() && record.payload_bytes > 0
            || record.key.is_null() && record.key_bytes > 0
            || record.id.is_null() && record.id_bytes > 0
            || record.headers.is_null() && record.headers_count > 0;
        if is_broken {
            return Err(Refused::Invalid(format!("record {index} has bytes at a null pointer")));
        }
        bytes += u64::from(record.payload_bytes) + u64::from(record.key_bytes) + u64::from(record.id_bytes);
        if !record.id.is_null()
            && bytes_at(record.id, record.id_bytes).is_some_and(|id| str::from_utf8(id).is_err())
        {
            return Err(Refused::Invalid(format!("the id of record {index} is not UTF-8")));
        }
        if record.headers_count > 0 {
            bytes += header_bytes(index, headers_of(record))?;
        }
    }
    Ok(bytes)
}

fn header_bytes(index: usize, headers: &[RawHeader]) -> Result<u64, Refused> {
    let mut bytes = 0_u64;
    for header in headers {
        if header.name.is_null() || header.value.is_null() {
            return Err(Refused::Invalid(format!("a header of record {index} is a null pointer")));
        }
        let name = bytes_at(header.name, header.name_bytes).unwrap_or_default();
        if str::from_utf8(name).is_err() {
            return Err(Refused::Invalid(format!("a header name of record {index} is not UTF-8")));
        }
        bytes += u64::from(header.name_bytes) + u64::from(header.value_bytes);
    }
    Ok(bytes)
}
