//! The source against a real InfluxDB 1.6.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "all of this is test code, the functions beside the tests too")]

mod conformance;
mod groups;
mod influxql;
mod late;
mod rights;
mod server;
#[path = "../main/support.rs"]
#[allow(dead_code, reason = "each target uses its part")]
mod support;
