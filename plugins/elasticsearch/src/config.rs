//! `[plugin_config]` as written. [`check`](ElasticsearchConfig::check) turns it into [`Settings`](crate::settings::Settings).

use std::path::PathBuf;

use picomq_connector_sdk::Secret;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// As written. `docs/sources/elasticsearch.md` says what each key means.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ElasticsearchConfig {
    /// A node: `https://host:9200`. It may hold `user:password@`.
    #[schemars(extend("writeOnly" = true))]
    pub(crate) url: String,
    /// More nodes of the same cluster, asked when one does not answer.
    #[serde(default)]
    #[schemars(extend("writeOnly" = true))]
    pub(crate) hosts: Vec<String>,
    /// An index, an alias, a pattern, or several with commas.
    pub(crate) index: String,
    /// Basic authentication, with `password`.
    pub(crate) username: Option<String>,
    /// Basic authentication, with `username`.
    pub(crate) password: Option<Secret>,
    /// An API key, as `id:key` or in the encoded form the server gives.
    pub(crate) api_key: Option<Secret>,
    /// A token for `Authorization: Bearer`.
    pub(crate) bearer_token: Option<Secret>,
    /// PEM: trust these authorities alone, instead of the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// PEM: the certificate we show, with `client_key`.
    pub(crate) client_cert: Option<PathBuf>,
    /// PEM: its key.
    pub(crate) client_key: Option<PathBuf>,
    /// A query in Elasticsearch's own language; documents it does not match are not read. Default: all.
    pub(crate) query: Option<Map<String, Value>>,
    /// `incremental`: what is there and what comes, in the order of `timestamp_field`. `snapshot`: what is there, once.
    #[serde(default)]
    pub(crate) mode: Mode,
    /// The field that orders documents; `a.b` for one inside an object. Required unless `mode = "snapshot"`.
    pub(crate) timestamp_field: Option<String>,
    /// What orders documents of one timestamp. Default `_seq_no`, which every document has.
    pub(crate) tie_breaker: Option<String>,
    /// How far back documents that became visible late are looked for. Default `10s`.
    pub(crate) overlap: Option<String>,
    /// Begin behind this value of `timestamp_field` instead of at the first document.
    pub(crate) initial_offset: Option<String>,
    /// The wait once everything was read. Default `10s`.
    pub(crate) polling_interval: Option<String>,
    /// Documents asked for at once. Default 1000.
    pub(crate) batch_size: Option<u32>,
    /// How long the server keeps a point in time or a scroll between two pages. Default `1m`.
    pub(crate) scroll_timeout: Option<String>,
    /// How pages are read. Default: the best the server can do.
    #[serde(default)]
    pub(crate) pagination: Pagination,
    /// Longest silence of the server. Default `30s`.
    pub(crate) timeout: Option<String>,
    /// Ask for compressed answers.
    #[serde(default)]
    pub(crate) compression: bool,
    /// Add the headers that say which document a record is.
    #[serde(default = "yes")]
    pub(crate) include_metadata: bool,
    /// Accepted and without effect: the engine keeps the state.
    pub(crate) state: Option<OldState>,
}

/// What is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// What is there and what comes.
    #[default]
    Incremental,
    /// What is there, once.
    Snapshot,
}

/// How pages follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Pagination {
    /// A point in time where there is one, else a scroll.
    #[default]
    Auto,
    /// A point in time.
    Pit,
    /// A scroll.
    Scroll,
    /// Neither: each page is a search of its own.
    SearchAfter,
}

/// `[plugin_config.state]` of the existing runtimes: a file that the plugin itself wrote.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "definitions of the existing runtimes have these keys")]
pub(crate) struct OldState {
    /// Without effect.
    pub(crate) enabled: Option<bool>,
    /// Without effect.
    pub(crate) storage_type: Option<String>,
    /// Without effect.
    pub(crate) storage_config: Option<Map<String, Value>>,
    /// Without effect.
    pub(crate) state_id: Option<String>,
    /// Without effect.
    pub(crate) auto_save_interval: Option<String>,
    /// Without effect.
    pub(crate) tracked_fields: Option<Vec<String>>,
}

fn yes() -> bool {
    true
}
