//! What crosses the border, in C layout. Changing anything here changes [`ABI`].

use std::ptr;

/// One record of a batch: 64 bytes, pointers into memory of the side that made the batch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawRecord {
    /// Null for a tombstone; an empty payload is not null.
    pub payload: *const u8,
    /// Null when the record has no key; an empty key is not null.
    pub key: *const u8,
    /// UTF-8; null when the record has no id.
    pub id: *const u8,
    /// `headers_count` entries in a row; null when there are none.
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
