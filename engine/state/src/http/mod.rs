//! One resource a source, on a server: `docs/state-http.md` is the contract between the two.
//!
//! What a request and its answer mean is decided without a network ([`record`], [`meaning`], [`retry`]); the rest
//! asks and waits.
//!
//! Invariants:
//! - one request that changes the resource at a time, and nothing newer before its outcome is definite;
//! - a repeated request is the same request: bytes, condition and idempotency key;
//! - a load begins only when nothing of a former opening of this process can still land;
//! - nothing of a URL but its origin, and nothing of a header's value, is in any error or log line.

mod check_server;
mod client;
mod lease;
mod meaning;
mod record;
mod retry;
mod store;
#[cfg(test)]
mod tests;

pub use check_server::{ServerCheck, check_server};
pub use lease::HttpLease;
pub use store::HttpStore;
