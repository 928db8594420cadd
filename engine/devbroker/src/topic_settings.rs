//! The configuration of a topic, and the limits that all topics share.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::error::CreateRefusal;
use crate::log::Log;

const MESSAGE_BYTES_MAX: &str = "max.message.bytes";
const RETENTION_BYTES: &str = "retention.bytes";

/// The names of Kafka's topic configurations. All are stored and shown; `max.message.bytes` and `retention.bytes` are
/// obeyed, the others have no effect here (there is no compaction and no retention by time).
const CONFIG_NAMES: [&str; 24] = [
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "index.interval.bytes",
    "max.compaction.lag.ms",
    MESSAGE_BYTES_MAX,
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    RETENTION_BYTES,
    "retention.ms",
    "segment.bytes",
    "segment.ms",
    "unclean.leader.election.enable",
];

/// The limits that all topics of a broker share.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) topic_bytes_max: u64,
    pub(crate) total_bytes_max: u64,
    pub(crate) message_bytes_max: usize,
    pub(crate) producers_max: usize,
}

impl Limits {
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            topic_bytes_max: config.topic_bytes_max,
            total_bytes_max: config.total_bytes_max,
            message_bytes_max: config.message_bytes_max,
            producers_max: config.producers_max,
        }
    }

    pub(crate) fn empty_log(&self) -> Log {
        Log::new(self.producers_max)
    }

    /// Bytes a topic with these settings may keep.
    pub(crate) fn topic_bytes_max(&self, settings: &TopicSettings) -> u64 {
        settings.retention_bytes.map_or(self.topic_bytes_max, |own| own.min(self.topic_bytes_max))
    }
}

/// The configuration a topic was created with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TopicSettings {
    pub(crate) entries: BTreeMap<String, String>,
    pub(crate) message_bytes_max: Option<usize>,
    pub(crate) retention_bytes: Option<u64>,
}

impl TopicSettings {
    /// Checks names and the values that are obeyed.
    pub(crate) fn check(entries: BTreeMap<String, String>) -> Result<Self, CreateRefusal> {
        for (name, value) in &entries {
            if !CONFIG_NAMES.contains(&name.as_str()) {
                return Err(CreateRefusal::Config { name: name.clone(), value: value.clone() });
            }
        }
        let message_bytes_max = number(&entries, MESSAGE_BYTES_MAX)?.map(|bytes| bytes as usize);
        let retention_bytes = match entries.get(RETENTION_BYTES).map(String::as_str) {
            Some("-1") => None,
            _ => number(&entries, RETENTION_BYTES)?,
        };
        Ok(Self { entries, message_bytes_max, retention_bytes })
    }

    /// Names and values as they were given.
    pub(crate) fn entries(&self) -> &BTreeMap<String, String> {
        &self.entries
    }
}

fn number(entries: &BTreeMap<String, String>, name: &str) -> Result<Option<u64>, CreateRefusal> {
    let Some(value) = entries.get(name) else {
        return Ok(None);
    };
    match value.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(CreateRefusal::Config { name: name.to_owned(), value: value.clone() }),
    }
}
