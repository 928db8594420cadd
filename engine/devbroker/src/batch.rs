//! One record batch (message format 2) as it came over the wire.
//!
//! The bytes stay as received, so every compression passes through. Only base offset and leader epoch are patched when
//! the batch gets its place in the log; the checksum covers neither.

use bytes::{Buf, Bytes, BytesMut};

/// Bytes before the records.
pub(crate) const HEADER_BYTES: usize = 61;
/// Bytes before the part that the length field counts.
pub(crate) const LENGTH_PREFIX_BYTES: usize = 12;
/// The only leader epoch there is: one broker leads every topic from the start.
pub(crate) const LEADER_EPOCH: i32 = 0;

const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
const CHECKED_FROM: usize = 21;
const CODEC_MASK: i16 = 0x7;
const LOG_APPEND_TIME: i16 = 1 << 3;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;

/// How the records of a batch are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    None,
    /// gzip.
    Gzip,
    /// Snappy, in the framing of the Java client or raw.
    Snappy,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// Who wrote a batch and where it stands in the writer's sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) producer: i64,
    pub(crate) epoch: i16,
    pub(crate) first: i32,
    pub(crate) last: i32,
}

/// Why bytes are not a batch this broker takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadBatch {
    #[error("bytes end inside the batch")]
    Truncated,
    #[error("message format {0} instead of 2")]
    OldFormat(i8),
    #[error("checksum does not match")]
    Checksum,
    #[error("more than one batch, or bytes after it")]
    Trailing,
    #[error("record count and last offset do not match")]
    Count,
    #[error("unknown compression")]
    UnknownCompression,
    #[error("control batches are written by brokers only")]
    Control,
    #[error("transactional batch")]
    Transactional,
    #[error("producer id without epoch or sequence")]
    Stamp,
}

/// A checked batch.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    bytes: Bytes,
    pub(crate) base_offset: i64,
    pub(crate) count: i32,
    pub(crate) base_timestamp: i64,
    pub(crate) max_timestamp: i64,
    pub(crate) is_log_append_time: bool,
    pub(crate) compression: Compression,
    pub(crate) stamp: Option<Stamp>,
}

impl Batch {
    /// Takes bytes that must be exactly one batch. The checksum is compared here and nowhere else.
    pub(crate) fn check(bytes: Bytes) -> Result<Self, BadBatch> {
        let whole = whole_length(&bytes).ok_or(BadBatch::Truncated)?;
        let magic = bytes[MAGIC_AT] as i8;
        if magic != 2 {
            return Err(BadBatch::OldFormat(magic));
        }
        if bytes.len() < whole || whole < HEADER_BYTES {
            return Err(BadBatch::Truncated);
        }
        if bytes.len() > whole {
            return Err(BadBatch::Trailing);
        }
        let crc = (&bytes[CRC_AT..CHECKED_FROM]).get_u32();
        if crc != crc32c::crc32c(&bytes[CHECKED_FROM..]) {
            return Err(BadBatch::Checksum);
        }
        Self::parse(bytes)
    }

    fn parse(bytes: Bytes) -> Result<Self, BadBatch> {
        let base_offset = (&bytes[..]).get_i64();
        let mut fields = &bytes[CHECKED_FROM..HEADER_BYTES];
        let attributes = fields.get_i16();
        let last_delta = fields.get_i32();
        let base_timestamp = fields.get_i64();
        let max_timestamp = fields.get_i64();
        let (producer, epoch, first) = (fields.get_i64(), fields.get_i16(), fields.get_i32());
        let count = fields.get_i32();
        if attributes & CONTROL != 0 {
            return Err(BadBatch::Control);
        }
        if attributes & TRANSACTIONAL != 0 {
            return Err(BadBatch::Transactional);
        }
        if count < 1 || last_delta != count - 1 {
            return Err(BadBatch::Count);
        }
        let stamp = stamp(producer, epoch, first, count)?;
        let compression = compression(attributes)?;
        let is_log_append_time = attributes & LOG_APPEND_TIME != 0;
        Ok(Self {
            bytes,
            base_offset,
            count,
            base_timestamp,
            max_timestamp,
            is_log_append_time,
            compression,
            stamp,
        })
    }

    /// Gives the batch its place: a copy of the bytes with base offset and leader epoch patched, so that the request
    /// frame it came in can be freed.
    pub(crate) fn at(mut self, base_offset: i64) -> Self {
        let mut patched = BytesMut::from(&self.bytes[..]);
        patched[..8].copy_from_slice(&base_offset.to_be_bytes());
        patched[LENGTH_PREFIX_BYTES..MAGIC_AT].copy_from_slice(&LEADER_EPOCH.to_be_bytes());
        self.bytes = patched.freeze();
        self.base_offset = base_offset;
        self
    }

    /// The offset after the last record.
    pub(crate) fn next_offset(&self) -> i64 {
        self.base_offset + i64::from(self.count)
    }

    /// The whole batch as it goes over the wire.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The records, compressed or not.
    pub(crate) fn body(&self) -> Bytes {
        self.bytes.slice(HEADER_BYTES..)
    }

    /// Bytes on the wire, in memory and on disk.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// Length of the batch that starts `bytes`, when its length field is there and sane; the rest may be missing.
pub(crate) fn whole_length(bytes: &[u8]) -> Option<usize> {
    if bytes.len() <= MAGIC_AT {
        return None;
    }
    let length = (&bytes[8..LENGTH_PREFIX_BYTES]).get_i32();
    usize::try_from(length).ok()?.checked_add(LENGTH_PREFIX_BYTES)
}

fn compression(attributes: i16) -> Result<Compression, BadBatch> {
    match attributes & CODEC_MASK {
        0 => Ok(Compression::None),
        1 => Ok(Compression::Gzip),
        2 => Ok(Compression::Snappy),
        3 => Ok(Compression::Lz4),
        4 => Ok(Compression::Zstd),
        _ => Err(BadBatch::UnknownCompression),
    }
}

fn stamp(producer: i64, epoch: i16, first: i32, count: i32) -> Result<Option<Stamp>, BadBatch> {
    if producer < 0 {
        return Ok(None);
    }
    if epoch < 0 || first < 0 {
        return Err(BadBatch::Stamp);
    }
    Ok(Some(Stamp { producer, epoch, first, last: advance(first, count - 1) }))
}

/// Sequence numbers run from 0 to `i32::MAX` and start over.
pub(crate) fn advance(sequence: i32, by: i32) -> i32 {
    let sum = i64::from(sequence) + i64::from(by);
    (sum % (i64::from(i32::MAX) + 1)) as i32
}

#[cfg(test)]
mod tests;
