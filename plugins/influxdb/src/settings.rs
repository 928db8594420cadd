//! `[plugin_config]` as checked.

mod check;
mod target;

use std::time::Duration;

use picomq_connector_sdk::{Retry, http};

use crate::client::Endpoint;
use crate::plan::Pace;
use crate::query::Query;
use crate::render::Form;

/// Everything.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) client: http::Settings,
    pub(crate) endpoint: Endpoint,
    pub(crate) query: Query,
    pub(crate) form: Form,
    pub(crate) pace: Pace,
    /// Where the first reading begins.
    pub(crate) from: i64,
    pub(crate) poll_interval: Duration,
    pub(crate) retry: Retry,
    pub(crate) open_retry: Retry,
    pub(crate) breaker: (u32, Duration),
    pub(crate) is_verbose: bool,
    pub(crate) batch_bytes_max: u64,
    /// Of what decides how a row is written.
    pub(crate) fingerprint: u64,
}

#[cfg(test)]
mod tests;
