//! What crosses the border, in C layout. Changing the layout of anything here changes [`ABI`].
//!
//! A library exports one function, [`SYMBOL`], which answers a static [`Descriptor`]. Its first field is the ABI
//! number, so that a mismatch is found before anything else is read. Every `start` function of [`Functions`] ends
//! in exactly one call of [`HostTable::complete`] with the token it was given: on any thread, perhaps before it
//! returns. Memory is freed by the side that allocated it. Nothing may unwind across.

use std::ptr;

use super::TEXT_BYTES_MAX;

/// The ABI both sides must speak.
pub const ABI: u32 = 1;

/// The one symbol a plugin exports: `extern "C" fn() -> *const Descriptor`.
pub const SYMBOL: &str = "picomq_connector_source";

/// The function behind [`SYMBOL`]. Null when the plugin could not describe itself.
pub type Entry = unsafe extern "C" fn() -> *const Descriptor;

/// Borrowed bytes, alive for the duration of the call they are an argument of, or for ever in a [`Descriptor`].
/// A null pointer means "none", which differs from empty.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawBytes {
    /// The first byte.
    pub data: *const u8,
    /// How many there are.
    pub len: usize,
}

/// What a plugin is, static.
#[derive(Debug)]
#[repr(C)]
pub struct Descriptor {
    /// Always first; see [`ABI`].
    pub abi: u32,
    /// Bytes of this struct as the plugin knows it.
    pub size: u32,
    /// Bits of [`capability`].
    pub capabilities: u64,
    /// UTF-8, for example `random`.
    pub name: RawBytes,
    /// UTF-8, the version of the plugin.
    pub version: RawBytes,
    /// UTF-8, a JSON Schema of `[plugin_config]`.
    pub config_schema: RawBytes,
    /// What can be called.
    pub functions: *const Functions,
}

/// The bits of [`Descriptor::capabilities`].
pub mod capability {
    /// May be polled again before the verdict on an earlier batch.
    pub const PIPELINED: u64 = 1;
    /// Waits for others to call, instead of asking.
    pub const LISTENER: u64 = 1 << 1;
    /// Brings an async runtime of its own.
    pub const OWN_RUNTIME: u64 = 1 << 2;
    /// Was built so that a panic unwinds and can be caught. Refused without.
    pub const UNWINDS: u64 = 1 << 3;
}

/// The calls into a plugin. The first seven entries must be there; the others may be null or, in a table of a
/// smaller size, missing.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Functions {
    /// Bytes of this struct as the plugin knows it.
    pub size: u32,
    /// Starts opening an instance; done with [`RawOutcome::instance`].
    pub open: Option<unsafe extern "C" fn(*const RawOpen, RawToken)>,
    /// Starts the next poll; one at a time an instance. Done with [`RawOutcome::batch`].
    pub poll: Option<unsafe extern "C" fn(u64, RawToken)>,
    /// Starts telling a [`verdict`]; one at a time, an Ack perhaps while a poll runs, a Nack never.
    pub resolve: Option<unsafe extern "C" fn(u64, u32, RawToken)>,
    /// Asks the outstanding poll to end; without effect when there is none. Sticky until that poll completes.
    pub interrupt: Option<unsafe extern "C" fn(u64)>,
    /// Starts the author's close, after the outstanding poll has ended. `destroy` still follows.
    pub close: Option<unsafe extern "C" fn(u64, RawToken)>,
    /// Starts dropping the instance, after its outstanding calls have ended. The last call with this instance.
    pub destroy: Option<unsafe extern "C" fn(u64, RawToken)>,
    /// Gives a batch back. Needs no instance: legal after `destroy`, a panic or a leak.
    pub release: Option<unsafe extern "C" fn(*mut RawBatch)>,
    /// Starts a command by name with JSON arguments; done with JSON in [`RawOutcome::text`].
    pub command: Option<unsafe extern "C" fn(u64, RawBytes, RawBytes, RawToken)>,
    /// Starts describing a saved state for people; done with JSON in [`RawOutcome::text`]. Needs no instance.
    pub describe_state: Option<unsafe extern "C" fn(*const HostTable, RawBytes, RawToken)>,
    /// Starts a command by name with JSON arguments for a source that has no instance; done with JSON in
    /// [`RawOutcome::text`].
    pub maintain: Option<unsafe extern "C" fn(*const RawOpen, RawBytes, RawBytes, RawToken)>,
    /// Calls the `open` of this token off: it ends soon, as [`outcome::INTERRUPTED`] or as it would have. Without effect
    /// when it has ended.
    pub call_off: Option<unsafe extern "C" fn(RawToken)>,
}

/// The arguments of [`Functions::open`]. All of it is borrowed for the call, except `host`, which stays for ever.
#[derive(Debug)]
#[repr(C)]
pub struct RawOpen {
    /// Bytes of this struct as the host knows it.
    pub size: u32,
    /// One of [`mode`].
    pub mode: u32,
    /// How to answer.
    pub host: *const HostTable,
    /// Names this source to [`HostTable::log`] and [`HostTable::report`].
    pub source: u64,
    /// UTF-8, the key of the definition.
    pub key: RawBytes,
    /// UTF-8, `[plugin_config]` as JSON.
    pub config: RawBytes,
    /// The saved state; null for none.
    pub state: RawBytes,
    /// Most records a batch may have.
    pub batch_records: u32,
    /// Most bytes a record may have; zero when the host does not say.
    pub record_bytes: u32,
    /// Most bytes a batch may have.
    pub batch_bytes: u64,
    /// After so long the plugin drops the future of `open`.
    pub open_timeout_ms: u64,
    /// After so long the plugin drops the future of `resolve`.
    pub verdict_timeout_ms: u64,
}

/// What an instance is opened for.
pub mod mode {
    /// To deliver.
    pub const RUN: u32 = 0;
    /// To look: create, drop and owe nothing.
    pub const INSPECT: u32 = 1;
}

/// What became of a batch.
pub mod verdict {
    /// Delivered and saved.
    pub const ACK: u32 = 0;
    /// Neither is certain.
    pub const NACK: u32 = 1;
}

/// The calls into the engine; static, the same for every library.
#[derive(Debug)]
#[repr(C)]
pub struct HostTable {
    /// See [`ABI`].
    pub abi: u32,
    /// Bytes of this struct as the host knows it.
    pub size: u32,
    /// Ends a started call. The outcome is borrowed, its batch is given away.
    pub complete: unsafe extern "C" fn(RawToken, *const RawOutcome),
    /// Hands over a log event of a source; 0 for none in particular.
    pub log: unsafe extern "C" fn(u64, *const RawEvent),
    /// Hands over a gauge or a check of a source.
    pub report: unsafe extern "C" fn(u64, *const RawReport),
    /// The most verbose [`level`] that anybody listens to now.
    pub max_level: unsafe extern "C" fn() -> u32,
}

/// Names one started call. Numbers, never a pointer: a late or second completion finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RawToken {
    /// Which library was called.
    pub library: u32,
    /// Zero.
    pub reserved: u32,
    /// Which call of it.
    pub call: u64,
}

/// How a started call ended.
#[derive(Debug)]
#[repr(C)]
pub struct RawOutcome {
    /// Bytes of this struct as the plugin knows it.
    pub size: u32,
    /// One of [`outcome`].
    pub kind: u32,
    /// UTF-8: why it failed, or the JSON it answers.
    pub text: RawBytes,
    /// After a good `open`, what names the instance. The host gives no meaning to it.
    pub instance: u64,
    /// After a good `poll`; owned by the host until it is released. Null otherwise.
    pub batch: *mut RawBatch,
}

/// The values of [`RawOutcome::kind`].
pub mod outcome {
    /// As asked.
    pub const DONE: u32 = 0;
    /// The definition is wrong.
    pub const CONFIG: u32 = 1;
    /// The saved state cannot be read.
    pub const STATE: u32 = 2;
    /// It will not work again by itself.
    pub const PERMANENT: u32 = 3;
    /// It may work later.
    pub const TRANSIENT: u32 = 4;
    /// The poll was asked to end and has nothing to return, or the opening was called off.
    pub const INTERRUPTED: u32 = 5;
    /// The future was dropped past its timeout.
    pub const TIMED_OUT: u32 = 6;
    /// The author's code panicked: only `destroy` may follow.
    pub const PANICKED: u32 = 7;
    /// The batch was beyond the limits given to `open`; it is not handed over.
    pub const LIMIT: u32 = 8;
    /// There is no such command, or no such instance.
    pub const UNKNOWN: u32 = 9;
}

/// A batch on its way: a table of records and what they point to, unchanged until it is released.
#[derive(Debug)]
#[repr(C)]
pub struct RawBatch {
    /// Bytes of this struct as the plugin knows it.
    pub size: u32,
    /// One of [`schema`].
    pub schema: u32,
    /// `records_count` entries in a row; may be null when there are none.
    pub records: *const RawRecord,
    /// How many records there are.
    pub records_count: u64,
    /// The candidate state; null for none.
    pub state: RawBytes,
}

/// The values of [`RawBatch::schema`].
pub mod schema {
    /// JSON.
    pub const JSON: u32 = 0;
    /// Opaque.
    pub const RAW: u32 = 1;
    /// UTF-8.
    pub const TEXT: u32 = 2;
    /// Protocol Buffers.
    pub const PROTO: u32 = 3;
    /// FlatBuffers.
    pub const FLATBUFFER: u32 = 4;
    /// Avro.
    pub const AVRO: u32 = 5;
}

/// One record of a batch: 64 bytes, a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawRecord {
    /// Null for a tombstone; an empty payload is not null.
    pub payload: *const u8,
    /// Null when the record has no key; an empty key is not null.
    pub key: *const u8,
    /// UTF-8; null when the record has no id.
    pub id: *const u8,
    /// `headers_count` entries in a row; may be null when there are none.
    pub headers: *const RawHeader,
    /// Milliseconds since the Unix epoch, or [`NO_TIME`].
    pub timestamp_ms: i64,
    /// Nanoseconds since the Unix epoch, or [`NO_TIME`].
    pub event_time_ns: i64,
    /// Bytes at `payload`.
    pub payload_bytes: u32,
    /// Bytes at `key`.
    pub key_bytes: u32,
    /// Bytes at `id`.
    pub id_bytes: u32,
    /// Entries at `headers`.
    pub headers_count: u32,
}

/// One header of a record. Neither pointer is null.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawHeader {
    /// UTF-8.
    pub name: *const u8,
    /// Any bytes.
    pub value: *const u8,
    /// Bytes at `name`.
    pub name_bytes: u32,
    /// Bytes at `value`.
    pub value_bytes: u32,
}

/// Stands for "none" in the two times of a record.
pub const NO_TIME: i64 = i64::MIN;

/// One log event.
#[derive(Debug)]
#[repr(C)]
pub struct RawEvent {
    /// Bytes of this struct as the plugin knows it.
    pub size: u32,
    /// One of [`level`].
    pub level: u32,
    /// UTF-8, the module that speaks.
    pub target: RawBytes,
    /// UTF-8.
    pub message: RawBytes,
    /// `fields_count` entries in a row.
    pub fields: *const RawField,
    /// How many fields there are.
    pub fields_count: usize,
}

/// One field of a log event, its value as text.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawField {
    /// UTF-8.
    pub name: RawBytes,
    /// UTF-8.
    pub value: RawBytes,
}

/// How much a log event matters; larger is more verbose.
pub mod level {
    /// Nothing at all.
    pub const OFF: u32 = 0;
    /// Lost ability.
    pub const ERROR: u32 = 1;
    /// Needs a look.
    pub const WARN: u32 = 2;
    /// A life event.
    pub const INFO: u32 = 3;
    /// A batch.
    pub const DEBUG: u32 = 4;
    /// Anything.
    pub const TRACE: u32 = 5;
}

/// A gauge or a check.
#[derive(Debug)]
#[repr(C)]
pub struct RawReport {
    /// Bytes of this struct as the plugin knows it.
    pub size: u32,
    /// One of [`report`].
    pub kind: u32,
    /// The value of a gauge.
    pub value: f64,
    /// UTF-8, the name of a check.
    pub name: RawBytes,
    /// One of [`check`].
    pub status: u32,
    /// Zero.
    pub reserved: u32,
    /// Since when the check has this status, in milliseconds since the Unix epoch, or [`NO_TIME`].
    pub since_ms: i64,
    /// UTF-8, what to do about it.
    pub advice: RawBytes,
}

/// The values of [`RawReport::kind`].
pub mod report {
    /// Gauge: how far behind its upstream the source is, in seconds.
    pub const LAG_SECONDS: u32 = 0;
    /// Gauge: how far behind its upstream the source is, in bytes.
    pub const LAG_BYTES: u32 = 1;
    /// A check.
    pub const CHECK: u32 = 2;
}

/// The values of [`RawReport::status`].
pub mod check {
    /// As it should be.
    pub const OK: u32 = 0;
    /// Needs a look.
    pub const WARN: u32 = 1;
    /// Does not work.
    pub const FAIL: u32 = 2;
}

impl RawBytes {
    /// None.
    pub const NONE: RawBytes = RawBytes { data: ptr::null(), len: 0 };

    /// Borrows `bytes`; the caller keeps them alive for as long as they may be read.
    pub const fn of(bytes: &[u8]) -> RawBytes {
        RawBytes { data: bytes.as_ptr(), len: bytes.len() }
    }

    /// # Safety
    /// `data` is null, or points to `len` bytes that live and stay unchanged for `'a`.
    pub(crate) unsafe fn get<'a>(self) -> Option<&'a [u8]> {
        if self.data.is_null() {
            return None;
        }
        // SAFETY: the caller's promise, and it is not null.
        Some(unsafe { std::slice::from_raw_parts(self.data, self.len) })
    }

    /// As text; what is not UTF-8 is replaced.
    ///
    /// # Safety
    /// As [`get`](RawBytes::get).
    pub(crate) unsafe fn text(self) -> String {
        // SAFETY: the caller's promise.
        let bytes = unsafe { self.get() };
        bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
    }

    /// As [`text`](RawBytes::text), cut after [`TEXT_BYTES_MAX`] bytes: what people read.
    ///
    /// # Safety
    /// As [`get`](RawBytes::get).
    pub(crate) unsafe fn message(self) -> String {
        if self.len <= TEXT_BYTES_MAX {
            // SAFETY: the caller's promise.
            return unsafe { self.text() };
        }
        // SAFETY: the caller's promise, for the first of these bytes.
        let mut text = unsafe { RawBytes { len: TEXT_BYTES_MAX, ..self }.text() };
        text.push_str(" …");
        text
    }
}

impl Functions {
    /// A table of which nothing was read.
    pub const NONE: Functions = Functions {
        size: 0,
        open: None,
        poll: None,
        resolve: None,
        interrupt: None,
        close: None,
        destroy: None,
        release: None,
        command: None,
        describe_state: None,
        maintain: None,
        call_off: None,
    };
}

impl RawRecord {
    /// A tombstone without anything.
    pub const EMPTY: RawRecord = RawRecord {
        payload: ptr::null(),
        key: ptr::null(),
        id: ptr::null(),
        headers: ptr::null(),
        timestamp_ms: NO_TIME,
        event_time_ns: NO_TIME,
        payload_bytes: 0,
        key_bytes: 0,
        id_bytes: 0,
        headers_count: 0,
    };
}

// SAFETY: the pointers are plain numbers until unsafe code reads through them; whoever does so states what keeps
// the memory alive and unchanged.
unsafe impl Send for RawRecord {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for RawRecord {}
// SAFETY: as above.
unsafe impl Send for RawHeader {}
// SAFETY: as above.
unsafe impl Sync for RawHeader {}
// SAFETY: a descriptor is static and never changed.
unsafe impl Send for Descriptor {}
// SAFETY: as above.
unsafe impl Sync for Descriptor {}

#[cfg(test)]
mod tests;
