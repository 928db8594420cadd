//! What a broker answers about topics, one by one.

use rdkafka::types::RDKafkaErrorCode as Code;

/// A topic's name and how many partitions it has, or why it cannot be had.
pub(crate) type Seen = (String, Result<i32, Code>);

/// A topic, and the broker's code and words where it did not create it.
pub(crate) type Creation = (String, Result<(), (Code, String)>);
