//! The published schema of `[[transforms]]` says exactly what the loader takes, type by type: every key of it is read,
//! refuses a wrong type, and no other key is taken.

use std::collections::BTreeSet;
use std::path::Path;

use pico_config::{Engine, Transform, check_definition, definition_schema};
use serde_json::{Value, json};

use crate::given::no_env;

/// Any text; schemas are read here, and compiled elsewhere.
const A_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

/// The keys of each type with a value that is not the default.
fn examples() -> Vec<(&'static str, Value)> {
    let value = |value: Value| json!([{ "key": "a", "value": value }]);
    vec![
        ("add_fields", json!({ "fields": value(json!({ "static": 1 })) })),
        ("add_fields", json!({ "fields": value(json!({ "computed": "uuid_v4" })) })),
        (
            "update_fields",
            json!({ "fields": [{ "key": "a", "value": { "static": 1 }, "condition": "key_exists" }] }),
        ),
        ("update_fields", json!({ "fields": value(json!({ "computed": "date_time" })) })),
        ("delete_fields", json!({ "fields": ["a"] })),
        ("rename_fields", json!({ "fields": [{ "from": "a", "to": "b" }] })),
        (
            "filter_fields",
            json!({ "keep_fields": ["a"], "include_matching": false,
                "patterns": [{ "key_pattern": { "exact": "x" }, "value_pattern": "is_null" }] }),
        ),
        (
            "filter_records",
            json!({ "include_matching": false, "patterns": [{ "field": "a", "value_pattern": "is_null" }] }),
        ),
        ("mask_fields", json!({ "fields": ["a"], "replacement": "x" })),
        ("mask_fields", json!({ "fields": ["a"], "method": "hash", "hash_key": "x" })),
        ("unwrap_envelope", json!({ "field": "a", "if_missing": "error" })),
        ("jq", json!({ "filter": ".a" })),
        ("avro_convert", json!({ "schema_path": A_FILE, "source_format": "json", "target_format": "avro" })),
        ("avro_convert", json!({ "schema_json": "\"int\"" })),
        (
            "proto_convert",
            json!({ "schema_path": A_FILE, "source_format": "json", "target_format": "proto", "message_type": "M",
                "include_paths": ["/"], "int64_as_string": true }),
        ),
        ("proto_convert", json!({ "descriptor_set": A_FILE })),
        (
            "flatbuffer_convert",
            json!({ "schema_path": A_FILE, "source_format": "json", "target_format": "flatbuffer", "root_table_name": "T" }),
        ),
        (
            "flat_buffer_convert",
            json!({ "schema_path": A_FILE, "source_format": "json", "target_format": "flat_buffer", "root_table_name": "T" }),
        ),
    ]
}

/// One table for each key of the patterns.
fn pattern_examples() -> Vec<(&'static str, Value)> {
    let field = |pattern: Value| ("filter_fields", json!({ "patterns": [pattern] }));
    let mut all = Vec::new();
    for key in ["exact", "starts_with", "ends_with", "contains", "regex"] {
        all.push(field(json!({ "key_pattern": { key: "x" } })));
    }
    let values = [
        ("equals", json!(1)),
        ("contains", json!("x")),
        ("regex", json!("x")),
        ("greater_than", json!(1)),
        ("less_than", json!(1)),
        ("between", json!([1, 2])),
    ];
    let types = ["is_null", "is_not_null", "is_string", "is_number", "is_boolean", "is_object", "is_array"];
    for (key, value) in values.into_iter().chain(types.map(|word| (word, json!(true)))) {
        all.push(field(json!({ "value_pattern": { key: value } })));
        all.push((
            "filter_records",
            json!({ "patterns": [{ "field": "a", "value_pattern": { key: value } }] }),
        ));
    }
    all
}

fn load(kind: &str, table: &Value) -> Result<Transform, String> {
    let mut table = table.clone();
    table["type"] = json!(kind);
    let document = json!({ "type": "source", "key": "a", "path": "liba", "topics": [{ "topic": "t" }], "transforms": [table] });
    let text = toml::to_string(&document).unwrap();
    let engine = Engine::defaults(Path::new("/srv"));
    let (definition, findings) = check_definition(Path::new("a.toml"), &text, &engine, &no_env());
    let said: Vec<String> = findings.iter().map(|finding| finding.summary()).collect();
    definition.map(|mut definition| definition.transforms.remove(0)).ok_or(said.join("\n"))
}

fn forms() -> (Vec<Value>, Value) {
    let schema = definition_schema();
    let forms = schema["properties"]["transforms"]["anyOf"].as_array().unwrap().clone();
    (forms[0]["items"]["anyOf"].as_array().unwrap().clone(), forms[1]["properties"].clone())
}

fn shape(kind: &str) -> Value {
    forms().1[kind].clone()
}

/// The tables below a schema: the path to each key, with the way a document goes there.
fn keys(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    let inner = [schema, &schema["items"], &schema["anyOf"][1]]
        .into_iter()
        .find(|schema| schema["properties"].is_object());
    let Some(table) = inner else {
        found.insert(path.to_owned());
        return;
    };
    assert_eq!(table["additionalProperties"], json!(false), "{path}");
    for (name, property) in table["properties"].as_object().unwrap() {
        assert!(property["description"].as_str().is_some_and(|text| text.len() > 5), "{path}.{name}");
        keys(property, &format!("{path}/{name}"), found);
    }
}

/// The same paths of a document.
fn written(document: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    let inner = [schema, &schema["items"], &schema["anyOf"][1]]
        .into_iter()
        .find(|schema| schema["properties"].is_object());
    match (inner, document) {
        (Some(table), Value::Object(members)) => {
            for (name, value) in members {
                written(value, &table["properties"][name], &format!("{path}/{name}"), found);
            }
        }
        (Some(_), Value::Array(items)) => items.iter().for_each(|item| written(item, schema, path, found)),
        (Some(_) | None, _) => {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn every_key_of_every_type_is_read() {
    let (mut known, mut shown) = (BTreeSet::new(), BTreeSet::new());
    for (kind, schema) in forms().1.as_object().unwrap() {
        keys(schema, kind, &mut known);
        known.remove(&format!("{kind}/type"));
        for common in [json!({ "enabled": false }), json!({ "when": ".x" })] {
            let (key, _) = common.as_object().unwrap().iter().next().unwrap();
            if schema["properties"].get(key).is_none() {
                // A convert transform has no `when`.
                continue;
            }
            let (_, table) = examples().into_iter().find(|(example, _)| example == kind).unwrap();
            let plain = load(kind, &table).unwrap();
            let mut changed = table.clone();
            changed.as_object_mut().unwrap().extend(common.as_object().unwrap().clone());
            assert_ne!(load(kind, &changed).unwrap(), plain);
            written(&common, schema, kind, &mut shown);
        }
    }
    for (kind, table) in examples().into_iter().chain(pattern_examples()) {
        load(kind, &table).unwrap_or_else(|said| panic!("{kind} {table}: {said}"));
        written(&table, &shape(kind), kind, &mut shown);
        assert_each_key_counts(kind, &table);
    }
    // The word form of a pattern stands beside its table form.
    shown.retain(|path| !path.ends_with("/value_pattern"));
    assert_eq!(known, shown);
}

/// Without one of its keys a table is refused or is another one.
fn assert_each_key_counts(kind: &str, table: &Value) {
    let whole = load(kind, table).unwrap();
    for name in table.as_object().unwrap().keys() {
        let mut less = table.clone();
        less.as_object_mut().unwrap().remove(name);
        assert_ne!(load(kind, &less).ok(), Some(whole.clone()), "{kind} {name} changes nothing");
    }
}

#[test]
fn every_key_refuses_a_wrong_type_and_unknown_keys_are_refused() {
    for (kind, table) in examples() {
        for (name, property) in shape(kind)["properties"].as_object().unwrap() {
            let is_flag = property.to_string().contains("\"boolean\"") && property["type"] != json!("array");
            let mut wrong = table.clone();
            wrong[name] = if is_flag { json!(1.5) } else { json!(true) };
            if name != "type" {
                assert!(load(kind, &wrong).is_err(), "{kind} {name}");
            }
        }
        let mut unknown = table.clone();
        unknown["zzz_not_there"] = json!(1);
        assert!(load(kind, &unknown).unwrap_err().contains("unknown field `zzz_not_there`"));
    }
}

#[test]
fn the_list_form_names_its_type_and_both_forms_know_the_same_types() {
    let (list, table) = forms();

    let types: Vec<&str> =
        list.iter().map(|item| item["properties"]["type"]["anyOf"][0]["enum"][0].as_str().unwrap()).collect();
    assert_eq!(types, table.as_object().unwrap().keys().collect::<Vec<_>>());
    assert!(list.iter().all(|item| item["required"][0] == "type"));
    assert_eq!(types.len(), 13);
}
