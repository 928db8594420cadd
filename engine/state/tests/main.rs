//! Stories of the file store on a real file system, in processes that are really killed, and of the HTTP store on real
//! sockets.
//!
//! What they do not prove: that the disk keeps what it synced. The order of the calls is asserted
//! (`order`), a power loss is not staged here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crash;
mod disk;
#[cfg(feature = "failpoints")]
mod faults;
mod folder;
mod http;
mod http_faults;
mod order;
mod refusals;
mod saving;
mod support;
