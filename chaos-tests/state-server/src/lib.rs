//! A state server as `docs/state-http.md` asks for one, in memory, with faults that are put into a queue before they
//! happen, and a judge of what its clients do.
//!
//! - [`shelf`]: the contract: tags, conditions, repeated keys. No network.
//! - [`judge`]: what a client may not do.
//! - [`StateServer`]: the listener; its calls block nobody and may come from any thread.
//!
//! It is for tests: it keeps nothing over its own end.

#![forbid(unsafe_code)]

mod faulty_shelf;
pub mod judge;
mod server;
mod service;
pub mod shelf;

pub use faulty_shelf::Fault;
pub use server::StateServer;
pub use shelf::{Entry, Tags};
