//! The copy of one record that a listener gets.

use std::sync::Arc;

use pico_record::{Group, Outgoing};
use picomq_connector_sdk::ffi::host::GuestBatch;

/// Bytes copied of a payload.
const BYTES_MAX: usize = 8 * 1024;

/// Bytes copied of a key.
const KEY_BYTES_MAX: usize = 512;

/// Bytes copied of a header's value.
const HEADER_BYTES_MAX: usize = 256;

/// Headers copied.
const HEADERS_MAX: usize = 16;

/// One record, cut to a bounded size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Number of its batch.
    pub batch: u64,
    /// Where it goes; `None` before that was decided.
    pub topic: Option<Arc<str>>,
    /// Which `[[topics]]` block sends it there.
    pub block: Option<u16>,
    /// Milliseconds since the Unix epoch, where the plugin gave them.
    pub timestamp_ms: Option<i64>,
    /// Its key.
    pub key: Option<Piece>,
    /// Its headers, the first of them.
    pub headers: Vec<(String, Piece)>,
    /// What it carries; `None` is a tombstone.
    pub payload: Option<Piece>,
}

/// Some bytes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The first of them.
    pub bytes: Vec<u8>,
    /// How many there are.
    pub length: usize,
}

impl Piece {
    fn of(bytes: &[u8], max: usize) -> Piece {
        Piece { bytes: bytes[..bytes.len().min(max)].to_vec(), length: bytes.len() }
    }

    /// Whether there is more than was copied.
    pub fn is_cut(&self) -> bool {
        self.bytes.len() < self.length
    }
}

fn headers<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<(String, Piece)> {
    let first = headers.take(HEADERS_MAX);
    first.map(|(name, value)| (name.to_owned(), Piece::of(value, HEADER_BYTES_MAX))).collect()
}

impl Sample {
    pub(super) fn polled(batch_number: u64, batch: &GuestBatch, index: usize) -> Sample {
        let record = batch.record(index);
        Sample {
            batch: batch_number,
            topic: None,
            block: None,
            timestamp_ms: record.timestamp_ms,
            key: record.key.map(|key| Piece::of(key, KEY_BYTES_MAX)),
            headers: headers(record.headers()),
            payload: record.payload.map(|payload| Piece::of(payload, BYTES_MAX)),
        }
    }

    pub(super) fn outgoing(batch_number: u64, group: &Group, record: &Outgoing<'_>) -> Sample {
        Sample {
            batch: batch_number,
            topic: Some(group.topic.clone()),
            block: Some(group.block),
            timestamp_ms: record.timestamp_ms,
            key: record.key.map(|key| Piece::of(key, KEY_BYTES_MAX)),
            headers: headers(record.headers()),
            payload: record.payload.map(|payload| Piece::of(payload, BYTES_MAX)),
        }
    }
}
