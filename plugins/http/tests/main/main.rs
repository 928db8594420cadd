//! The source with real sockets: what a sender sees, and what becomes a record.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod answers;
mod delivery;
mod doctor;
mod library;
mod limits;
mod senders;
mod sharing;
mod spool;
mod support;
mod tls;
