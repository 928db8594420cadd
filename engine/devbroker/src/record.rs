//! Records taken out of a batch, for tests and the live view of `dev`. Clients get whole batches instead.

use bytes::{Buf, Bytes};

use crate::batch::{Batch, Compression};

/// One record as its producer wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where it stands in its topic.
    pub offset: i64,
    /// Milliseconds since 1970, as the producer or its client set them.
    pub timestamp_ms: i64,
    /// The key; `None` is a null key, which differs from an empty one.
    pub key: Option<Bytes>,
    /// The value; `None` is a null value (a tombstone), which differs from an empty one.
    pub value: Option<Bytes>,
    /// The headers in their order, repeated names included.
    pub headers: Vec<Header>,
}

/// One header of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Its name; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// Its value, possibly null.
    pub value: Option<Bytes>,
}

/// Why a stored batch cannot be taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Undecodable {
    /// The batch is compressed in a way that this crate does not unpack. Clients still can.
    #[error("compressed with {0:?}, which is not unpacked here")]
    Compressed(Compression),
    /// The producer wrote something that is not records.
    #[error("its records are malformed")]
    Malformed,
}

/// Takes a batch apart.
pub(crate) fn decode(batch: &Batch) -> Result<Vec<Record>, Undecodable> {
    if batch.compression != Compression::None {
        return Err(Undecodable::Compressed(batch.compression));
    }
    let mut body = batch.body();
    let mut records = Vec::new();
    for _ in 0..batch.count {
        records.push(decode_one(&mut body, batch).ok_or(Undecodable::Malformed)?);
    }
    if body.has_remaining() { Err(Undecodable::Malformed) } else { Ok(records) }
}

fn decode_one(body: &mut Bytes, batch: &Batch) -> Option<Record> {
    let size = usize::try_from(varint(body)?).ok()?;
    let mut fields = take(body, size)?;
    take(&mut fields, 1)?;
    let timestamp_delta = varint(&mut fields)?;
    let offset_delta = varint(&mut fields)?;
    let key = nullable(&mut fields)?;
    let value = nullable(&mut fields)?;
    let headers = headers(&mut fields)?;
    if fields.has_remaining() || !(0..i64::from(batch.count)).contains(&offset_delta) {
        return None;
    }
    let timestamp_ms = match batch.is_log_append_time {
        true => batch.max_timestamp,
        false => batch.base_timestamp.checked_add(timestamp_delta)?,
    };
    Some(Record { offset: batch.base_offset + offset_delta, timestamp_ms, key, value, headers })
}

fn headers(fields: &mut Bytes) -> Option<Vec<Header>> {
    let count = varint(fields)?;
    let mut headers = Vec::new();
    for _ in 0..count {
        let length = usize::try_from(varint(fields)?).ok()?;
        let name = String::from_utf8_lossy(&take(fields, length)?).into_owned();
        headers.push(Header { name, value: nullable(fields)? });
    }
    (count >= 0).then_some(headers)
}

/// Length-prefixed bytes, where the length -1 is null. The outer `None` says that the bytes are malformed.
#[allow(clippy::option_option, reason = "malformed, null and present are three things")]
fn nullable(fields: &mut Bytes) -> Option<Option<Bytes>> {
    match varint(fields)? {
        -1 => Some(None),
        length => Some(Some(take(fields, usize::try_from(length).ok()?)?)),
    }
}

fn take(bytes: &mut Bytes, length: usize) -> Option<Bytes> {
    (length <= bytes.len()).then(|| bytes.split_to(length))
}

/// A zigzag variable-length integer of at most ten bytes.
fn varint(bytes: &mut Bytes) -> Option<i64> {
    let mut raw: u64 = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes.try_get_u8().ok()?;
        raw |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((raw >> 1) as i64 ^ -((raw & 1) as i64));
        }
    }
    None
}

#[cfg(test)]
mod tests;
