//! The harness of the chaos tests: it starts the real binary against a real Kafka, breaks things, and checks what is
//! left. It knows the engine as a process only (configuration in, API and state file out), never as a library.
//!
//! - [`services`], [`binaries`], [`kafka`], [`postgres`], [`search`], [`influxdb`], [`connect`], [`site`], [`launch`], [`daemon`], [`proxy`]: what runs, and the ways to break it.
//! - [`workload`], [`posts`]: the definitions that the tests give to the engine, and senders of webhooks.
//! - [`consumer`], [`statefile`]: what is left to look at: the log and the saved position.
//! - [`journal`], [`ledger`]: what happened, and the laws that must hold over log, state and journal.
//! - [`campaign`]: the loop that starts, kills, observes and settles.
//!
//! Everything here blocks and runs on plain threads: a test is one story told in order.

#![forbid(unsafe_code)]

pub mod admin;
pub mod binaries;
pub mod campaign;
pub mod connect;
pub mod consumer;
pub mod daemon;
mod error;
pub mod http;
pub mod influxdb;
pub mod journal;
pub mod kafka;
pub mod launch;
pub mod ledger;
pub mod ports;
pub mod postgres;
pub mod posts;
pub mod proxy;
pub mod search;
pub mod services;
pub mod site;
pub mod statefile;
pub mod wait;
pub mod workload;

pub use error::{Error, Result};
