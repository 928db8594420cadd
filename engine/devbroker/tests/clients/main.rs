//! Real clients against the broker: kcat and confluent-kafka for Python. A client that is not installed is a failure.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../../chaos-tests/services/python.rs"]
mod interpreter;
mod kcat;
mod oracle;
mod programs;
mod python;
