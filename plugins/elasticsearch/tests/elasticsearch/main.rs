//! The source against real servers of three kinds, and against one that breaks on order.

#![allow(clippy::unwrap_used, reason = "all of this is test code, the functions beside the tests too")]

mod conformance;
mod contexts;
mod cursor;
mod doctor;
mod faults;
mod reading;
mod scrolls;
mod server;
mod settled;
mod snapshot;
mod values;
