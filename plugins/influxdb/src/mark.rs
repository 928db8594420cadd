//! What tells a row from others of its time.

use serde::{Deserialize, Serialize};

/// A row among those of one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) digest: Digest,
    /// Rows that are equal in everything are counted, from 0.
    pub(crate) occurrence: u32,
}

/// The first 128 bits of the SHA-256 of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Digest(pub(crate) u64, pub(crate) u64);
