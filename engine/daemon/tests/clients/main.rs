//! The daemon against clients nobody here wrote: what it frames is read by Confluent's deserializers for Python, through a
//! registry that answers as the public API documents. What is not installed is a failure.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod framing;
#[path = "../../../../chaos-tests/services/python.rs"]
mod interpreter;
mod refusals;
mod registry;
#[allow(dead_code, reason = "the other target uses the rest of it")]
#[path = "../support.rs"]
mod support;
