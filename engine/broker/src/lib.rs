//! Kafka-protocol delivery through librdkafka.
//!
//! [`Admin`] is the process's one client for topics and reachability. [`KafkaBroker`] is the producer of one source:
//! it implements the broker port of the actors. [`check`] says before a source runs whether librdkafka takes its
//! settings.
//!
//! Invariants:
//! - records of a source enter its clients in the order of the batches, from one thread (the courier);
//! - after a batch that was not sent whole nothing that was waiting behind it is sent;
//! - a batch enters a client only when every topic it names is known to exist;
//! - the first record of a client for a topic goes alone;
//! - every batch is settled exactly once, when no report of it is outstanding or its client was dropped;
//! - librdkafka gives nothing up by itself: deadlines are ours and count silence.
//!
//! No unsafe code outside `native`.
#![deny(unsafe_code)]

mod admin;
mod allocator;
mod answers;
mod client;
mod context;
mod courier;
mod error;
mod introducing;
mod letters;
mod message;
mod native;
mod plan;
mod port;
mod room;
mod sending;
mod settings;
mod slots;
mod topics;

pub use admin::Admin;
pub use allocator::bound_allocator;
pub use error::BrokerError;
pub use letters::{Extent, LEFT_MAX, Letter, LetterReader, Place};
pub use plan::BrokerSettings;
pub use port::KafkaBroker;
pub use settings::{Finding, check};

/// The version of librdkafka that is linked in, such as `2.12.1`.
pub fn librdkafka_version() -> String {
    rdkafka::util::get_rdkafka_version().1
}
