//! The runtime's own configuration, `config.toml`, checked and with every path absolute.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::http::Http;
use crate::http_state::HttpState;
use crate::properties::Properties;
use crate::secret::Secret;
use crate::supervision::Supervision;
use crate::telemetry::Telemetry;

/// Everything config.toml says, defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Engine {
    /// The file it came from. None: there was none, all defaults.
    pub file: Option<PathBuf>,
    /// The broker.
    pub kafka: Kafka,
    /// Where checkpoints are kept.
    pub state: StateConfig,
    /// Where definitions are.
    pub connectors: Connectors,
    /// Where libraries are.
    pub plugins: Plugins,
    /// The API server.
    pub http: Http,
    /// The log.
    pub logging: Logging,
    /// OpenTelemetry.
    pub telemetry: Telemetry,
    /// Defaults for every source.
    pub supervision: Supervision,
    /// How the process ends.
    pub shutdown: Shutdown,
    /// Bounds on what a source may hold.
    pub limits: Limits,
}

impl Engine {
    /// All defaults, relative paths taken from `folder` (absolute).
    pub fn defaults(folder: &Path) -> Engine {
        Engine {
            file: None,
            kafka: Kafka::default(),
            state: StateConfig::File { path: folder.join("local_state") },
            connectors: Connectors { config_dir: folder.join("sources"), watch: true, writable: true },
            plugins: Plugins::default(),
            http: Http::default(),
            logging: Logging::default(),
            telemetry: Telemetry::default(),
            supervision: Supervision::default(),
            shutdown: Shutdown::default(),
            limits: Limits::default(),
        }
    }
}

/// `[kafka]`: how every client reaches the broker.
#[derive(Debug, Clone, PartialEq)]
pub struct Kafka {
    /// `host:port`, several with commas (`localhost:9092`).
    pub bootstrap_servers: String,
    /// Name the broker sees (`picomq-connectors`).
    pub client_id: String,
    /// Plaintext, TLS, SASL (plaintext).
    pub security_protocol: SecurityProtocol,
    /// Credentials; used only by the two SASL protocols.
    pub sasl: Sasl,
    /// Certificates; used only by the two TLS protocols.
    pub tls: Tls,
    /// Other librdkafka settings, for every client. Here file- and URL-valued ones are allowed.
    pub properties: Properties,
}

impl Default for Kafka {
    fn default() -> Kafka {
        Kafka {
            bootstrap_servers: "localhost:9092".to_owned(),
            client_id: "picomq-connectors".to_owned(),
            security_protocol: SecurityProtocol::Plaintext,
            sasl: Sasl::default(),
            tls: Tls::default(),
            properties: Properties::default(),
        }
    }
}

/// librdkafka's `security.protocol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are librdkafka's words")]
pub enum SecurityProtocol {
    Plaintext,
    Ssl,
    SaslPlaintext,
    SaslSsl,
}

impl SecurityProtocol {
    /// The word for librdkafka.
    pub fn as_str(self) -> &'static str {
        match self {
            SecurityProtocol::Plaintext => "plaintext",
            SecurityProtocol::Ssl => "ssl",
            SecurityProtocol::SaslPlaintext => "sasl_plaintext",
            SecurityProtocol::SaslSsl => "sasl_ssl",
        }
    }

    /// Whether `[kafka.sasl]` is used.
    pub fn is_sasl(self) -> bool {
        matches!(self, SecurityProtocol::SaslPlaintext | SecurityProtocol::SaslSsl)
    }

    /// Whether `[kafka.tls]` is used.
    pub fn is_tls(self) -> bool {
        matches!(self, SecurityProtocol::Ssl | SecurityProtocol::SaslSsl)
    }
}

/// `[kafka.sasl]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Sasl {
    /// PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (PLAIN).
    pub mechanism: SaslMechanism,
    /// Empty unless a SASL protocol is chosen.
    pub username: String,
    /// Never printed.
    pub password: Secret,
}

impl Default for Sasl {
    fn default() -> Sasl {
        Sasl {
            mechanism: SaslMechanism::Plain,
            username: String::new(),
            password: Secret::new(String::new()),
        }
    }
}

/// The mechanisms librdkafka is built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the registered names")]
pub enum SaslMechanism {
    Plain,
    ScramSha256,
    ScramSha512,
}

impl SaslMechanism {
    /// The word for librdkafka.
    pub fn as_str(self) -> &'static str {
        match self {
            SaslMechanism::Plain => "PLAIN",
            SaslMechanism::ScramSha256 => "SCRAM-SHA-256",
            SaslMechanism::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

/// `[kafka.tls]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Who signed the broker's certificate. None: the system's store.
    pub ca_file: Option<PathBuf>,
    /// Our certificate, for mutual TLS.
    pub cert_file: Option<PathBuf>,
    /// Its key.
    pub key_file: Option<PathBuf>,
    /// False sets librdkafka's endpoint identification to none (true).
    pub verify_hostname: bool,
}

impl Default for Tls {
    fn default() -> Tls {
        Tls { ca_file: None, cert_file: None, key_file: None, verify_hostname: true }
    }
}

/// `[state]`: the store. An enum, so that a second store cannot be overlooked where one is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateConfig {
    /// One file a source.
    File {
        /// Absolute folder (`local_state`).
        path: PathBuf,
    },
    /// One resource a source, on a server.
    Http(Box<HttpState>),
}

/// `[connectors]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connectors {
    /// Absolute folder of the definitions, one `*.toml` a source (`sources`).
    pub config_dir: PathBuf,
    /// Whether changes there are taken up by themselves (true).
    pub watch: bool,
    /// Whether the API may write definitions (true).
    pub writable: bool,
}

/// `[plugins]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plugins {
    /// Absolute folders, searched before the executable's and `/usr/local/lib`.
    pub directories: Vec<PathBuf>,
}

/// `[logging]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Logging {
    /// Text or JSON lines (text).
    pub format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the variants are the words of the file")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// `[shutdown]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// Time to drain what is in flight before the process gives up and exits 1 (25 s).
    pub grace: Duration,
}

impl Default for Shutdown {
    fn default() -> Shutdown {
        Shutdown { grace: Duration::from_secs(25) }
    }
}

/// `[limits]`, in bytes and records. `record_bytes` ≤ `batch_bytes` ≤ `in_flight_bytes` ≤ `in_flight_bytes_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest payload with key and headers of one record (1,000,000).
    pub record_bytes: u64,
    /// Most records in a batch (10,000).
    pub batch_records: u32,
    /// Largest batch (64 MiB).
    pub batch_bytes: u64,
    /// What one source may have in flight (64 MiB).
    pub in_flight_bytes: u64,
    /// What all sources together may have in flight (512 MiB).
    pub in_flight_bytes_total: u64,
    /// Whether URLs that came through the API may be http or private (false).
    pub private_urls: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        const MIB: u64 = 1024 * 1024;
        Limits {
            record_bytes: 1_000_000,
            batch_records: 10_000,
            batch_bytes: 64 * MIB,
            in_flight_bytes: 64 * MIB,
            in_flight_bytes_total: 512 * MIB,
            private_urls: false,
        }
    }
}
