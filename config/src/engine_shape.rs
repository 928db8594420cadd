//! The tables of config.toml.

use std::time::Duration;

use crate::definition_shape::SUPERVISION;
use crate::http_shape::HTTP;
use crate::shape::{Kind, Names, Shape, TIME, field, time, words};

const MIB: u64 = 1024 * 1024;

pub(crate) static ENGINE: Shape = Shape {
    fields: &[
        field("kafka", Kind::Table(&KAFKA), "", "How every client reaches the broker."),
        field("state", Kind::Table(&STATE), "", "Where checkpoints are kept."),
        field("connectors", Kind::Table(&CONNECTORS), "", "Where the definitions are."),
        field("plugins", Kind::Table(&PLUGINS), "", "Where the libraries are."),
        field("http", Kind::Table(&HTTP), "", "The API server."),
        field("logging", Kind::Table(&LOGGING), "", "The log."),
        field(
            "telemetry",
            Kind::Table(&TELEMETRY),
            "",
            "OpenTelemetry by OTLP over HTTP; needs a build with the feature `otel`.",
        ),
        field("supervision", Kind::Table(&SUPERVISION), "", "Defaults for every source."),
        field("shutdown", Kind::Table(&SHUTDOWN), "", "How the process ends."),
        field("limits", Kind::Table(&LIMITS), "", "Bounds on what is held in memory."),
    ],
    foreign: &[
        ("iggy", "this engine speaks the Kafka protocol: [kafka] bootstrap_servers"),
        ("topics", "[[topics]] belongs into a source definition, a file of its own in connectors.config_dir"),
        (
            "type",
            "this is the runtime's config.toml; a source definition is a file of its own in connectors.config_dir",
        ),
    ],
};

static KAFKA: Shape = Shape {
    fields: &[
        field("bootstrap_servers", Kind::Text, "\"localhost:9092\"", "host:port, several with commas."),
        field("client_id", Kind::Text, "\"picomq-connectors\"", "Name the broker sees."),
        field(
            "security_protocol",
            words(&[
                "plaintext",
                "ssl",
                "sasl_plaintext",
                "sasl_ssl",
                "PLAINTEXT",
                "SSL",
                "SASL_PLAINTEXT",
                "SASL_SSL",
            ]),
            "\"plaintext\"",
            "Whether TLS and SASL are used.",
        ),
        field("sasl", Kind::Table(&SASL), "", "Credentials, for the two SASL protocols."),
        field("tls", Kind::Table(&KAFKA_TLS), "", "Certificates, for the two TLS protocols."),
        field(
            "properties",
            Kind::Texts { names: Names::Properties },
            "empty",
            "Other librdkafka settings for every client, except those that weaken delivery. Files and URLs are allowed here.",
        ),
    ],
    foreign: &[("brokers", "write bootstrap_servers = \"host:9092\"")],
};

static SASL: Shape = Shape {
    fields: &[
        field(
            "mechanism",
            words(&["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]),
            "\"PLAIN\"",
            "SASL mechanism.",
        ),
        field("username", Kind::Text, "empty", "User name."),
        field("password", Kind::Secret, "empty", "Password; best as ${env:NAME} or ${file:/run/secrets/x}."),
    ],
    foreign: &[],
};

static KAFKA_TLS: Shape = Shape {
    fields: &[
        field(
            "ca_file",
            Kind::Text,
            "the system's store",
            "PEM file of who signed the broker's certificate.",
        ),
        field("cert_file", Kind::Text, "none", "PEM file of our certificate, for mutual TLS."),
        field("key_file", Kind::Text, "none", "PEM file of its key."),
        field(
            "verify_hostname",
            Kind::Bool,
            "true",
            "Whether the broker's certificate must bear its host name.",
        ),
    ],
    foreign: &[],
};

static STATE: Shape = Shape {
    fields: &[
        field("storage", words(&["file", "http"]), "\"file\"", "Store of the checkpoints."),
        field(
            "path",
            Kind::Text,
            "\"local_state\"",
            "Folder of the state files, on a volume that stays; for storage = \"file\".",
        ),
        field("http", Kind::Table(&STATE_HTTP), "", "The server, for storage = \"http\"."),
    ],
    foreign: &[],
};

static STATE_HTTP: Shape = Shape {
    fields: &[
        field(
            "url",
            Kind::Secret,
            "none",
            "Base URL, http or https, without user and fragment; a source is {url}/source_{key}. A query is kept.",
        ),
        field("load_method", words(&["get", "post"]), "\"get\"", "Method that loads."),
        field("save_method", words(&["put", "post", "patch"]), "\"put\"", "Method that saves."),
        field("timeout", TIME, "\"5s\"", "Per request."),
        field(
            "request_headers",
            Kind::Texts { names: Names::Plain },
            "empty",
            "Headers of every request; values are secrets. Those that this engine sends itself are refused.",
        ),
        field("retry", Kind::Table(&RETRY), "", "Retries of one request."),
    ],
    foreign: &[],
};

static RETRY: Shape = Shape {
    fields: &[
        field("enabled", Kind::Bool, "true", "False: a single attempt."),
        field("max_attempts", Kind::Integer { min: 0, max: 100 }, "4", "Retries after the first attempt."),
        field("initial_backoff", TIME, "\"200ms\"", "Wait before the first retry."),
        field("max_backoff", TIME, "\"2s\"", "Longest wait between two attempts."),
        field("backoff_multiplier", Kind::Integer { min: 1, max: 100 }, "2", "Growth of the wait."),
    ],
    foreign: &[],
};

const FILES_ONLY: &str = "keep the definitions as files in connectors.config_dir";

static CONNECTORS: Shape = Shape {
    fields: &[
        field(
            "config_type",
            Kind::Word { words: &["local"], later: &[("http", FILES_ONLY)] },
            "\"local\"",
            "Definitions are files.",
        ),
        field(
            "config_dir",
            Kind::Text,
            "\"sources\"",
            "Folder of the definitions, one *.toml per source, no subfolders.",
        ),
        field("watch", Kind::Bool, "true", "Take up changes of the files by itself."),
        field("writable", Kind::Bool, "true", "Whether the API may write definitions."),
    ],
    foreign: &[
        ("base_url", FILES_ONLY),
        ("timeout", FILES_ONLY),
        ("request_headers", FILES_ONLY),
        ("url_templates", FILES_ONLY),
        ("response", FILES_ONLY),
        ("retry", FILES_ONLY),
    ],
};

static PLUGINS: Shape = Shape {
    fields: &[field(
        "directories",
        Kind::List(&Kind::Text),
        "empty",
        "Folders of libraries, searched before the executable's own and /usr/local/lib.",
    )],
    foreign: &[],
};

static LOGGING: Shape = Shape {
    fields: &[field("format", words(&["text", "json"]), "\"text\"", "Text or JSON lines.")],
    foreign: &[],
};

static TELEMETRY: Shape = Shape {
    fields: &[
        field("enabled", Kind::Bool, "false", "Send log lines, and a span for each acked batch."),
        field("service_name", Kind::Text, "\"picomq-connectors\"", "service.name of what is sent."),
        field("logs", Kind::Table(&EXPORTER), "", "Where log lines go."),
        field("traces", Kind::Table(&EXPORTER), "", "Where spans go."),
    ],
    foreign: &[],
};

static EXPORTER: Shape = Shape {
    fields: &[
        field(
            "transport",
            words(&["http"]),
            "\"http\"",
            "Without effect: always OTLP over HTTP, binary, which every collector takes.",
        ),
        field(
            "endpoint",
            Kind::Text,
            "\"http://localhost:4318\"",
            "URL; the signal's path is added when it has none.",
        ),
    ],
    foreign: &[],
};

static SHUTDOWN: Shape = Shape {
    fields: &[field(
        "grace",
        time(Duration::ZERO, Duration::from_secs(3600)),
        "\"25s\"",
        "Time to drain what is in flight before the process gives up and exits 1.",
    )],
    foreign: &[],
};

static LIMITS: Shape = Shape {
    fields: &[
        field("record_bytes", Kind::Size { min: 1, max: 900 * MIB }, "1000000", "Largest record, in bytes."),
        field("batch_records", Kind::Integer { min: 1, max: 1_000_000 }, "10000", "Most records in a batch."),
        field(
            "batch_bytes",
            Kind::Size { min: 1, max: 4096 * MIB },
            "\"64 MiB\"",
            "Largest batch, in bytes.",
        ),
        field(
            "in_flight_bytes",
            Kind::Size { min: 1, max: 1 << 40 },
            "\"64 MiB\"",
            "Bytes in flight of one source.",
        ),
        field(
            "in_flight_bytes_total",
            Kind::Size { min: 1, max: 1 << 40 },
            "\"512 MiB\"",
            "Bytes in flight of all sources.",
        ),
        field(
            "private_urls",
            Kind::Bool,
            "false",
            "Whether URLs that came through the API may be http or private.",
        ),
    ],
    foreign: &[],
};
