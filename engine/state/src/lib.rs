//! Where checkpoints are kept: the state store of every source.
//!
//! [`FileStore`] keeps one file a source under one folder, [`HttpStore`] one resource a source on a server; [`Lease`]
//! and [`HttpLease`] are what a source holds while it runs and the only things that write. The bytes of a checkpoint are the plugin's and are never looked into.
//!
//! Invariants:
//! - a state file is at every moment a complete old or a complete new checkpoint, also after a power loss;
//! - what was loaded is durable before it is handed out (an opening applies owed effects that rest on it);
//! - numbers in a state file only rise, and one process at a time writes it;
//! - a file that cannot be read as a checkpoint is an error, never a fresh start (I8).
#![forbid(unsafe_code)]

mod any_store;
mod asked;
mod error;
mod folder;
mod format;
mod http;
mod lease;
pub mod outbound;
mod reach;
mod slot;
mod store;

pub use any_store::AnyStore;
pub use asked::Asked;
pub use error::StateError;
pub use format::{Checkpoint, Damage, STATE_BYTES_MAX, decode, encode};
pub use http::{HttpLease, HttpStore, ServerCheck, check_server};
pub use lease::Lease;
pub use store::{Borrowed, FileStore, Loaded, Saved};
