//! Values for the keys that go with a binary schema, each with what else it needs.

use serde_json::{Value, json};

/// Any text; schemas are read here, and compiled elsewhere.
const A_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

type Pairs = Vec<(&'static str, Value)>;

fn avro(extra: Pairs) -> Pairs {
    [vec![("topics.0.schema", json!("avro"))], extra].concat()
}

fn proto(extra: Pairs) -> Pairs {
    [vec![("topics.0.schema", json!("proto")), ("topics.0.proto_schema_path", json!(A_FILE))], extra].concat()
}

fn flatbuffer(extra: Pairs) -> Pairs {
    [
        vec![("topics.0.schema", json!("flatbuffer")), ("topics.0.flatbuffer_schema_path", json!(A_FILE))],
        extra,
    ]
    .concat()
}

fn registry(extra: Pairs) -> Pairs {
    [vec![("topics.0.schema_registry.url", json!("http://r"))], extra].concat()
}

pub(crate) fn is_of_schema(path: &str) -> bool {
    let key = path.strip_prefix("topics.0.").unwrap_or_default();
    ["avro_", "proto_", "flatbuffer_", "schema_registry."].iter().any(|start| key.starts_with(start))
}

/// A value of the key that is not its default.
pub(crate) fn of_schema(path: &str) -> Pairs {
    match path {
        "topics.0.avro_schema_json" => avro(vec![("topics.0.avro_schema_json", json!("\"int\""))]),
        "topics.0.avro_schema_path" => avro(vec![("topics.0.avro_schema_path", json!(A_FILE))]),
        "topics.0.proto_schema_path" => proto(vec![]),
        "topics.0.proto_include_paths" => proto(vec![("topics.0.proto_include_paths", json!(["/"]))]),
        "topics.0.proto_message" => proto(vec![("topics.0.proto_message", json!("M"))]),
        "topics.0.proto_descriptor_set" => {
            vec![("topics.0.schema", json!("proto")), ("topics.0.proto_descriptor_set", json!(A_FILE))]
        }
        "topics.0.flatbuffer_schema_path" => flatbuffer(vec![]),
        "topics.0.flatbuffer_root" => flatbuffer(vec![("topics.0.flatbuffer_root", json!("T"))]),
        "topics.0.schema_registry.url" => registry(vec![]),
        "topics.0.schema_registry.subject" => {
            registry(vec![("topics.0.schema_registry.subject", json!("s"))])
        }
        "topics.0.schema_registry.register" => [
            avro(vec![("topics.0.avro_schema_path", json!(A_FILE))]),
            registry(vec![("topics.0.schema_registry.register", json!(true))]),
        ]
        .concat(),
        "topics.0.schema_registry.username" | "topics.0.schema_registry.password" => registry(vec![
            ("topics.0.schema_registry.username", json!("u")),
            ("topics.0.schema_registry.password", json!("p")),
        ]),
        "topics.0.schema_registry.token" => registry(vec![("topics.0.schema_registry.token", json!("x"))]),
        "topics.0.schema_registry.tls.ca_file" => {
            registry(vec![("topics.0.schema_registry.tls.ca_file", json!(A_FILE))])
        }
        "topics.0.schema_registry.timeout" => {
            registry(vec![("topics.0.schema_registry.timeout", json!("3s"))])
        }
        other => panic!("the schema has a key this test does not know: {other}"),
    }
}
