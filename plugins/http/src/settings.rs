//! `[plugin_config]` as checked: everything a request is held against.

mod check;
mod targets;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::auth::Credentials;
use crate::body::Format;
use crate::config::TlsConfig;
use crate::key::KeyTemplate;

pub(crate) use targets::target_of_endpoint;

/// Kept free of a record for the headers that the definition adds.
pub(crate) const RECORD_RESERVE_BYTES: u64 = 1024;

/// What a gate holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) durability: Durability,
    pub(crate) posts_max: u64,
    pub(crate) bytes_max: u64,
    pub(crate) nacks_max: Option<u32>,
    pub(crate) dedupe_window: Duration,
    pub(crate) dedupe_capacity: usize,
}

/// When a post is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// When it is delivered.
    Delivered,
    /// When it is synced.
    Spooled { bytes_max: u64, takes_while_stalled: bool },
}

/// One path that takes posts.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// As requested: `/topics/orders`, `/e/0123…`.
    pub(crate) path: String,
    /// What `picomq.http.endpoint` says; none for `/topics/…`.
    pub(crate) name: Option<String>,
    pub(crate) credentials: Credentials,
    /// Seconds since the Unix epoch.
    pub(crate) expires_at: Option<i64>,
}

/// What one listener is; sources that share it must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    pub(crate) head_bytes_max: usize,
    pub(crate) header_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) connections_max: usize,
    pub(crate) tls: Option<TlsConfig>,
}

/// Everything.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) listening: Listening,
    /// Those of the definition.
    pub(crate) targets: Vec<Target>,
    pub(crate) endpoints_file: Option<PathBuf>,
    pub(crate) tolerance: Duration,
    pub(crate) bounds: Bounds,
    /// The folder of this source's spool; with `ack = "delivered"` one that may still hold something.
    pub(crate) spool_folder: Option<PathBuf>,
    pub(crate) segment_bytes: u64,
    pub(crate) format: Format,
    pub(crate) content_types: Option<Vec<String>>,
    pub(crate) takes_gzip: bool,
    pub(crate) body_bytes_max: u64,
    pub(crate) record_bytes_max: u64,
    pub(crate) batch_records: usize,
    pub(crate) batch_bytes: usize,
    pub(crate) has_metadata: bool,
    pub(crate) forwarded: Vec<String>,
    pub(crate) key: Option<KeyTemplate>,
    pub(crate) id_header: Option<String>,
    pub(crate) answer_timeout: Duration,
    pub(crate) body_timeout: Duration,
}

impl Settings {
    /// Whether only this machine can reach the listener.
    pub(crate) fn is_local(&self) -> bool {
        self.listening.address.ip().is_loopback()
    }

    /// Whether a signed request that is sent again is known for as long as its time is good.
    pub(crate) fn knows_repeats(&self) -> bool {
        let least = self.tolerance.saturating_mul(2);
        self.bounds.dedupe_window >= least && self.bounds.dedupe_capacity > 0
    }
}

#[cfg(test)]
mod tests;
