//! The PostgreSQL source: change capture from the write-ahead log, the snapshot before it, and polling.
//!
//! `docs/sources/postgres.md` is for users.

#![forbid(unsafe_code)]

mod assembler;
mod backfill;
mod cdc;
mod change;
mod checkup;
mod client;
mod column;
mod config;
mod debezium;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod logical;
mod lsn;
mod maintain;
mod peek;
mod pgoutput;
mod polling;
mod position;
mod prefixes;
mod progress;
mod publication;
mod quote;
mod record;
mod row;
mod server;
mod settings;
mod shape;
mod slot;
mod slot_drop;
mod snapshot;
mod source;
mod state;
mod stopped;
mod stream;
mod tables;
mod target;
mod value;
mod wal;

pub use config::PostgresConfig;
pub use source::PostgresSource;

picomq_connector_sdk::export_source!(PostgresSource);
