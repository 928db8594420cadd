//! Who may post: the families of signatures, and bearer tokens. Pure: time is passed in.
//!
//! A signature is computed over the bytes of the body as they came, before anything looks at them, and compared in
//! constant time. What each family signs stands in `docs/sources/http.md`.

mod credentials;
mod encoding;
mod family;

pub use credentials::{Credentials, Keys, Request};
pub use family::Family;

use thiserror::Error;

/// What a good signature tells about the post.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// The sender's own name of the delivery, where the family has one outside the body.
    pub delivery_id: Option<String>,
    /// When it was signed, in seconds since the Unix epoch, where that is signed too.
    pub signed_at_s: Option<i64>,
    /// What is the same in a copy of the request and in no other: a digest of what was signed, where the time is
    /// part of it.
    pub fingerprint: Option<String>,
}

/// Why a post is not taken. All are answered 401 with one fixed text; the log and the counters tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Refused {
    /// The header that should carry token or signature is not there.
    #[error("no token or signature")]
    Missing,
    /// It is there, but is none.
    #[error("token or signature cannot be read")]
    Malformed,
    /// Signed too long ago, or in the future.
    #[error("the timestamp is outside the window")]
    Stale,
    /// It is of another body or another secret.
    #[error("token or signature is wrong")]
    Wrong,
}

#[cfg(test)]
mod tests;
