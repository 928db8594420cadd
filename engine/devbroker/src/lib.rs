//! A Kafka broker inside the process, for `dev` and for tests. **Never for production.**
//!
//! It speaks enough of the Kafka protocol for real clients (kcat, confluent-kafka, librdkafka, the Java clients) to
//! produce, consume, work in groups and administer, and it does wrong on purpose what a test asks for: see [`FaultKnobs`].
//!
//! What it is not: there is no replication, no authentication, no encryption, no compaction, no transactions (refused at
//! once), no static group membership. Topics have exactly one partition.
//!
//! What holds:
//! - the sequence of an idempotent producer is really checked, so a repeated batch is in the log once;
//! - batches are kept as they came, so every compression passes through;
//! - everything has a limit, see [`Config`];
//! - with a data folder, what was acknowledged survives the death of the process, not a power loss.
//!
//! ```no_run
//! # async fn example() -> Result<(), pico_devbroker::Error> {
//! let broker = pico_devbroker::start(pico_devbroker::Config::default()).await?;
//! let handle = broker.handle();
//! handle.create_topic("orders").await?;
//! println!("kcat -b {} -L", handle.addr());
//! broker.shutdown().await;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod api;
mod batch;
mod broker;
mod config;
mod connection;
mod error;
mod faults;
mod group;
mod group_words;
mod groups;
mod handle;
mod log;
mod node;
mod offered;
mod offsets;
mod producers;
mod record;
mod storage;
mod tail;
#[cfg(test)]
mod testing;
mod topic;
mod topic_settings;
mod topics;

pub use batch::Compression;
pub use broker::{DevBroker, start};
pub use config::{Config, DEV_PORT};
pub use error::{CreateRefusal, Error};
pub use faults::{FaultCounts, FaultKnobs};
pub use handle::BrokerHandle;
/// The error codes of the Kafka protocol, as [`FaultKnobs::fail_next`] takes them.
pub use kafka_protocol::ResponseError;
pub use offered::Api;
pub use record::{Header, Record, Undecodable};
pub use tail::{Tail, TailEvent};
pub use topic::TopicInfo;
