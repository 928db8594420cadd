//! JSON Schemas of both files, made from the very tables that check them: for editors, and for `schema`.

use serde_json::{Map, Value, json};

use crate::definition_shape::DEFINITION;
use crate::engine_shape::ENGINE;
use crate::shape::{Field, Kind, Shape, Tagged};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Schema of `config.toml`.
pub fn engine_schema() -> Value {
    root("pico-connectors runtime configuration (config.toml)", &ENGINE)
}

/// Schema of a source definition.
pub fn definition_schema() -> Value {
    root("pico-connectors source definition", &DEFINITION)
}

fn root(title: &str, shape: &'static Shape) -> Value {
    let mut schema = table(shape);
    schema.insert("$schema".to_owned(), json!(DIALECT));
    schema.insert("title".to_owned(), json!(title));
    let reference = json!({
        "type": "string", "pattern": "\\$\\{",
        "description": "A reference: ${env:NAME}, ${env:NAME:-default} or ${file:/absolute/path}.",
    });
    schema.insert("$defs".to_owned(), json!({ "reference": reference }));
    Value::Object(schema)
}

fn table(shape: &'static Shape) -> Map<String, Value> {
    let known = shape.fields.iter().filter(|field| !matches!(field.kind, Kind::NotYet(_)));
    let properties: Map<String, Value> =
        known.map(|field| (field.name.to_owned(), property(field))).collect();
    let required: Vec<&str> =
        shape.fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

fn property(field: &'static Field) -> Value {
    let mut schema = kind(&field.kind);
    let default =
        if field.default.is_empty() { String::new() } else { format!(" Default: {}.", field.default) };
    schema.insert("description".to_owned(), json!(format!("{}{default}", field.doc)));
    // Only what is a value of the field, not words such as "the key".
    if let Ok(value) = serde_json::from_str::<Value>(field.default) {
        schema.insert("default".to_owned(), value);
    }
    Value::Object(schema)
}

fn kind(kind: &'static Kind) -> Map<String, Value> {
    let reference = json!({ "$ref": "#/$defs/reference" });
    let schema = match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Secret => json!({ "type": "string", "writeOnly": true }),
        Kind::Word { words, .. } => json!({ "anyOf": [{ "enum": words }, reference] }),
        Kind::Bool => json!({ "anyOf": [{ "type": "boolean" }, reference] }),
        Kind::Integer { min, max } => {
            json!({ "anyOf": [{ "type": "integer", "minimum": min, "maximum": max }, reference] })
        }
        Kind::Size { min, max } => json!({ "anyOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "type": "string", "pattern": "^[0-9]+ *([kKmMgG][iI]?)?[bB]?$" }, reference,
        ] }),
        Kind::Time { .. } => json!({ "type": "string", "examples": [kind_example(kind)] }),
        Kind::List(of) => {
            json!({ "type": "array", "items": self::kind(of) })
        }
        Kind::Table(shape) => Value::Object(table(shape)),
        Kind::Tables(shape) => json!({ "type": "array", "minItems": 1, "items": table(shape) }),
        Kind::TextOrTable(shape) => json!({ "anyOf": [{ "type": "string" }, table(shape)] }),
        Kind::Texts { .. } => {
            json!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } })
        }
        Kind::Free => json!({ "type": "object" }),
        Kind::Any => json!({}),
        Kind::Number => json!({ "anyOf": [{ "type": "number" }, reference] }),
        Kind::Tagged(shapes) => tagged(shapes),
        Kind::NotYet(_) => json!(false),
    };
    schema.as_object().cloned().unwrap_or_default()
}

/// The list form, whose tables name their shape, and the table form, whose names do.
fn tagged(tagged: &'static Tagged) -> Value {
    let named = |shape: &'static Shape| {
        let mut schema = table(shape);
        let mut required = vec![json!(tagged.tag)];
        required.extend(schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default());
        schema.insert("required".to_owned(), Value::Array(required));
        Value::Object(schema)
    };
    let items: Vec<Value> = tagged.shapes.iter().map(|(_, shape)| named(shape)).collect();
    let members: Map<String, Value> =
        tagged.shapes.iter().map(|(name, shape)| ((*name).to_owned(), Value::Object(table(shape)))).collect();
    json!({ "anyOf": [
        { "type": "array", "items": { "anyOf": items } },
        { "type": "object", "additionalProperties": false, "properties": members },
    ] })
}

fn kind_example(kind: &Kind) -> &'static str {
    if matches!(kind, Kind::Time { can_be_off: true, .. }) { "off" } else { "500ms" }
}
