//! The sequence check of idempotent producers, one memory a topic.
//!
//! Invariant: of one producer and epoch a log holds a gapless run of sequence numbers, each once. A repeated batch among
//! the last five is answered with the offset it got at first; anything else out of line is refused.
//!
//! Stricter than Kafka since 2.5, which lets a producer unknown to the topic begin anywhere: here it begins at 0, so
//! that a batch sent behind a refused one is refused too, even on a fresh topic.

use std::collections::{BTreeMap, VecDeque};

use kafka_protocol::ResponseError;

use crate::batch::{Stamp, advance};

/// Batches of a producer that are recognised when they come again, as many as a client may have in flight.
const REMEMBERED_BATCHES: usize = 5;

/// What the sequence check says of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The next one in line: append it.
    Next,
    /// Already in the log from this offset on: do not append, answer with success.
    Duplicate {
        /// Base offset it got at first.
        base_offset: i64,
    },
}

/// What a topic remembers of its producers.
#[derive(Debug)]
pub(crate) struct Producers {
    known: BTreeMap<i64, Producer>,
    known_max: usize,
    clock: u64,
}

#[derive(Debug)]
struct Producer {
    epoch: i16,
    recent: VecDeque<Written>,
    used: u64,
}

#[derive(Debug, Clone, Copy)]
struct Written {
    first: i32,
    last: i32,
    base_offset: i64,
}

impl Producers {
    /// Remembers up to `known_max` producers.
    pub(crate) fn new(known_max: usize) -> Self {
        Self { known: BTreeMap::new(), known_max, clock: 0 }
    }

    /// Judges a batch without changing anything.
    pub(crate) fn judge(&self, stamp: &Stamp) -> Result<Verdict, ResponseError> {
        let Some(producer) = self.known.get(&stamp.producer) else {
            return begins_at_zero(stamp);
        };
        if stamp.epoch < producer.epoch {
            return Err(ResponseError::InvalidProducerEpoch);
        }
        if stamp.epoch > producer.epoch {
            return begins_at_zero(stamp);
        }
        if let Some(written) = producer.find(stamp) {
            return Ok(Verdict::Duplicate { base_offset: written.base_offset });
        }
        if stamp.first == producer.expected() {
            Ok(Verdict::Next)
        } else {
            Err(ResponseError::OutOfOrderSequenceNumber)
        }
    }

    /// Notes a batch that was appended.
    pub(crate) fn note(&mut self, stamp: &Stamp, base_offset: i64) {
        self.clock += 1;
        let used = self.clock;
        let producer = self.known.entry(stamp.producer).or_insert_with(|| Producer::new(stamp.epoch));
        if producer.epoch != stamp.epoch {
            *producer = Producer::new(stamp.epoch);
        }
        producer.used = used;
        producer.recent.push_back(Written { first: stamp.first, last: stamp.last, base_offset });
        if producer.recent.len() > REMEMBERED_BATCHES {
            producer.recent.pop_front();
        }
        if self.known.len() > self.known_max {
            self.forget_the_most_silent();
        }
    }

    /// The highest producer id seen.
    pub(crate) fn highest(&self) -> Option<i64> {
        self.known.keys().next_back().copied()
    }

    fn forget_the_most_silent(&mut self) {
        let most_silent = self.known.iter().min_by_key(|(_, producer)| producer.used);
        if let Some(id) = most_silent.map(|(id, _)| *id) {
            self.known.remove(&id);
        }
    }
}

impl Producer {
    fn new(epoch: i16) -> Self {
        Self { epoch, recent: VecDeque::with_capacity(REMEMBERED_BATCHES + 1), used: 0 }
    }

    fn find(&self, stamp: &Stamp) -> Option<&Written> {
        self.recent.iter().find(|written| written.first == stamp.first && written.last == stamp.last)
    }

    fn expected(&self) -> i32 {
        self.recent.back().map_or(0, |written| advance(written.last, 1))
    }
}

fn begins_at_zero(stamp: &Stamp) -> Result<Verdict, ResponseError> {
    if stamp.first == 0 { Ok(Verdict::Next) } else { Err(ResponseError::OutOfOrderSequenceNumber) }
}

#[cfg(test)]
mod tests;
