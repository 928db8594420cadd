//! The source against real servers of two versions.

#![allow(clippy::unwrap_used, reason = "all of this is test code, the functions beside the tests too")]

mod backfill;
mod cases;
mod conformance;
mod debezium;
mod maintenance;
mod messages;
mod parallel;
mod peek;
mod polling;
mod reading;
mod server;
mod setup;
mod snapshot;
mod stream;
mod values;
