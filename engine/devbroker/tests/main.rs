//! The broker as a client sees it. Real clients run in `clients`.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod raw;
