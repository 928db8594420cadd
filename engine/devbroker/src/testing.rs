//! Batches for the unit tests, made by the codec's encoder, which this crate does not use otherwise.

use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::records::{
    Compression, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, Record, RecordBatchEncoder,
    RecordEncodeOptions, TimestampType,
};

use crate::batch::Batch;
use crate::faults::FaultKnobs;
use crate::topic::{Appended, Topic};

/// Milliseconds of the first record of every batch; each further one is a millisecond later.
pub(crate) const BASE_TIMESTAMP: i64 = 1_700_000_000_000;

/// A producer's place in its sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct From {
    pub(crate) producer: i64,
    pub(crate) epoch: i16,
    pub(crate) sequence: i32,
}

/// A batch without a producer id.
pub(crate) fn plain(values: &[&str]) -> Batch {
    Batch::check(bytes(values, None)).unwrap()
}

/// A batch of an idempotent producer.
pub(crate) fn stamped(values: &[&str], from: From) -> Batch {
    Batch::check(bytes(values, Some(from))).unwrap()
}

/// A batch as it comes over the wire.
pub(crate) fn bytes(values: &[&str], from: Option<From>) -> Bytes {
    let records: Vec<Record> =
        values.iter().enumerate().map(|(index, value)| record(index as i64, value, from)).collect();
    let mut bytes = BytesMut::new();
    let options = RecordEncodeOptions { version: 2, compression: Compression::None };
    RecordBatchEncoder::encode(&mut bytes, &records, &options).unwrap();
    bytes.freeze()
}

fn record(offset: i64, value: &str, from: Option<From>) -> Record {
    Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: -1,
        producer_id: from.map_or(NO_PRODUCER_ID, |from| from.producer),
        producer_epoch: from.map_or(NO_PRODUCER_EPOCH, |from| from.epoch),
        timestamp_type: TimestampType::Creation,
        offset,
        sequence: from.map_or(NO_SEQUENCE, |from| from.sequence).wrapping_add(offset as i32),
        timestamp: BASE_TIMESTAMP + offset,
        key: None,
        value: Some(Bytes::copy_from_slice(value.as_bytes())),
        headers: IndexMap::new(),
    }
}

/// Appends to a topic that nobody watches.
pub(crate) fn append(topic: &Topic, batch: Batch, faults: &FaultKnobs) -> Result<Appended, ResponseError> {
    topic.append(batch, faults, |_| ())
}

/// A batch that says it is compressed with zstd.
pub(crate) fn compressed() -> Batch {
    let mut forged = BytesMut::from(&bytes(&["a"], None)[..]);
    forged[22] = 4;
    let crc = crc32c::crc32c(&forged[21..]);
    forged[17..21].copy_from_slice(&crc.to_be_bytes());
    Batch::check(forged.freeze()).unwrap()
}
