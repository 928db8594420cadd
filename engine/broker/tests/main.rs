//! Stories of the broker port against a real Kafka, and against librdkafka's mock cluster where a broker has to
//! misbehave. The mock checks no sequences and creates no topics; those stories are told on the real one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod delivery;
mod faults;
mod first;
mod identity;
#[cfg(feature = "failpoints")]
mod kills;
mod room;
mod support;
mod threads;
mod topics;
