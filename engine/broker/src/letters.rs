//! Reading a topic of dead letters, and keeping the place of a replay in it.
//!
//! The place is a committed offset of a consumer group that has no members: letters before it were sent, but for those
//! whose offsets stand beside it, because they failed again. Nothing is subscribed to, so nothing is rebalanced.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use pico_config::Kafka;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::{Headers as _, Message as _};
use rdkafka::{Offset, TopicPartitionList};

use crate::error::{self, BrokerError};
use crate::settings;

/// One question to the broker.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Time without a record while some are expected.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// What stands before the offsets beside a place. Kafka takes 4,096 bytes of such notes.
const LEFT: &str = "left=";
/// Letters that may be left behind in one partition: their offsets fit into the note.
pub const LEFT_MAX: usize = 190;

/// One dead letter as it lies in its topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// Its partition.
    pub partition: i32,
    /// Its offset there.
    pub offset: i64,
    /// Unix milliseconds.
    pub timestamp_ms: Option<i64>,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its payload; None is a tombstone.
    pub payload: Option<Vec<u8>>,
    /// Its headers in their order.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// How far the replay of a partition has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The first letter that was not looked at.
    pub next: i64,
    /// Letters before it that failed again.
    pub left: BTreeSet<i64>,
}

/// What there is in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The first letter that the broker still has.
    pub first: i64,
    /// One past the last.
    pub end: i64,
    /// Of the replay.
    pub place: Place,
}

/// Reads one topic. Blocks: not for a thread that must not.
pub struct LetterReader {
    consumer: BaseConsumer,
    topic: String,
}

impl LetterReader {
    /// Makes the client; `group` keeps the place of a replay.
    ///
    /// # Errors
    /// Settings that librdkafka refuses.
    pub fn open(kafka: &Kafka, topic: &str, group: &str) -> Result<LetterReader, BrokerError> {
        let config = settings::client_config(&settings::reader(kafka, group));
        let consumer = config.create().map_err(settings::refusal)?;
        Ok(LetterReader { consumer, topic: topic.to_owned() })
    }

    /// What every partition holds now; nothing when there is no such topic.
    ///
    /// # Errors
    /// The broker does not answer, or not this user.
    pub fn extents(&self) -> Result<BTreeMap<i32, Extent>, BrokerError> {
        let metadata = self.consumer.fetch_metadata(Some(&self.topic), ANSWER_WITHIN);
        let metadata = metadata.map_err(|cause| self.failed(&cause))?;
        let topics = metadata.topics().iter().filter(|topic| topic.name() == self.topic);
        let mut wanted = TopicPartitionList::new();
        for partition in topics.flat_map(|topic| topic.partitions()) {
            wanted.add_partition(&self.topic, partition.id());
        }
        if wanted.count() == 0 {
            return Ok(BTreeMap::new());
        }
        let committed = self.consumer.committed_offsets(wanted, ANSWER_WITHIN);
        let committed = committed.map_err(|cause| self.failed(&cause))?;
        let mut extents = BTreeMap::new();
        for element in committed.elements() {
            let partition = element.partition();
            let range = self.consumer.fetch_watermarks(&self.topic, partition, ANSWER_WITHIN);
            let (first, end) = range.map_err(|cause| self.failed(&cause))?;
            let next = match element.offset() {
                Offset::Offset(next) => next.clamp(first, end),
                _none_committed => first,
            };
            let left = left_of(element.metadata()).filter(|offset| (first..next).contains(offset));
            extents.insert(partition, Extent { first, end, place: Place { next, left: left.collect() } });
        }
        Ok(extents)
    }

    /// Hands every letter from `from` to the end of a partition to `take`, until that says no more.
    ///
    /// # Errors
    /// The broker falls silent, or refuses.
    pub fn read(
        &self,
        partition: i32,
        range: std::ops::Range<i64>,
        mut take: impl FnMut(Letter) -> bool,
    ) -> Result<(), BrokerError> {
        if range.is_empty() {
            return Ok(());
        }
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&self.topic, partition, Offset::Offset(range.start))
            .map_err(|cause| self.failed(&cause))?;
        self.consumer.assign(&list).map_err(|cause| self.failed(&cause))?;
        let mut heard = Instant::now();
        loop {
            match self.consumer.poll(Duration::from_millis(200)) {
                Some(Ok(message)) if message.offset() < range.end => {
                    heard = Instant::now();
                    let is_last = message.offset() + 1 >= range.end;
                    if !take(letter_of(&message)) || is_last {
                        return Ok(());
                    }
                }
                Some(Ok(_) | Err(KafkaError::PartitionEOF(_))) => return Ok(()),
                Some(Err(cause)) if heard.elapsed() > SILENCE_MAX => return Err(self.failed(&cause)),
                None if heard.elapsed() > SILENCE_MAX => {
                    let reason = format!("no record for {SILENCE_MAX:?} although there are some");
                    return Err(BrokerError::Letters { topic: self.topic.clone(), reason });
                }
                Some(Err(_)) | None => {}
            }
        }
    }

    /// Keeps the places of a replay, durably when it returns.
    ///
    /// # Errors
    /// The broker does not take them: what was sent since the last ones is sent again by the next replay.
    pub fn keep(&self, places: &BTreeMap<i32, Place>) -> Result<(), BrokerError> {
        let mut list = TopicPartitionList::new();
        for (partition, place) in places {
            let left: Vec<String> = place.left.iter().map(i64::to_string).collect();
            let mut element = list.add_partition(&self.topic, *partition);
            element.set_offset(Offset::Offset(place.next)).map_err(|cause| self.failed(&cause))?;
            element.set_metadata(format!("{LEFT}{}", left.join(",")));
        }
        self.consumer.commit(&list, CommitMode::Sync).map_err(|cause| self.failed(&cause))
    }

    fn failed(&self, cause: &KafkaError) -> BrokerError {
        let reason = cause.rdkafka_error_code().map_or_else(|| cause.to_string(), error::words);
        BrokerError::Letters { topic: self.topic.clone(), reason }
    }
}

/// The offsets in the note beside a place; another program's note has none.
fn left_of(note: &str) -> impl Iterator<Item = i64> {
    let offsets = note.strip_prefix(LEFT).unwrap_or_default();
    offsets.split(',').filter_map(|offset| offset.parse().ok())
}

fn letter_of(message: &rdkafka::message::BorrowedMessage<'_>) -> Letter {
    let headers = message.headers().into_iter().flat_map(|headers| headers.iter());
    let header = |header: rdkafka::message::Header<'_, &[u8]>| {
        (header.key.to_owned(), header.value.unwrap_or_default().to_vec())
    };
    Letter {
        partition: message.partition(),
        offset: message.offset(),
        timestamp_ms: message.timestamp().to_millis(),
        key: message.key().map(<[u8]>::to_vec),
        payload: message.payload().map(<[u8]>::to_vec),
        headers: headers.map(header).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_may_be_left_fits_beside_a_place() {
        let left: Vec<String> = (0..LEFT_MAX).map(|_| i64::MAX.to_string()).collect();
        let note = format!("{LEFT}{}", left.join(","));
        assert!(note.len() <= 4_096, "{}", note.len());
        assert_eq!(left_of(&note).count(), LEFT_MAX);
    }

    #[test]
    fn the_note_of_another_program_leaves_nothing() {
        assert_eq!(left_of("").count() + left_of("7,8").count() + left_of("left=").count(), 0);
    }
}
