//! The one error type of this crate. What clients are told are Kafka's error codes, not this.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use kafka_protocol::ResponseError;

/// Why starting the broker or a direct call on its handle failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be listened on; another port may be free.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Another broker, perhaps of another process, holds the data folder.
    #[error("data folder {} is in use by another development broker", path.display())]
    DataInUse {
        /// The folder.
        path: PathBuf,
    },
    /// A file of the data folder cannot be read or written.
    #[error("cannot use {}", path.display())]
    Storage {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of the data folder is not one of ours, or damaged before its first record.
    #[error("{} is not a topic file of a development broker: {reason}", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no such topic.
    #[error("no topic {topic:?}")]
    UnknownTopic {
        /// The name asked for.
        topic: String,
    },
    /// The topic cannot be created.
    #[error("cannot create topic {topic:?}: {reason}")]
    Create {
        /// The name asked for.
        topic: String,
        /// Why not.
        reason: CreateRefusal,
    },
    /// The topic cannot be deleted, for example because its file cannot be removed.
    #[error("cannot delete topic {topic:?}: {code}")]
    Delete {
        /// The topic.
        topic: String,
        /// What a client would be told.
        code: ResponseError,
    },
    /// The offset is not in the log: older than its start or beyond its end.
    #[error("offset {offset} of topic {topic:?} is outside {start}..={end}")]
    OffsetOutOfRange {
        /// The topic.
        topic: String,
        /// The offset asked for.
        offset: i64,
        /// The oldest offset kept.
        start: i64,
        /// The offset the next record will get.
        end: i64,
    },
    /// A stored batch cannot be taken apart, for example because its compression is not built in.
    #[error("cannot decode the batch at offset {offset} of topic {topic:?}: {reason}")]
    Undecodable {
        /// The topic.
        topic: String,
        /// Base offset of the batch.
        offset: i64,
        /// Why not.
        reason: crate::record::Undecodable,
    },
}

/// Why a topic was not created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateRefusal {
    /// There is one of this name.
    #[error("it exists already")]
    Exists,
    /// The name breaks Kafka's rules.
    #[error("its name {0}")]
    InvalidName(&'static str),
    /// The name differs from another topic's only in `.` and `_`, which metrics cannot tell apart.
    #[error("its name collides with {0:?}, as `.` and `_` count as the same")]
    Collides(String),
    /// The broker has as many topics as it takes.
    #[error("there are {0} topics already, the most this broker takes")]
    TooMany(usize),
    /// A topic configuration is unknown or has a value that makes no sense.
    #[error("configuration {name} = {value:?} is not valid")]
    Config {
        /// Its name.
        name: String,
        /// The value refused.
        value: String,
    },
    /// The data folder refused the file.
    #[error("its file cannot be written")]
    Storage,
}

impl CreateRefusal {
    /// What a Kafka client is told.
    pub fn code(&self) -> ResponseError {
        match self {
            Self::Exists => ResponseError::TopicAlreadyExists,
            Self::InvalidName(_) | Self::Collides(_) => ResponseError::InvalidTopicException,
            Self::TooMany(_) => ResponseError::PolicyViolation,
            Self::Config { .. } => ResponseError::InvalidConfig,
            Self::Storage => ResponseError::KafkaStorageError,
        }
    }
}
