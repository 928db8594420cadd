//! The published schemas say exactly what the loader takes: every key of a schema is accepted, changes the result and
//! refuses a value of a wrong type; no key outside it is accepted.

use std::path::Path;

use pico_config::{Definition, Engine, Severity, check_definition, definition_schema, engine_schema};
use serde_json::{Map, Value, json};

use crate::given::{engine, no_env};
use crate::schema_values::{is_of_schema, of_schema};

/// A leaf of a schema: its path, and its own schema.
fn leaves(schema: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, Value)>) {
    // Its tables depend on their type: tests/transform_schema.rs goes through them.
    if *path == ["transforms"] {
        return;
    }
    let tables: Vec<&Value> =
        std::iter::once(schema).chain(schema["anyOf"].as_array().into_iter().flatten()).collect();
    let table = tables.into_iter().find(|schema| schema["properties"].is_object());
    if let Some(table) = table {
        assert_eq!(table["additionalProperties"], json!(false), "{path:?}");
        for (name, property) in table["properties"].as_object().unwrap() {
            path.push(name.clone());
            leaves(property, path, found);
            path.pop();
        }
    } else if schema["items"]["properties"].is_object() {
        path.push("0".to_owned());
        leaves(&schema["items"], path, found);
        path.pop();
    } else {
        found.push((path.clone(), schema.clone()));
    }
}

fn definition_leaves() -> Vec<(Vec<String>, Value)> {
    let mut found = Vec::new();
    leaves(&definition_schema(), &mut Vec::new(), &mut found);
    found
}

fn engine_leaves() -> Vec<(Vec<String>, Value)> {
    let mut found = Vec::new();
    leaves(&engine_schema(), &mut Vec::new(), &mut found);
    found
}

fn put(document: &mut Value, path: &[String], value: Value) {
    let (last, tables) = path.split_last().unwrap();
    let mut at = document;
    for name in tables {
        at = match name.as_str() {
            "0" => &mut at[0],
            "topic" if !at["topic"].is_object() => {
                at["topic"] = json!({});
                &mut at["topic"]
            }
            name => {
                if at.get(name).is_none() {
                    at[name] = json!({});
                }
                &mut at[name]
            }
        };
    }
    at[last] = value;
}

fn toml_of(document: &Value) -> String {
    toml::to_string(document).unwrap()
}

fn base() -> Value {
    json!({ "type": "source", "key": "a", "path": "liba", "topics": [{ "topic": "t" }] })
}

fn load(document: &Value) -> (Option<Definition>, Vec<String>) {
    let engine = Engine::defaults(Path::new("/srv"));
    let (definition, findings) =
        check_definition(Path::new("a.toml"), &toml_of(document), &engine, &no_env());
    let worrying = findings.iter().filter(|finding| finding.severity != Severity::Info);
    (definition, worrying.map(|finding| finding.summary()).collect())
}

/// A value of the key that is not its default, with what else it needs.
fn other_value(path: &str) -> Vec<(&'static str, Value)> {
    let field = |extra: Vec<(&'static str, Value)>| {
        [vec![("topics.0.topic.strategy", json!("field")), ("topics.0.topic.path", json!("p"))], extra]
            .concat()
    };
    match path {
        "key" | "name" | "path" => vec![],
        "type" => vec![],
        "enabled" => vec![("enabled", json!(false))],
        "version" => vec![("version", json!(3))],
        "max_in_flight" => vec![("max_in_flight", json!(3))],
        "plugin_config_format" => vec![("plugin_config_format", json!("json"))],
        "verbose" => vec![("verbose", json!(true))],
        "benchmark" => vec![("benchmark", json!(true))],
        "plugin_config" => vec![("plugin_config", json!({ "x": 1 }))],
        "topics.0.topic.strategy" | "topics.0.topic.path" => field(vec![]),
        "topics.0.topic.name" => vec![("topics.0.topic.name", json!("u"))],
        "topics.0.topic.header" => {
            vec![("topics.0.topic.strategy", json!("header")), ("topics.0.topic.header", json!("h"))]
        }
        "topics.0.topic.buckets" => {
            vec![("topics.0.topic.strategy", json!("hash")), ("topics.0.topic.buckets", json!(3))]
        }
        "topics.0.topic.template" => field(vec![("topics.0.topic.template", json!("o.{value}"))]),
        "topics.0.topic.fallback" => field(vec![("topics.0.topic.fallback", json!("f"))]),
        "topics.0.topic.illegal" => field(vec![("topics.0.topic.illegal", json!("replace"))]),
        "topics.0.when" => vec![("topics.0.when", json!(".a"))],
        "topics.0.schema" => vec![("topics.0.schema", json!("raw"))],
        "topics.0.batch_length" => vec![("topics.0.batch_length", json!(3))],
        "topics.0.linger_time" => vec![("topics.0.linger_time", json!("3ms"))],
        "topics.0.create_topics" => vec![("topics.0.create_topics", json!(true))],
        "topics.0.replication_factor" => vec![("topics.0.replication_factor", json!(1))],
        "topics.0.topic_config" => vec![("topics.0.topic_config", json!({ "x": "y" }))],
        "topics.0.max_topics" => vec![("topics.0.max_topics", json!(3))],
        "topics.0.allowed_topics" => vec![("topics.0.allowed_topics", json!("t"))],
        "topics.0.record_key" => vec![("topics.0.record_key", json!("{key}"))],
        "topics.0.headers" => vec![("topics.0.headers", json!({ "x": "y" }))],
        "topics.0.provenance" => vec![("topics.0.provenance", json!(true))],
        "topics.0.properties" => vec![("topics.0.properties", json!({ "batch.size": 3 }))],
        "supervision.nack_limit" => vec![("supervision.nack_limit", json!(3))],
        "supervision.backoff_initial" => vec![("supervision.backoff_initial", json!("3ms"))],
        "supervision.backoff_max" => vec![("supervision.backoff_max", json!("3s"))],
        "supervision.poll_backoff_max" => vec![("supervision.poll_backoff_max", json!("3s"))],
        "supervision.restart_after" => vec![("supervision.restart_after", json!("off"))],
        "supervision.batch_deadline" => vec![("supervision.batch_deadline", json!("3s"))],
        "supervision.open_timeout" => vec![("supervision.open_timeout", json!("3s"))],
        "supervision.verdict_timeout" => vec![("supervision.verdict_timeout", json!("3s"))],
        "supervision.stall_after" => vec![("supervision.stall_after", json!("3s"))],
        // Each has one value only, which is also what stands there when nothing is written.
        "topics.0.partitions" => vec![("topics.0.partitions", json!(1))],
        "errors.on_record_error" => vec![("errors.on_record_error", json!("skip"))],
        "errors.max_per_minute" => {
            vec![("errors.on_record_error", json!("skip")), ("errors.max_per_minute", json!(3))]
        }
        "errors.dead_letter_topic" => vec![
            ("errors.on_record_error", json!("dead_letter")),
            ("errors.dead_letter_topic", json!("dead")),
        ],
        path if path.starts_with("tests.") => value_of_a_test(path),
        path if is_of_schema(path) => of_schema(path),
        other => panic!("the schema has a key this test does not know: {other}"),
    }
}

/// The same for a key in a test.
fn value_of_a_test(path: &str) -> Vec<(&'static str, Value)> {
    match path {
        "tests.0.filtered" => instead_of_expect("tests.0.filtered", json!(true)),
        "tests.0.error" => instead_of_expect("tests.0.error", json!("payload_not_json")),
        "tests.0.input.schema" => vec![("tests.0.input.schema", json!("raw"))],
        "tests.0.input.payload_base64" => vec![("tests.0.input.payload_base64", json!("AAE="))],
        "tests.0.input.key_base64" => vec![("tests.0.input.key_base64", json!("AAE="))],
        "tests.0.input.timestamp" => vec![("tests.0.input.timestamp", json!(3))],
        "tests.0.input.tombstone" => vec![("tests.0.input.tombstone", json!(true))],
        "tests.0.input.headers" => vec![("tests.0.input.headers", json!({ "x": "y" }))],
        "tests.0.expect.0.headers" => vec![("tests.0.expect.0.headers", json!({ "x": "y" }))],
        "tests.0.expect.0.without_headers" => vec![("tests.0.expect.0.without_headers", json!(["x"]))],
        "tests.0.expect.0.block" => vec![("tests.0.expect.0.block", json!(0))],
        "tests.0.expect.0.no_key" => vec![("tests.0.expect.0.no_key", json!(true))],
        "tests.0.expect.0.tombstone" => vec![("tests.0.expect.0.tombstone", json!(true))],
        "tests.0.expect.0.value" => vec![("tests.0.expect.0.value", json!("{}"))],
        "tests.0.expect.0.value_base64" => vec![("tests.0.expect.0.value_base64", json!("AAE="))],
        "tests.0.expect.0.ignore" => {
            vec![("tests.0.expect.0.value", json!("{}")), ("tests.0.expect.0.ignore", json!(["a.b"]))]
        }
        // The others hold any text.
        path => vec![(text_path(path), json!("other"))],
    }
}

/// A test has one of three expectations; the base has the first.
fn instead_of_expect(path: &'static str, value: Value) -> Vec<(&'static str, Value)> {
    vec![("tests.0.expect", json!([])), (path, value)]
}

fn text_path(path: &str) -> &'static str {
    const TEXTS: [&str; 7] = [
        "tests.0.name",
        "tests.0.input.payload",
        "tests.0.input.key",
        "tests.0.input.id",
        "tests.0.expect.0.topic",
        "tests.0.expect.0.key",
        "tests.0.expect.0.value_text",
    ];
    TEXTS.into_iter().find(|text| *text == path).unwrap_or_else(|| panic!("the schema has a new key: {path}"))
}

/// The base, with the smallest test there is where the path is in one.
fn base_for(path: &str) -> Value {
    let mut document = base();
    if path.starts_with("tests") {
        document["tests"] = json!([{ "input": {}, "expect": [{ "topic": "t" }] }]);
    }
    document
}

#[test]
fn every_key_of_the_definition_schema_is_read() {
    let fixed = ["type", "topics.0.partitions"];
    for (path, _) in definition_leaves() {
        let path = path.join(".");
        let mut document = base_for(&path);
        let (plain, findings) = load(&document);
        assert!(findings.is_empty(), "{findings:?}");
        match path.as_str() {
            "key" | "name" | "path" => put(&mut document, std::slice::from_ref(&path), json!("other")),
            path => {
                for (at, value) in other_value(path) {
                    let at: Vec<String> = at.split('.').map(str::to_owned).collect();
                    put(&mut document, &at, value);
                }
            }
        }
        let (definition, findings) = load(&document);
        assert!(findings.is_empty(), "{path}: {findings:?}");
        let tests = |definition: &Option<Definition>| definition.as_ref().map(|one| one.tests.clone());
        let is_equal = definition == plain && tests(&definition) == tests(&plain);
        assert_eq!(is_equal, fixed.contains(&path.as_str()), "{path} changes nothing");
    }
}

/// A value no key of that type takes.
fn wrong_value(schema: &Value) -> Value {
    if schema.to_string().contains("\"boolean\"") && schema["type"] != json!("object") {
        json!(1.5)
    } else {
        json!(true)
    }
}

#[test]
fn every_key_of_the_definition_schema_refuses_a_wrong_type() {
    for (path, schema) in definition_leaves() {
        let mut document = base_for(&path[0]);
        put(&mut document, &path, wrong_value(&schema));
        let (definition, findings) = load(&document);
        assert!(definition.is_none() && !findings.is_empty(), "{path:?} took {}", wrong_value(&schema));
    }
}

fn load_engine_of(document: &Value) -> Result<Engine, Vec<String>> {
    let findings = |findings: Vec<pico_config::Finding>| {
        findings.iter().map(|finding| finding.summary()).collect::<Vec<String>>()
    };
    let (loaded, warnings) = engine(&toml_of(document)).map_err(findings)?;
    let serious: Vec<_> = warnings
        .into_iter()
        .filter(|w| w.code != "config.no_effect" && w.code != "config.plain_text")
        .collect();
    assert_eq!(serious, []);
    Ok(Engine { file: None, ..loaded })
}

/// A value that differs from the default, out of the schema alone.
fn engine_value(path: &str, schema: &Value) -> Value {
    let text = schema.to_string();
    match path {
        "kafka.tls.cert_file" | "kafka.tls.key_file" => return json!("x.pem"),
        "kafka.properties" => return json!({ "client.rack": "x" }),
        "http.address" => return json!("127.0.0.1:1"),
        "http.metrics.endpoint" => return json!("/other"),
        "http.api_key" => return json!("0123456789abcdef"),
        "http.api_keys.0.key" => return json!("fedcba9876543210"),
        "http.allowed_hosts" => return json!(["x"]),
        "http.cors.enabled" | "http.tls.enabled" => return json!(false),
        "http.cors.allowed_origins" => return json!(["https://x"]),
        "http.cors.allowed_methods" => return json!(["GET"]),
        "state.http.url" => return json!("https://other.example"),
        "limits.record_bytes" => return json!(5),
        "limits.in_flight_bytes_total" => return json!("1 GiB"),
        "telemetry.logs.endpoint" | "telemetry.traces.endpoint" => return json!("http://otel.example:4318"),
        "limits.batch_bytes" => return json!("63 MiB"),
        "limits.in_flight_bytes" => return json!("65 MiB"),
        _ => {}
    }
    let words = schema["anyOf"][0]["enum"].as_array();
    if let Some(words) = words {
        return words.iter().find(|word| **word != schema["default"]).unwrap_or(&words[0]).clone();
    }
    if text.contains("\"boolean\"") && schema["type"] != json!("object") {
        return json!(schema["default"] != json!(true));
    }
    if text.contains("\"integer\"") {
        return json!(3);
    }
    if text.contains("\"array\"") {
        return json!(["x"]);
    }
    if schema["type"] == json!("object") {
        return json!({ "x": "y" });
    }
    if text.contains("examples") { json!("3s") } else { json!("other") }
}

/// What must stand there too for a key to have an effect.
fn engine_base(name: &str) -> Value {
    if name.starts_with("http.tls.") {
        return json!({ "http": { "tls": { "enabled": true, "cert_file": "a.pem", "key_file": "b.pem" } } });
    }
    if name.starts_with("http.cors.") {
        return json!({ "http": { "cors": { "enabled": true, "allowed_origins": ["https://a"] } } });
    }
    if name.starts_with("state.http.") {
        return json!({ "state": { "storage": "http", "http": { "url": "https://h" } } });
    }
    if name == "state.storage" {
        return json!({ "state": { "http": { "url": "https://h" } } });
    }
    if name.starts_with("http.api_keys.") {
        return json!({ "http": { "api_keys": [{ "name": "n", "key": "0123456789abcdef" }] } });
    }
    json!({})
}

#[test]
fn every_key_of_the_engine_schema_is_read_or_says_that_it_is_without_effect() {
    for (path, schema) in engine_leaves() {
        let name = path.join(".");
        let mut document = engine_base(&name);
        let plain = load_engine_of(&document).unwrap();
        put(&mut document, &path, engine_value(&name, &schema));
        if name == "kafka.tls.cert_file" || name == "kafka.tls.key_file" {
            put(&mut document, &["kafka", "tls", "cert_file"].map(str::to_owned), json!("x.pem"));
            put(&mut document, &["kafka", "tls", "key_file"].map(str::to_owned), json!("x.pem"));
        }
        if name == "kafka.security_protocol" {
            document = json!({ "kafka": { "security_protocol": "ssl" } });
        }
        let loaded = load_engine_of(&document).unwrap_or_else(|findings| panic!("{name}: {findings:?}"));
        let description = schema["description"].as_str().unwrap();
        let is_inert = description.contains("Without effect")
            || description.starts_with("Only false")
            || name == "connectors.config_type";
        assert_eq!(strip(&loaded) == strip(&plain), is_inert, "{name} = {document}");
    }
}

/// The folders differ between two loads; their last parts are what counts.
fn strip(engine: &Engine) -> String {
    let keys: Vec<&str> = engine.http.keys.iter().map(|key| key.key.expose()).collect();
    let text = format!("{engine:?}{:?}{keys:?}", engine.kafka.sasl.password.expose());
    let folder = engine.connectors.config_dir.parent().unwrap().display().to_string();
    text.replace(&folder, "")
}

#[test]
fn every_key_of_the_engine_schema_refuses_a_wrong_type() {
    for (path, schema) in engine_leaves() {
        let mut document = engine_base(&path.join("."));
        put(&mut document, &path, wrong_value(&schema));
        assert!(load_engine_of(&document).is_err(), "{path:?} took {}", wrong_value(&schema));
    }
}

#[test]
fn keys_outside_the_schemas_are_refused_in_every_table() {
    for (leaves, is_engine) in [(definition_leaves(), false), (engine_leaves(), true)] {
        for (path, _) in leaves {
            let mut path = path.clone();
            *path.last_mut().unwrap() = "zzz_not_there".to_owned();
            let mut document = if is_engine { engine_base(&path.join(".")) } else { base_for(&path[0]) };
            put(&mut document, &path, json!(1));
            let findings = if is_engine { load_engine_of(&document).unwrap_err() } else { load(&document).1 };
            assert!(
                findings.iter().any(|finding| finding.contains("unknown field `zzz_not_there`")),
                "{path:?}"
            );
        }
    }
}

#[test]
fn every_key_has_a_line_of_text_and_every_default_is_taken() {
    let mut described = 0;
    for (path, schema) in definition_leaves() {
        assert!(schema["description"].as_str().is_some_and(|text| text.len() > 5), "{path:?}");
        described += 1;
        if let Some(default) = schema.get("default") {
            let (mut document, mut plain) = (base_for(&path[0]), base());
            if path.contains(&"schema_registry".to_owned()) {
                plain["topics"][0]["schema_registry"] = json!({ "url": "http://r" });
                document = plain.clone();
            }
            put(&mut document, &path, default.clone());
            if !path.contains(&"topic".to_owned()) {
                assert_eq!(load(&document).0, load(&plain).0, "{path:?} = {default}");
            }
        }
    }
    assert!(described > 35);
    for (path, schema) in engine_leaves() {
        assert!(schema["description"].as_str().is_some_and(|text| text.len() > 5), "{path:?}");
        if let Some(default) = schema.get("default") {
            let mut document = engine_base(&path.join("."));
            let is_switch = ["http.tls.enabled", "http.cors.enabled"].contains(&path.join(".").as_str());
            let plain = if is_switch { json!({}) } else { document.clone() };
            let plain = strip(&load_engine_of(&plain).unwrap());
            put(&mut document, &path, default.clone());
            let loaded =
                load_engine_of(&document).unwrap_or_else(|findings| panic!("{path:?}: {findings:?}"));
            assert_eq!(strip(&loaded), plain, "{path:?} = {default}");
        }
    }
}

#[test]
fn schemas_are_json_schemas_of_their_dialect() {
    for schema in [definition_schema(), engine_schema()] {
        assert_eq!(schema["$schema"], json!("https://json-schema.org/draft/2020-12/schema"));
        assert!(schema["$defs"]["reference"].is_object());
    }
    let required: Vec<Value> = definition_schema()["required"].as_array().unwrap().clone();
    assert_eq!(required, ["type", "key", "path", "topics"].map(Value::from));
    let mut missing = Map::new();
    missing.insert("type".to_owned(), json!("source"));
    assert!(load(&Value::Object(missing)).0.is_none());
}
