//! The supervision tree of a source: supervisor, poller, router, producer, checkpointer, and the root above them.
//!
//! Decisions are made by [`lifecycle`] and [`line`], which are pure; the actors carry them out through the
//! [`ports`]. This is the only crate that knows ractor. docs/architecture.md has the picture.
//!
//! The modules are named below from the ground up: none knows one of a later group.
#![forbid(unsafe_code)]

// Words that many rooms share, and small things that know nobody.
mod abort_on_drop;
mod batch_id;
mod cause;
mod clock;
mod command;
mod difference;
pub mod fault;
mod rate;
pub mod telemetry;
mod total;

// What happens next: pure.
pub mod backoff;
mod checks;
pub mod lifecycle;
pub mod line;
pub mod status;

// What is passed on and told.
mod ask;
mod batch;
pub mod news;
pub mod ports;
mod source;
pub mod tap;

// One opening of a source: its doors, and the children in a line.
mod checkpointer;
mod opening;
pub mod plugin;
mod poller;
mod producer;
mod router;
mod supervisor_handle;
mod tree;

// Who owns a source, who owns all of them, and what the daemon holds.
pub mod handle;
mod root;
mod supervisor;

pub mod testing;
