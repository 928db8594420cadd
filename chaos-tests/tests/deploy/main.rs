//! What is given to operators (`config/deploy/`): each file is held against the program that reads it, and alerts,
//! dashboard and checks are shown to tell the same truth about a running engine.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "all of this is test code")]

mod files;
mod prometheus;
mod telemetry;
mod truth;

use std::path::PathBuf;

/// The folder with the files.
fn deploy() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../config/deploy"))
}
