//! `[plugin_config]` of the HTTP source, as written. [`settings`](crate::settings) checks it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::Family;
use crate::body::Format;
use crate::secret::Secret;

/// As written. `listen_addr` alone is required.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpConfig {
    /// Address and port, such as `127.0.0.1:8088`. Sources that spell it the same share one listener.
    pub listen_addr: String,
    /// Known from another runtime and without effect: endpoints are made by commands.
    #[serde(default = "admin_listen_addr")]
    pub admin_listen_addr: String,
    /// How the source calls itself in `picomq.http.source`; the key of the definition if not set.
    #[serde(default)]
    pub instance_name: Option<String>,
    /// Opens `POST /topics/{topic_path}`.
    #[serde(default)]
    pub topic_path: Option<String>,
    /// The token of `/topics/…`; short for `auth_type = "bearer"` with it as `auth_secret`.
    #[serde(default)]
    pub auth_bearer_token: Option<Secret>,
    /// How `/topics/…` is protected.
    #[serde(default)]
    pub auth_type: Option<Family>,
    /// Its secret.
    #[serde(default)]
    pub auth_secret: Option<Secret>,
    /// A second live secret of `/topics/…`, while senders change over.
    #[serde(default)]
    pub auth_secret_previous: Option<Secret>,
    /// The header of `hmac-sha256` and `hmac-sha1` for `/topics/…`.
    #[serde(default)]
    pub hmac_header: Option<String>,
    /// What stands before the digits in that header.
    #[serde(default)]
    pub hmac_prefix: Option<String>,
    /// Opens `POST /e/{endpoint_id}` for each.
    #[serde(default)]
    pub endpoints: Vec<EndpointConfig>,
    /// Known from another runtime and refused with the way to do it here.
    #[serde(default)]
    pub management_token: Option<Secret>,
    /// Where endpoints made at run time are kept: an absolute path. Without it none can be made.
    #[serde(default)]
    pub endpoints_file: Option<PathBuf>,
    /// When a post is answered 2xx.
    #[serde(default)]
    pub ack: Ack,
    /// The folder for spools: an absolute path. Needed for `ack = "spooled"`.
    #[serde(default)]
    pub spool_dir: Option<PathBuf>,
    /// Most bytes of the spool, at least 64 MiB.
    #[serde(default = "spool_max_bytes")]
    pub spool_max_bytes: u64,
    /// Whether the spool takes posts while the source is paused, backing off or in error.
    #[serde(default)]
    pub spool_while_stalled: bool,
    /// What bodies must be: `json`, `text` or `raw`.
    #[serde(default = "json")]
    pub schema: Format,
    /// The content types that are taken, without parameters; by default those that fit `schema`.
    #[serde(default)]
    pub content_types: Option<Vec<String>>,
    /// Whether `Content-Encoding: gzip` is taken.
    #[serde(default = "yes")]
    pub gzip: bool,
    /// Longest body in bytes, decompressed too.
    #[serde(default)]
    pub max_body_size_bytes: Option<u64>,
    /// Longest request head in bytes.
    #[serde(default = "max_head_bytes")]
    pub max_head_bytes: usize,
    /// Most posts that wait for their delivery.
    #[serde(default = "buffer_capacity")]
    pub buffer_capacity: u64,
    /// Most bytes of them, those still arriving included.
    #[serde(default = "buffer_bytes")]
    pub buffer_bytes: u64,
    /// Most records in a batch.
    #[serde(default = "max_batch_size")]
    pub max_batch_size: u32,
    /// After so many nacks in a row posts are answered 503 until a batch is delivered; never if not set.
    #[serde(default)]
    pub max_consecutive_nacks: Option<u32>,
    /// Adds the headers `picomq.http.source`, `.path`, `.endpoint`, `.remote_addr` and `.received_at`.
    #[serde(default = "yes")]
    pub include_http_metadata: bool,
    /// Request headers that become record headers.
    #[serde(default)]
    pub forward_headers: Vec<String>,
    /// The record key, a template of `{header:NAME}`, `{field:a.b}`, `{id}`, `{path}`.
    #[serde(default)]
    pub key: Option<String>,
    /// The header with the sender's name of the delivery, for families that have none.
    #[serde(default)]
    pub id_header: Option<String>,
    /// How far a signed timestamp may be off.
    #[serde(default = "timestamp_tolerance")]
    pub timestamp_tolerance: String,
    /// For how long a delivery is recognised.
    #[serde(default = "dedupe_window")]
    pub dedupe_window: String,
    /// How many are recognised at most.
    #[serde(default = "dedupe_capacity")]
    pub dedupe_capacity: usize,
    /// A post that is not safe by then is answered 503.
    #[serde(default = "answer_timeout")]
    pub answer_timeout: String,
    /// A head must be whole after so long.
    #[serde(default = "header_timeout")]
    pub header_timeout: String,
    /// A body must be whole after so long.
    #[serde(default = "body_timeout")]
    pub body_timeout: String,
    /// A connection without a request is closed after so long.
    #[serde(default = "idle_timeout")]
    pub idle_timeout: String,
    /// Most connections at a time.
    #[serde(default = "max_connections")]
    pub max_connections: usize,
    /// Serves HTTPS instead of HTTP.
    #[serde(default)]
    pub tls: Option<TlsConfig>,
}

/// One protected path.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointConfig {
    /// 32 lower-case hexadecimal digits.
    pub endpoint_id: String,
    /// What `picomq.http.endpoint` says; the id if not set.
    #[serde(default)]
    pub name: Option<String>,
    /// How it is protected.
    pub auth_type: Family,
    /// Its secret.
    #[serde(default)]
    pub auth_secret: Option<Secret>,
    /// A second live secret, while the sender changes over.
    #[serde(default)]
    pub auth_secret_previous: Option<Secret>,
    /// The header of the two plain HMAC families.
    #[serde(default)]
    pub hmac_header: Option<String>,
    /// What stands before the digits in it.
    #[serde(default)]
    pub hmac_prefix: Option<String>,
    /// Seconds since the Unix epoch; from then on the path is not found.
    #[serde(default)]
    pub expires_at: Option<i64>,
}

/// When a post is answered 2xx.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ack {
    /// When its batch was acknowledged: it is in its topics.
    #[default]
    Delivered,
    /// When it is synced to disk in the spool.
    Spooled,
}

/// Certificate and key.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// PEM, the server's certificate first. An absolute path.
    pub cert_file: PathBuf,
    /// PEM. An absolute path.
    pub key_file: PathBuf,
}

fn admin_listen_addr() -> String {
    "127.0.0.1:9091".to_owned()
}

fn spool_max_bytes() -> u64 {
    1 << 30
}

fn json() -> Format {
    Format::Json
}

fn yes() -> bool {
    true
}

fn max_head_bytes() -> usize {
    32 << 10
}

fn buffer_capacity() -> u64 {
    10_000
}

fn buffer_bytes() -> u64 {
    32 << 20
}

fn max_batch_size() -> u32 {
    500
}

fn timestamp_tolerance() -> String {
    "5m".to_owned()
}

fn dedupe_window() -> String {
    "15m".to_owned()
}

fn dedupe_capacity() -> usize {
    100_000
}

fn answer_timeout() -> String {
    "15s".to_owned()
}

fn header_timeout() -> String {
    "10s".to_owned()
}

fn body_timeout() -> String {
    "30s".to_owned()
}

fn idle_timeout() -> String {
    "60s".to_owned()
}

fn max_connections() -> usize {
    1_000
}
