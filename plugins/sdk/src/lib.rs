//! What the author of a source plugin sees, and the border the engine loads it over.
//!
//! A source reads one outside system. It implements `Source`, exports itself with `export_source!`, and never
//! talks to a broker or a state store. `docs/plugin-guide.md` walks through a whole plugin.
//!
//! Unsafe code lives in [`ffi`] alone.

#![deny(unsafe_code)]

pub mod batch;
pub mod error;
pub mod ffi;
pub mod record;
pub mod schema;
pub mod state;
pub mod verdict;

pub use batch::{Batch, PayloadWriter, RecordWriter};
pub use error::Error;
pub use record::{Header, Record};
pub use schema::Schema;
pub use state::State;
pub use verdict::Verdict;
