//! What the author of a source plugin sees, and the border the engine loads it over.
//!
//! A source reads one outside system. It implements [`Source`], exports itself with [`export_source!`], and never
//! talks to a broker or a state store. `docs/plugin-guide.md` walks through a whole plugin.
//!
//! Unsafe code lives in [`ffi`] alone.

#![deny(unsafe_code)]

pub mod batch;
pub mod capabilities;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod context;
pub mod doctor;
pub mod error;
pub mod ffi;
pub mod host;
#[cfg(feature = "http-client")]
pub mod http;
pub mod record;
pub mod report;
pub mod retry;
pub mod schema;
mod scope;
pub mod secret;
pub mod source;
pub mod staged;
pub mod state;
mod turns;
pub mod verdict;

pub use batch::{Batch, PayloadWriter, RecordWriter};
pub use capabilities::Capabilities;
pub use context::{Interrupt, Limits, Mode, OpenContext};
pub use error::Error;
pub use host::Host;
pub use record::{Header, Record};
pub use report::{Check, CheckStatus, Gauge};
pub use retry::Retry;
pub use schema::Schema;
pub use secret::Secret;
pub use source::Source;
pub use staged::Staged;
pub use state::State;
pub use verdict::Verdict;
