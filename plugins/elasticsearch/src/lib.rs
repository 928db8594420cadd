//! The Elasticsearch source, for OpenSearch too: documents of an index, an alias or a pattern, in the order of a
//! timestamp, or once from beginning to end. `docs/sources/elasticsearch.md` is its page, and
//! `docs/decisions/0015-the-cursor-of-elasticsearch.md` says why its cursor is what it is.
//!
//! Invariants:
//! - a document whose key lies behind the floor of a position was delivered, or became visible too late;
//! - a document whose key lies past the floor was delivered if and only if the position remembers it;
//! - an answer that a shard is missing from, or that ran out of time, moves nothing;
//! - a `_source` goes out byte for byte as it came.
#![forbid(unsafe_code)]

mod chain;
mod check;
mod client;
mod config;
mod doctor;
mod fill;
#[doc(hidden)]
pub mod fuzzing;
mod key;
mod page;
mod position;
mod query;
mod reader;
mod seen;
mod settings;
mod source;
mod survey;

pub use config::ElasticsearchConfig;
pub use source::ElasticsearchSource;

picomq_connector_sdk::export_source!(ElasticsearchSource);
