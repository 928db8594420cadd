//! The supervision tree of a source: supervisor, poller, router, producer, checkpointer, and the root above them.
//!
//! Decisions are made by [`lifecycle`] and [`line`], which are pure; the actors carry them out through the
//! [`ports`]. This is the only crate that knows ractor. docs/architecture.md has the picture.
#![forbid(unsafe_code)]

pub mod backoff;
pub mod lifecycle;
pub mod line;
pub mod ports;
