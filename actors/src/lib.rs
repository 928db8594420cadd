//! The supervision tree of a source: supervisor, poller, router, producer, checkpointer, and the root above them.
//!
//! Decisions are made by [`lifecycle`] and [`line`], which are pure; the actors carry them out through the
//! [`ports`]. This is the only crate that knows ractor. docs/architecture.md has the picture.
#![forbid(unsafe_code)]

mod ask;
pub mod backoff;
mod batch;
mod checkpointer;
mod checks;
pub mod fault;
pub mod handle;
pub mod lifecycle;
pub mod line;
pub mod news;
pub mod plugin;
mod poller;
pub mod ports;
mod producer;
mod rate;
mod root;
mod router;
pub mod status;
mod supervisor;
pub mod tap;
pub mod telemetry;
pub mod testing;
mod total;
mod tree;
