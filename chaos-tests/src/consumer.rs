//! Reads topics from the beginning to an end that is fixed before the reading starts.
//!
//! No group and no committed offsets: the reader assigns one partition of each topic at the offset it has got to. The
//! topics here are neither compacted nor written by transactions, so their offsets have no gaps.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::wait::wait_for;
use crate::{Error, Result};

const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The header that says which batch a record was part of.
pub const PROVENANCE: &str = "picomq.batch";

/// One record of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its topic.
    pub topic: String,
    /// Its place in the log.
    pub offset: i64,
    /// When its client took it, milliseconds since 1970.
    pub timestamp_ms: i64,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its payload; `None` is a tombstone.
    pub payload: Option<Vec<u8>>,
    /// Its headers in the order of the log.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// Where a record stood in the batch that the engine polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provenance {
    /// The opening of the source.
    pub life: u64,
    /// The number of the batch.
    pub number: u64,
    /// The place of the record in the batch, from 0.
    pub index: u64,
    /// How many records the batch had.
    pub size: u64,
}

impl Entry {
    /// The header `picomq.batch`, `<life>/<number>/<index>/<size>`; `None` when it is absent or malformed.
    pub fn provenance(&self) -> Option<Provenance> {
        let (_, value) = self.headers.iter().find(|(name, _)| name == PROVENANCE)?;
        let mut parts = std::str::from_utf8(value).ok()?.split('/').map(str::parse::<u64>);
        let mut next = || parts.next()?.ok();
        let read = Provenance { life: next()?, number: next()?, index: next()?, size: next()? };
        parts.next().is_none().then_some(read)
    }
}

/// A reader of many topics that remembers how far it got in each.
pub struct LogReader {
    consumer: BaseConsumer,
    partition: i32,
    next: BTreeMap<String, i64>,
}

impl LogReader {
    /// A reader at the beginning of everything, for topics of one partition.
    pub fn new(bootstrap: &str) -> Result<Self> {
        Self::of_partition(bootstrap, 0)
    }

    /// A reader of one partition of its topics.
    pub fn of_partition(bootstrap: &str, partition: i32) -> Result<Self> {
        let consumer = ClientConfig::new()
            .set("bootstrap.servers", bootstrap)
            .set("group.id", "chaos-ledger")
            .set("enable.auto.commit", "false")
            .set("isolation.level", "read_uncommitted")
            .set("fetch.wait.max.ms", "20")
            .set("topic.metadata.refresh.fast.interval.ms", "50")
            .set("reconnect.backoff.max.ms", "200")
            .create()
            .map_err(Error::kafka("make a consumer"))?;
        Ok(Self { consumer, partition, next: BTreeMap::new() })
    }

    /// Forgets how far it got in `topic`: it was deleted, and a new one of its name begins at 0.
    pub fn forget(&mut self, topic: &str) {
        self.next.remove(topic);
    }

    /// Where the log of `topic` ends now; `None` when there is no such topic.
    pub fn end(&self, topic: &str) -> Result<Option<i64>> {
        // The client remembers for a while that it did not know a topic; the broker is asked first.
        let metadata = self
            .consumer
            .fetch_metadata(Some(topic), ANSWER_WITHIN)
            .map_err(Error::kafka(format!("say whether there is {topic}")))?;
        if metadata.topics().iter().all(|found| found.partitions().is_empty()) {
            return Ok(None);
        }
        let what = format!("where {topic} ends");
        wait_for(&what, ANSWER_WITHIN, || {
            match self.consumer.fetch_watermarks(topic, self.partition, ANSWER_WITHIN) {
                Ok((_, end)) => Ok(Ok(Some(end))),
                Err(KafkaError::MetadataFetch(code)) if is_unknown(code) => Ok(Ok(None)),
                // A topic made this moment: its log is not there yet.
                Err(KafkaError::MetadataFetch(RDKafkaErrorCode::NotLeaderForPartition)) => {
                    Err("its leader is not ready".to_owned())
                }
                Err(error) => Ok(Err(Error::kafka(format!("say {what}"))(error))),
            }
        })?
    }

    /// Gives every record between the last reading and the ends that the logs have *now* to `take`, in offset order
    /// within a topic. Topics that do not exist are passed over. Answers how many records there were.
    pub fn read_to_end<T: AsRef<str>>(&mut self, topics: &[T], take: &mut dyn FnMut(Entry)) -> Result<u64> {
        let mut ends = BTreeMap::new();
        let mut assignment = TopicPartitionList::new();
        for topic in topics {
            let topic = topic.as_ref();
            let next = self.next.get(topic).copied().unwrap_or(0);
            if let Some(end) = self.end(topic)?.filter(|end| *end > next) {
                ends.insert(topic.to_owned(), end);
                assignment
                    .add_partition_offset(topic, self.partition, Offset::Offset(next))
                    .map_err(Error::kafka("take an offset"))?;
            }
        }
        if ends.is_empty() {
            return Ok(0);
        }
        self.consumer.assign(&assignment).map_err(Error::kafka("assign its logs"))?;
        let count = self.drain(ends, take);
        self.consumer.unassign().map_err(Error::kafka("give its logs back"))?;
        count
    }

    fn drain(&mut self, mut ends: BTreeMap<String, i64>, take: &mut dyn FnMut(Entry)) -> Result<u64> {
        let mut count = 0;
        let mut silence = Instant::now();
        while !ends.is_empty() {
            // On an error the client reconnects and goes on by itself; the silence below is what ends the reading.
            if let Some(Ok(message)) = self.consumer.poll(Duration::from_millis(200)) {
                let entry = entry(&message);
                silence = Instant::now();
                // What comes after the fixed end belongs to the next reading.
                let Some(&end) = ends.get(&entry.topic) else { continue };
                self.next.insert(entry.topic.clone(), entry.offset + 1);
                if entry.offset + 1 >= end {
                    ends.remove(&entry.topic);
                }
                count += 1;
                take(entry);
            }
            if silence.elapsed() > ANSWER_WITHIN {
                return Err(Error::Timeout {
                    what: "the end of the logs".to_owned(),
                    within: ANSWER_WITHIN,
                    seen: format!("still open: {ends:?}"),
                });
            }
        }
        Ok(count)
    }
}

fn is_unknown(code: RDKafkaErrorCode) -> bool {
    matches!(
        code,
        RDKafkaErrorCode::UnknownTopic
            | RDKafkaErrorCode::UnknownPartition
            | RDKafkaErrorCode::UnknownTopicOrPartition
    )
}

fn entry(message: &BorrowedMessage<'_>) -> Entry {
    let headers = message.headers().map_or_else(Vec::new, |headers| {
        headers
            .iter()
            .map(|header| (header.key.to_owned(), header.value.unwrap_or_default().to_vec()))
            .collect()
    });
    Entry {
        topic: message.topic().to_owned(),
        offset: message.offset(),
        timestamp_ms: message.timestamp().to_millis().unwrap_or_default(),
        key: message.key().map(<[u8]>::to_vec),
        payload: message.payload().map(<[u8]>::to_vec),
        headers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_header(value: &str) -> Entry {
        Entry { headers: vec![(PROVENANCE.to_owned(), value.as_bytes().to_vec())], ..Entry::default() }
    }

    #[test]
    fn provenance_has_exactly_four_numbers() {
        let whole = Provenance { life: u64::MAX, number: 2, index: 0, size: 7 };
        assert_eq!(with_header(&format!("{}/2/0/7", u64::MAX)).provenance(), Some(whole));
        for bad in ["", "1/2/3", "1/2/3/4/5", "1/2/3/x", "-1/2/3/4"] {
            assert_eq!(with_header(bad).provenance(), None, "{bad}");
        }
        assert_eq!(Entry::default().provenance(), None);
    }
}
