//! Asking HTTP servers that a definition names: what every source that reads one needs. Feature `http-client`.
//!
//! ```text
//! let client = Client::open(Settings { hosts, auth, timeout, .. }).await?;      // in `open`
//! client.ready(&interrupt).await?;                                              // in `poll`: waits out a Retry-After
//! let answer = client.send(&Request::post(["docs", "_search"]).json(query)).await?;
//! let (head, extent) = answer.read(&mut page, PAGE_BYTES_MAX).await?;
//! if !head.is_success() { return Err(head.refusal("the search", &reason_in(&page))) }
//! ```
//!
//! What it keeps:
//! - every answer has a limit in bytes, counted after decompression, and in time;
//! - redirects are never followed: they would carry credentials to wherever a server points;
//! - nothing it says holds a password, a token, or the query of a URL;
//! - certificates are always verified. A private authority is named by `ca_file`; there is no switch to look away;
//! - it never tries a host twice by itself: a request goes to each configured host once at most, and the rest is for
//!   [`Retry`](crate::Retry) or the engine's backoff.

mod answer;
mod auth;
mod base_url;
mod client;
mod coding;
mod head;
pub mod outbound;
mod request;
#[cfg(any(test, feature = "conformance"))]
pub mod stub;
#[cfg(test)]
mod tests;
mod tls;

pub use answer::{Answer, Extent};
pub use auth::Auth;
pub use base_url::BaseUrl;
pub use bytes::Bytes;
pub use client::{Client, Settings};
pub use head::{Head, Kind};
pub use request::Request;
pub use reqwest::Method;
pub use tls::ClientCertificate;
