//! `[plugin_config]` as written. [`settings`](crate::settings) checks it.

use std::path::PathBuf;

use picomq_connector_sdk::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// As written. `docs/sources/influxdb.md` says what each key means.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InfluxConfig {
    /// `v1`, `v2` or `v3`.
    #[serde(default)]
    pub(crate) version: Version,
    /// The language of the query: by default `influxql` for v1, `flux` for v2, `sql` for v3.
    pub(crate) language: Option<Language>,
    /// `http://localhost:8086`.
    pub(crate) url: String,
    /// v2 and v3.
    pub(crate) token: Option<Secret>,
    /// v1, with authentication switched on.
    pub(crate) username: Option<String>,
    /// Its password.
    pub(crate) password: Option<Secret>,
    /// v2: the organisation.
    pub(crate) org: Option<String>,
    /// The database of InfluxQL and SQL.
    pub(crate) db: Option<String>,
    /// InfluxQL: the retention policy, when it is not the default one.
    pub(crate) retention_policy: Option<String>,
    /// Flux: where `measurement` lies.
    pub(crate) bucket: Option<String>,
    /// A query with `$cursor`, and `$limit` or no limit.
    pub(crate) query: Option<String>,
    /// Instead of `query`: every point of this measurement.
    pub(crate) measurement: Option<String>,
    /// With `measurement`: these fields; none means all.
    #[serde(default)]
    pub(crate) fields: Vec<String>,
    /// The tags that are read, or, with `query`, the columns that tell series apart.
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    /// The wait once everything was read.
    #[serde(default = "poll_interval")]
    pub(crate) poll_interval: String,
    /// Records of a batch, and rows of a page when it is not behind: then the value of `$limit`.
    #[serde(default = "batch_size")]
    pub(crate) batch_size: u32,
    /// The column with the time: `_time` with Flux, else `time`. No other is taken.
    pub(crate) cursor_field: Option<String>,
    /// RFC 3339: read from here on. Default: everything; with `query` from 1970 on.
    pub(crate) initial_offset: Option<String>,
    /// Points may come so late.
    #[serde(default = "overlap")]
    pub(crate) overlap: String,
    /// So many points are remembered for `overlap`.
    #[serde(default = "overlap_points")]
    pub(crate) overlap_points: u32,
    /// This column is the whole payload.
    pub(crate) payload_column: Option<String>,
    /// What it holds: `json`, `text` (`utf8`), `raw` (`base64`).
    #[serde(default)]
    pub(crate) payload_format: Format,
    /// False leaves out what is not needed to understand the value.
    #[serde(default = "yes")]
    pub(crate) include_metadata: bool,
    /// Longest silence of the server.
    #[serde(default = "timeout")]
    pub(crate) timeout: String,
    /// How often a page is tried in all before it is an error.
    #[serde(default = "max_retries")]
    pub(crate) max_retries: u32,
    /// The wait before the second try; it doubles.
    #[serde(default = "retry_delay")]
    pub(crate) retry_delay: String,
    /// No wait between tries is longer.
    #[serde(default = "retry_max_delay")]
    pub(crate) retry_max_delay: String,
    /// How often one opening tries, within twenty seconds.
    #[serde(default = "max_open_retries")]
    pub(crate) max_open_retries: u32,
    /// No wait between these tries is longer.
    #[serde(default = "open_retry_max_delay")]
    pub(crate) open_retry_max_delay: String,
    /// After so many failed polls in a row nothing is asked for a while; 0 switches it off.
    #[serde(default = "circuit_breaker_threshold")]
    pub(crate) circuit_breaker_threshold: u32,
    /// For so long.
    #[serde(default = "circuit_breaker_cool_down")]
    pub(crate) circuit_breaker_cool_down: String,
    /// Points of one time that are too many for a batch come in pieces of so many batches; 0: of one.
    #[serde(default = "stuck_batch_cap_factor")]
    pub(crate) stuck_batch_cap_factor: u32,
    /// A line in the log for each page.
    #[serde(default)]
    pub(crate) verbose_logging: bool,
    /// PEM: trust these authorities alone instead of the system's. An absolute path.
    pub(crate) ca_file: Option<PathBuf>,
}

/// The major version of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Version {
    V1,
    #[default]
    V2,
    V3,
}

/// The language of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    InfluxQl,
    Flux,
    Sql,
}

/// What the payload column holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    #[default]
    Json,
    #[serde(alias = "utf8")]
    Text,
    #[serde(alias = "base64")]
    Raw,
}

fn yes() -> bool {
    true
}

fn poll_interval() -> String {
    "5s".to_owned()
}

fn batch_size() -> u32 {
    500
}

fn overlap() -> String {
    "0s".to_owned()
}

fn overlap_points() -> u32 {
    10_000
}

fn timeout() -> String {
    "10s".to_owned()
}

fn max_retries() -> u32 {
    3
}

fn retry_delay() -> String {
    "1s".to_owned()
}

fn retry_max_delay() -> String {
    "5s".to_owned()
}

fn max_open_retries() -> u32 {
    10
}

fn open_retry_max_delay() -> String {
    "60s".to_owned()
}

fn circuit_breaker_threshold() -> u32 {
    5
}

fn circuit_breaker_cool_down() -> String {
    "30s".to_owned()
}

fn stuck_batch_cap_factor() -> u32 {
    10
}
