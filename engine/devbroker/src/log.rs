//! The log of one topic in memory. Pure: no clock, no files, no sockets.
//!
//! Invariants: offsets are gapless from `start` to `end`; what was appended is never changed; only whole batches leave,
//! the oldest first, and the newest never does.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;

use crate::batch::Batch;
use crate::producers::{Producers, Verdict};
use crate::record::{self, Record, Undecodable};

/// The batches of a topic and the memory of its producers.
#[derive(Debug)]
pub(crate) struct Log {
    batches: VecDeque<Batch>,
    start: i64,
    end: i64,
    bytes: u64,
    producers: Producers,
}

/// An offset that the log does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutOfRange;

/// Why a batch inside the log cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadBody {
    pub(crate) base_offset: i64,
    pub(crate) reason: Undecodable,
}

impl Log {
    /// An empty log that remembers up to `producers_max` producers.
    pub(crate) fn new(producers_max: usize) -> Self {
        Self {
            batches: VecDeque::new(),
            start: 0,
            end: 0,
            bytes: 0,
            producers: Producers::new(producers_max),
        }
    }

    /// The oldest offset kept.
    pub(crate) fn start(&self) -> i64 {
        self.start
    }

    /// The offset the next record gets. Everything below it is committed: there are no replicas to wait for.
    pub(crate) fn end(&self) -> i64 {
        self.end
    }

    /// Bytes of all batches.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The highest producer id seen.
    pub(crate) fn highest_producer(&self) -> Option<i64> {
        self.producers.highest()
    }

    /// Whether a batch may be appended, is a repetition, or is out of line.
    pub(crate) fn judge(&self, batch: &Batch) -> Result<Verdict, ResponseError> {
        batch.stamp.map_or(Ok(Verdict::Next), |stamp| self.producers.judge(&stamp))
    }

    /// Appends a batch that got its place with [`Batch::at`] the end of this log.
    pub(crate) fn append(&mut self, batch: Batch) {
        assert_eq!(batch.base_offset, self.end, "a batch is placed at the end of the log");
        if let Some(stamp) = &batch.stamp {
            self.producers.note(stamp, batch.base_offset);
        }
        self.end = batch.next_offset();
        self.bytes += batch.len() as u64;
        self.batches.push_back(batch);
    }

    /// Takes over the first batch of a file, whose older ones were dropped before.
    pub(crate) fn begin_at(&mut self, offset: i64) {
        assert!(self.batches.is_empty(), "only an empty log can begin elsewhere");
        (self.start, self.end) = (offset, offset);
    }

    /// Drops the oldest batch, unless it is the only one; tells how many bytes that freed.
    pub(crate) fn drop_oldest(&mut self) -> Option<u64> {
        if self.batches.len() < 2 {
            return None;
        }
        let oldest = self.batches.pop_front()?;
        let freed = oldest.len() as u64;
        self.start = oldest.next_offset();
        self.bytes -= freed;
        Some(freed)
    }

    /// All batches, oldest first.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter()
    }

    /// Whole batches from the one that holds `offset` on: at most `bytes_max`, but one batch in any case if `at_least_one`.
    pub(crate) fn read(
        &self,
        offset: i64,
        bytes_max: usize,
        at_least_one: bool,
    ) -> Result<Bytes, OutOfRange> {
        let mut length = 0;
        let mut taken = 0;
        for batch in self.from(offset)? {
            let is_free = taken == 0 && at_least_one;
            if !is_free && length + batch.len() > bytes_max {
                break;
            }
            length += batch.len();
            taken += 1;
        }
        let mut bytes = BytesMut::with_capacity(length);
        for batch in self.from(offset)?.take(taken) {
            bytes.extend_from_slice(batch.bytes());
        }
        Ok(bytes.freeze())
    }

    /// Bytes a read from `offset` could return, counted up to `enough`.
    pub(crate) fn available(&self, offset: i64, enough: usize) -> Result<usize, OutOfRange> {
        let mut length = 0;
        for batch in self.from(offset)? {
            length += batch.len();
            if length >= enough {
                break;
            }
        }
        Ok(length)
    }

    /// Up to `max` decoded records from `offset` on.
    pub(crate) fn records(
        &self,
        offset: i64,
        max: usize,
    ) -> Result<Result<Vec<Record>, BadBody>, OutOfRange> {
        let mut records = Vec::new();
        for batch in self.from(offset)? {
            if records.len() >= max {
                break;
            }
            match record::decode(batch) {
                Ok(decoded) => records.extend(decoded.into_iter().filter(|record| record.offset >= offset)),
                Err(reason) => return Ok(Err(BadBody { base_offset: batch.base_offset, reason })),
            }
        }
        records.truncate(max);
        Ok(Ok(records))
    }

    /// The first record not older than `timestamp_ms`, as (offset, timestamp). In a batch that cannot be taken apart it
    /// is the batch's first record: never too late.
    pub(crate) fn find_time(&self, timestamp_ms: i64) -> Option<(i64, i64)> {
        let batch = self.batches.iter().find(|batch| batch.max_timestamp >= timestamp_ms)?;
        let exact = record::decode(batch).ok().and_then(|records| {
            let found = records.into_iter().find(|record| record.timestamp_ms >= timestamp_ms);
            found.map(|record| (record.offset, record.timestamp_ms))
        });
        Some(exact.unwrap_or((batch.base_offset, batch.base_timestamp)))
    }

    fn from(&self, offset: i64) -> Result<impl Iterator<Item = &Batch>, OutOfRange> {
        if !(self.start..=self.end).contains(&offset) {
            return Err(OutOfRange);
        }
        let first = self.batches.partition_point(|batch| batch.next_offset() <= offset);
        Ok(self.batches.iter().skip(first))
    }
}

#[cfg(test)]
mod tests;
