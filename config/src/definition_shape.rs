//! The tables of a source definition.

use std::time::Duration;

use crate::error_policy::ERRORS;
use crate::expectation_shape::TEST;
use crate::schema_shape;
use crate::shape::{Field, Kind, Names, Shape, TIME, field, not_yet, required, time, words};
use crate::transform_shape::TRANSFORMS;

pub(crate) static DEFINITION: Shape = Shape {
    fields: &[
        required(
            "type",
            words(&["source", "sink"]),
            "`source`. A `sink` is not for this engine and left alone.",
        ),
        required(
            "key",
            Kind::Text,
            "Identity: 1 to 64 of A-Z a-z 0-9 . _ -, unique ignoring case. Names the state file.",
        ),
        field("enabled", Kind::Bool, "true", "Whether the source runs; false lists it as stopped."),
        field("version", Kind::Integer { min: 0, max: i64::MAX as u64 }, "0", "Version of this definition."),
        field("name", Kind::Text, "the key", "Name for people."),
        required(
            "path",
            Kind::Text,
            "The plugin: a library name, or a path inside one of the plugin folders.",
        ),
        field(
            "max_in_flight",
            Kind::Integer { min: 1, max: 64 },
            "1",
            "Batches in flight; above 1 only for a plugin that declares `pipelined`.",
        ),
        field(
            "plugin_config_format",
            words(&["json", "yaml", "toml", "text"]),
            "\"toml\"",
            "How the API renders the plugin's configuration.",
        ),
        field("verbose", Kind::Bool, "false", "Per-batch log lines at info instead of debug."),
        field(
            "benchmark",
            Kind::Bool,
            "false",
            "A timing event per batch on the target `picomq_connectors::benchmark`.",
        ),
        required("topics", Kind::Tables(&BLOCK), "One block per producer; every record goes to every block."),
        field("plugin_config", Kind::Free, "empty", "For the plugin; its own page lists the keys."),
        field(
            "supervision",
            Kind::Table(&SUPERVISION),
            "that of config.toml",
            "How patient the engine is with this source.",
        ),
        field(
            "errors",
            Kind::Table(&ERRORS),
            "",
            "What happens to a record that cannot be decoded, transformed, routed or encoded.",
        ),
        field(
            "tests",
            Kind::Tables(&TEST),
            "none",
            "Records with what should become of each; `pico-connectors test` runs them.",
        ),
        field(
            "transforms",
            Kind::Tagged(&TRANSFORMS),
            "none",
            "What happens to each record before it is routed, in the order written.",
        ),
    ],
    foreign: &[
        ("streams", "a source of this engine has [[topics]] blocks"),
        ("iggy", "a source of this engine has [[topics]] blocks; the broker stands in config.toml, [kafka]"),
        (
            "kafka",
            "[kafka] belongs into config.toml; other producer settings into `properties` of a [[topics]] block",
        ),
        ("http", "[http] belongs into config.toml"),
        ("state", "[state] belongs into config.toml"),
        ("interval", "settings of the plugin belong under [plugin_config]"),
        ("topic", "`topic` belongs into a [[topics]] block"),
    ],
};

pub(crate) static BLOCK: Shape = Shape {
    fields: &[
        required("topic", Kind::TextOrTable(&RULE), "A literal topic name or a routing rule."),
        field(
            "when",
            Kind::Text,
            "all",
            "A jq expression that is true or false; the block takes the records for which it is true.",
        ),
        field(
            "schema",
            words(&["json", "raw", "text", "proto", "flatbuffer", "flat_buffer", "avro"]),
            "\"json\"",
            "Encoding on the wire.",
        ),
        field(
            "batch_length",
            Kind::Integer { min: 1, max: 1_000_000 },
            "1000",
            "Records in one produce request at most (librdkafka's batch.num.messages).",
        ),
        field(
            "linger_time",
            time(Duration::ZERO, Duration::from_secs(900)),
            "\"0s\"",
            "Wait for a fuller request, whole milliseconds (librdkafka's linger.ms); it is latency added to the end of each batch.",
        ),
        field("create_topics", Kind::Bool, "false", "Create missing topics through the admin API."),
        field(
            "partitions",
            Kind::Integer { min: 0, max: i32::MAX as u64 },
            "1",
            "Only 1: topics have one partition.",
        ),
        field(
            "replication_factor",
            Kind::Integer { min: 0, max: i16::MAX as u64 },
            "the broker's default",
            "Replication of topics we create; only 1 may be written.",
        ),
        field(
            "topic_config",
            Kind::Texts { names: Names::Dotted },
            "empty",
            "Settings of topics we create, such as { \"cleanup.policy\" = \"compact\" }.",
        ),
        field(
            "max_topics",
            Kind::Integer { min: 1, max: 100_000 },
            "1000",
            "Topics this block may send to between two openings; past it a name is unroutable.",
        ),
        field(
            "allowed_topics",
            Kind::Text,
            "all",
            "Regular expression for the whole name; a topic outside it is unroutable.",
        ),
        field("record_key", Kind::Text, "the plugin's key", "Template of the record key."),
        field("headers", Kind::Texts { names: Names::Plain }, "empty", "Extra headers, each a template."),
        field(
            "provenance",
            Kind::Bool,
            "false",
            "Adds the header picomq.batch = <life>/<number>/<index>/<size>.",
        ),
        field(
            "properties",
            Kind::Texts { names: Names::Properties },
            "empty",
            "Other librdkafka producer settings, except those the engine owns and those that reach files, URLs or other brokers.",
        ),
        not_yet(
            "avro_schema",
            "write avro_schema_path or avro_schema_json: a schema that comes with the records is not taken yet",
        ),
        schema_shape::AVRO_SCHEMA_JSON,
        schema_shape::AVRO_SCHEMA_PATH,
        schema_shape::PROTO_SCHEMA_PATH,
        schema_shape::PROTO_INCLUDE_PATHS,
        schema_shape::PROTO_MESSAGE,
        schema_shape::PROTO_DESCRIPTOR_SET,
        schema_shape::FLATBUFFER_SCHEMA_PATH,
        schema_shape::FLATBUFFER_ROOT,
        schema_shape::SCHEMA_REGISTRY,
    ],
    foreign: &[
        ("name", "the name of a topic is `topic`"),
        ("stream", "the destination is `topic`, a literal or a rule"),
        ("linger_ms", "write linger_time = \"5ms\""),
        ("acks", "the engine always waits for all in-sync replicas"),
    ],
};

pub(crate) static RULE: Shape = Shape {
    fields: &[
        field(
            "strategy",
            words(&["static", "field", "header", "key", "hash"]),
            "\"static\"",
            "Where the value comes from: `name`, a payload field, a header, the record key, or a hash of one of these.",
        ),
        field("name", Kind::Text, "", "The topic, for `static`."),
        field(
            "path",
            Kind::Text,
            "",
            "Dotted path into the JSON payload, for `field` and `hash`; a number indexes an array.",
        ),
        field("header", Kind::Text, "", "Header name, for `header` and `hash`."),
        field(
            "buckets",
            Kind::Integer { min: 1, max: i32::MAX as u64 },
            "",
            "Number of buckets, for `hash`: murmur2 & 0x7fffffff % buckets of path, else header, else key.",
        ),
        field(
            "template",
            Kind::Text,
            "\"{value}\"",
            "Topic name with {value}, {field:a.b}, {header:x}, {key}; {{ and }} are braces.",
        ),
        field(
            "fallback",
            Kind::Text,
            "none",
            "Topic of records without a value; without one they go by [errors].",
        ),
        field(
            "illegal",
            words(&["missing", "replace"]),
            "\"missing\"",
            "A value with characters no topic may have is missing, or has each replaced by `_`.",
        ),
    ],
    foreign: &[("field", "the path of a field is `path`"), ("topic", "a literal topic is topic = \"NAME\"")],
};

pub(crate) static SUPERVISION: Shape = Shape { fields: SUPERVISION_FIELDS, foreign: &[] };

const SUPERVISION_FIELDS: &[Field] = &[
    field(
        "nack_limit",
        Kind::Integer { min: 1, max: 1_000_000 },
        "30",
        "Consecutive nacks at which polling stops.",
    ),
    field("backoff_initial", TIME, "\"100ms\"", "Wait after the first nack; doubles."),
    field("backoff_max", TIME, "\"5s\"", "Longest wait after a nack."),
    field("poll_backoff_max", TIME, "\"30s\"", "Longest wait after a failed poll."),
    field(
        "restart_after",
        Kind::Time { min: Duration::from_millis(1), max: Duration::from_secs(86_400), can_be_off: true },
        "\"1m\"",
        "Wait before a halted source is opened again by itself, doubling to 10m; `off` never does.",
    ),
    field("batch_deadline", TIME, "\"30s\"", "Longest silence between two delivery reports of a batch."),
    field("open_timeout", TIME, "\"60s\"", "Longest time the plugin may take to open."),
    field("verdict_timeout", TIME, "\"30s\"", "Longest time the plugin may take over a verdict."),
    field(
        "stall_after",
        TIME,
        "\"5m\"",
        "Time without progress, while something is in flight, until health says degraded.",
    ),
];
