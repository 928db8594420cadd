//! The random source: JSON records on a timer, to try the rest of the pipeline without a system to set up.
//!
//! Every record carries a `sequence` without gaps that goes on across restarts, so a reader sees at once what was
//! lost or repeated. `docs/sources/random.md` is for users.

#![forbid(unsafe_code)]

mod config;
mod record;
mod source;

pub use config::{RandomConfig, Settings};
pub use source::RandomSource;

picomq_connector_sdk::export_source!(RandomSource);
