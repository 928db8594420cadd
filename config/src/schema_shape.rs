//! The keys of a `[[topics]]` block that say what its records look like in a binary schema, and the table of its registry.

use std::time::Duration;

use crate::shape::{Field, Kind, Shape, field, required, time};

pub(crate) const AVRO_SCHEMA_JSON: Field =
    field("avro_schema_json", Kind::Text, "", "The Avro schema itself, for `avro`.");
pub(crate) const AVRO_SCHEMA_PATH: Field =
    field("avro_schema_path", Kind::Text, "", "File of the Avro schema (.avsc), for `avro`.");
pub(crate) const PROTO_SCHEMA_PATH: Field =
    field("proto_schema_path", Kind::Text, "", "The .proto file, for `proto`; imports are found beside it.");
pub(crate) const PROTO_INCLUDE_PATHS: Field = field(
    "proto_include_paths",
    Kind::List(&Kind::Text),
    "the folder of the file",
    "Folders in which imports are looked for, in this order.",
);
pub(crate) const PROTO_MESSAGE: Field = field(
    "proto_message",
    Kind::Text,
    "the only one",
    "The message, with or without its package, for `proto`.",
);
pub(crate) const PROTO_DESCRIPTOR_SET: Field = field(
    "proto_descriptor_set",
    Kind::Text,
    "",
    "File that `protoc --include_imports --descriptor_set_out` wrote, instead of proto_schema_path.",
);
pub(crate) const FLATBUFFER_SCHEMA_PATH: Field = field(
    "flatbuffer_schema_path",
    Kind::Text,
    "",
    "The binary schema (.bfbs) that `flatc --binary --schema` wrote, for `flatbuffer`.",
);
pub(crate) const FLATBUFFER_ROOT: Field =
    field("flatbuffer_root", Kind::Text, "the schema's root_type", "The table, for `flatbuffer`.");
pub(crate) const SCHEMA_REGISTRY: Field = field(
    "schema_registry",
    Kind::Table(&REGISTRY),
    "none",
    "Confluent schema registry and wire format, for `avro`, `proto` and `json`.",
);

static REGISTRY: Shape = Shape {
    fields: &[
        required("url", Kind::Text, "Where the registry is: https://registry.example for one."),
        field(
            "subject",
            Kind::Text,
            "<topic>-value",
            "Subject of the schema; needed where the topic is a rule.",
        ),
        field(
            "register",
            Kind::Bool,
            "false",
            "Registers the block's schema when it is not; otherwise a schema that is not there keeps the source from opening.",
        ),
        field("username", Kind::Text, "none", "For HTTP basic authentication."),
        field("password", Kind::Secret, "none", "For HTTP basic authentication."),
        field("token", Kind::Secret, "none", "A bearer token, instead of username and password."),
        field("tls", Kind::Table(&REGISTRY_TLS), "", "How the registry's certificate is checked."),
        field(
            "timeout",
            time(Duration::from_millis(1), Duration::from_secs(60)),
            "\"5s\"",
            "For one request.",
        ),
    ],
    foreign: &[
        ("basic.auth.user.info", "write username and password"),
        ("auto.register.schemas", "write register = true"),
    ],
};

static REGISTRY_TLS: Shape = Shape {
    fields: &[field(
        "ca_file",
        Kind::Text,
        "those of the system",
        "PEM file of the authorities that the registry's certificate must come from.",
    )],
    foreign: &[],
};
