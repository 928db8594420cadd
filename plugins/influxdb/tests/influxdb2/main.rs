//! The source against a real InfluxDB 2.8. `make chaos` runs it: the server is built from its sources first, once, in minutes.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "all of this is test code, the functions beside the tests too")]

mod flux;
#[path = "../influxdb/server.rs"]
#[allow(dead_code, reason = "each target uses its part")]
mod server;
#[path = "../main/support.rs"]
#[allow(dead_code, reason = "each target uses its part")]
mod support;
