//! The library as it is shipped, and the source against servers that answer as they are told.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "all of this is test code, the functions beside the tests too")]

mod doctor;
mod faults;
mod library;
mod sql;
mod support;
