//! `[http]`: the API server, and who may use it.

use std::path::PathBuf;

use crate::secret::Secret;

/// The API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http {
    /// False: no server (true).
    pub enabled: bool,
    /// `host:port` (`127.0.0.1:8081`). Beyond loopback only when `keys` is not empty.
    pub address: String,
    /// Who may use it. Empty: everybody who reaches it, which is loopback only.
    pub keys: Vec<ApiKey>,
    /// Names under which clients may ask for it beside those it knows by itself; one that begins with a dot stands for
    /// all names that end so.
    pub allowed_hosts: Vec<String>,
    /// None: pages of other origins get nothing.
    pub cors: Option<Cors>,
    /// None: plain HTTP.
    pub tls: Option<HttpTls>,
    /// Whether metrics are served (true).
    pub metrics_enabled: bool,
    /// Path of the metrics (`/metrics`).
    pub metrics_endpoint: String,
}

impl Default for Http {
    fn default() -> Http {
        Http {
            enabled: true,
            address: "127.0.0.1:8081".to_owned(),
            keys: Vec::new(),
            allowed_hosts: Vec::new(),
            cors: None,
            tls: None,
            metrics_enabled: true,
            metrics_endpoint: "/metrics".to_owned(),
        }
    }
}

/// One key of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Said in the log where the key is not; unique. That of `http.api_key` is `api_key`.
    pub name: String,
    /// Printable ASCII, so that a header can carry it.
    pub key: Secret,
    /// What it opens.
    pub role: Role,
}

/// What a key opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Admin,
    /// What changes nothing: GET and HEAD.
    Read,
}

/// `[http.cors]`: pages of other origins that may use the API from a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    /// `https://host`, with a port where it is not the scheme's own; or `*` alone, which needs keys and no credentials.
    pub allowed_origins: Vec<String>,
    /// Upper case.
    pub allowed_methods: Vec<String>,
    /// Lower case.
    pub allowed_headers: Vec<String>,
    /// Lower case.
    pub exposed_headers: Vec<String>,
    /// Whether a browser sends along what it keeps for us.
    pub allow_credentials: bool,
    /// Whether pages of public sites may reach a private address.
    pub allow_private_network: bool,
}

/// `[http.tls]`, when it is on. Both absolute; read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpTls {
    /// PEM: our certificate, then those that lead to its root.
    pub cert_file: PathBuf,
    /// PEM: its key.
    pub key_file: PathBuf,
}
