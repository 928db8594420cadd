//! What the outside sees of a source: computed from the lifecycle, copied out on each change (I7).

use std::sync::Arc;
use std::time::Instant;

use pico_config::Definition;
use serde::Serialize;

pub use crate::lifecycle::Status;
use crate::rate::Rate;

/// One source as `GET /sources` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct SourceView {
    /// Position in the list at start; not stable across starts.
    pub id: u32,
    /// Its key; the file stem when the file could not be read as a definition.
    pub key: String,
    /// Display name.
    pub name: String,
    /// Library as the definition writes it.
    pub path: String,
    /// Whether the definition is switched on.
    pub enabled: bool,
    /// One of six words.
    pub status: Status,
    /// The last error whose cause has not ended.
    pub last_error: Option<LastError>,
    /// How the API renders the plugin's configuration.
    pub plugin_config_format: &'static str,
    /// When the status last changed, Unix milliseconds.
    pub since: u64,
    /// Everything beside the status.
    pub conditions: Vec<String>,
    /// Nacks in a row.
    pub consecutive_nacks: u32,
    /// Batches polled and not yet resolved.
    pub in_flight: usize,
    /// Milliseconds since the last saved state; null before the first in this process.
    pub checkpoint_age_ms: Option<u64>,
    /// Records acknowledged, lately.
    pub records_per_second: f64,
    /// How far behind its upstream the plugin says it is; null when it does not say.
    #[serde(flatten)]
    pub lag: Lag,
}

/// How far behind its upstream a source says it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Lag {
    /// In seconds.
    #[serde(rename = "lag_seconds")]
    pub seconds: Option<f64>,
    /// In bytes.
    #[serde(rename = "lag_bytes")]
    pub bytes: Option<f64>,
}

/// One source as `GET /sources/{key}` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct SourceDetail {
    /// The same object as in the list.
    #[serde(flatten)]
    pub view: SourceView,
    /// Routing of each block, for people.
    pub topics: Vec<TopicView>,
    /// What the engine knows of it, in the order in which a batch meets each, then what the plugin reports.
    pub checks: Vec<Check>,
}

/// One `[[topics]]` block.
#[derive(Debug, Clone, Serialize)]
pub struct TopicView {
    /// The literal topic or the rule in short.
    pub topic: String,
    /// Schema on the wire.
    pub schema: &'static str,
}

/// A named check with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Such as `upstream_reachable`.
    pub name: String,
    /// `ok`, `warning`, `error`, or `waiting` while nothing is known.
    pub status: &'static str,
    /// Since when, Unix milliseconds; null when nothing is known or the plugin does not say.
    pub since: Option<u64>,
    /// What is wrong and what to do about it; empty when all is well.
    pub advice: String,
}

/// What went wrong last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastError {
    /// The cause, and what happens next or what to do.
    pub message: String,
    /// When, Unix milliseconds.
    pub timestamp: u64,
    /// Stable and dotted.
    pub code: String,
}

/// What a supervisor reports to the root whenever it changed.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub(crate) status: Status,
    pub(crate) since_ms: u64,
    pub(crate) last_error: Option<LastError>,
    pub(crate) conditions: Vec<String>,
    /// In force.
    pub(crate) definition: Arc<Definition>,
    /// A changed definition is not open yet.
    pub(crate) is_reloading: bool,
    /// The last reload failed; the former definition is in force.
    pub(crate) has_reload_failed: bool,
    pub(crate) is_degraded: bool,
    pub(crate) consecutive_nacks: u32,
    pub(crate) in_flight: usize,
    pub(crate) checkpointed: Option<Instant>,
    pub(crate) delivered_ms: Option<u64>,
    pub(crate) totals: Totals,
    pub(crate) rate: Rate,
    pub(crate) lag: Lag,
    pub(crate) checks: Arc<[Check]>,
    /// A stop gave up on a batch in flight.
    pub(crate) has_given_up: bool,
}

/// Counts since the process started; the metrics of the same names show them too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Records returned by poll, re-reads counted again.
    pub messages_produced: u64,
    /// Records acknowledged, once, when their batch is acked.
    pub messages_sent: u64,
    /// Records that a rule dropped or `[errors]` skipped, when their batch is acked.
    pub messages_filtered: u64,
    /// Nacks and poll errors.
    pub errors: u64,
}

/// Whether the process as a whole is well.
#[derive(Debug, Clone, Serialize)]
pub struct Health {
    /// `healthy` or `degraded`; a failing source never makes a pod restart, so the answer is 200 either way.
    pub status: &'static str,
    /// Sources that make it `degraded`.
    pub degraded: Vec<String>,
}
