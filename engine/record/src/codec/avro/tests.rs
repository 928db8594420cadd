//! Avro: what JSON becomes, what is refused and with which words, and bytes that nobody meant well.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn compile(schema: Value) -> Avro {
    Avro::compile(&schema.to_string()).unwrap()
}

fn encode(avro: &mut Avro, json: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    avro.encode(json.as_bytes(), &mut Tape::default(), &mut out).map_err(|trouble| trouble.to_string())?;
    Ok(out)
}

fn decode(avro: &Avro, bytes: &[u8]) -> Result<String, String> {
    let mut out = Vec::new();
    avro.decode(bytes, &mut out).map_err(|trouble| trouble.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

/// There and back.
fn through(avro: &mut Avro, json: &str) -> Result<String, String> {
    let bytes = encode(avro, json)?;
    Ok(decode(avro, &bytes).unwrap())
}

fn fields(fields: Value) -> Value {
    json!({"type": "record", "name": "R", "fields": fields})
}

#[test]
fn an_absent_field_has_its_default_and_an_unknown_one_is_left_out_b114() {
    let mut avro = compile(fields(json!([
        {"name": "a", "type": "string"},
        {"name": "c", "type": ["null", "string"], "default": null},
        {"name": "d", "type": "int", "default": 5},
    ])));
    assert_eq!(through(&mut avro, r#"{"a":"x"}"#).unwrap(), r#"{"a":"x","c":null,"d":5}"#);
    assert_eq!(through(&mut avro, r#"{"a":"x","c":null}"#).unwrap(), r#"{"a":"x","c":null,"d":5}"#);
    assert_eq!(through(&mut avro, r#"{"a":"x","c":"y","extra":1}"#).unwrap(), r#"{"a":"x","c":"y","d":5}"#);
    let error = encode(&mut avro, r#"{"c":"y"}"#).unwrap_err();
    assert_eq!(error, "field \"a\": is not there, and the schema has no default for it");
}

#[test]
fn defaults_may_be_of_any_type_and_lean_on_one_another() {
    let inner =
        json!({"type": "record", "name": "I", "fields": [{"name": "x", "type": "long", "default": 7}]});
    let mut avro = compile(fields(json!([
        {"name": "first", "type": {"type": "record", "name": "O", "fields": [{"name": "i", "type": inner, "default": {}}]}, "default": {}},
        {"name": "list", "type": {"type": "array", "items": "I"}, "default": [{}, {"x": 1}]},
        {"name": "bytes", "type": "bytes", "default": "\u{00ff}"},
        {"name": "union", "type": ["string", "null"], "default": "s"},
    ])));
    let all = r#"{"first":{"i":{"x":7}},"list":[{"x":7},{"x":1}],"bytes":"ÿ","union":"s"}"#;
    assert_eq!(through(&mut avro, "{}").unwrap(), all);
}

#[test]
fn a_nullable_field_without_a_default_may_be_absent() {
    let mut avro = compile(fields(json!([{"name": "c", "type": ["string", "null"]}])));
    assert_eq!(through(&mut avro, "{}").unwrap(), r#"{"c":null}"#);
}

#[test]
fn the_path_of_what_does_not_fit_is_named() {
    let mut avro = compile(fields(json!([
        {"name": "lines", "type": {"type": "array", "items": {"type": "map", "values": "int"}}},
    ])));
    let error = encode(&mut avro, r#"{"lines":[{"a":1},{"b":2,"c":2147483648}]}"#).unwrap_err();
    assert_eq!(error, r#"field "lines[1].c": 2147483648 is not an int (32 bits)"#);
}

#[test]
fn integers_are_exact_or_refused_b113() {
    let mut long = compile(json!("long"));
    for text in ["9223372036854775807", "-9223372036854775808", "9007199254740993"] {
        assert_eq!(through(&mut long, text).unwrap(), text);
    }
    assert_eq!(through(&mut long, "5.0").unwrap(), "5");
    for text in ["9223372036854775808", "5.5", "1e400", "\"5\"", "true", "null"] {
        assert!(encode(&mut long, text).is_err(), "{text}");
    }
}

#[test]
fn floats_have_names_for_what_json_has_no_number_for_b113() {
    let mut double = compile(json!("double"));
    for text in ["\"NaN\"", "\"Infinity\"", "\"-Infinity\"", "-0.0", "117.63331139400017", "5e-324"] {
        assert_eq!(through(&mut double, text).unwrap(), text);
    }
    assert!(encode(&mut double, "1e400").is_err());
    let mut float = compile(json!("float"));
    assert_eq!(through(&mut float, "0.1").unwrap(), "0.1");
    assert!(encode(&mut float, "1e39").is_err());
}

#[test]
fn a_union_takes_the_branch_that_the_value_needs() {
    let inner = |name: &str, field: &str| json!({"type": "record", "name": name, "fields": [{"name": field, "type": "int"}]});
    let mut avro = compile(json!([
        "float", "int", "null", "double", "long", "string", inner("A", "a"), inner("B", "b"), {"type": "array", "items": "int"}
    ]));
    for (json, branch) in [
        ("1", 1),
        ("2147483648", 4),
        ("9223372036854775808", 3),
        ("0.5", 3),
        ("null", 2),
        ("\"NaN\"", 5),
        (r#"{"a":1}"#, 6),
        (r#"{"b":1,"a":"x"}"#, 6),
        (r#"{"b":1}"#, 7),
        ("[1]", 8),
    ] {
        let bytes = encode(&mut avro, json);
        let found = bytes
            .as_ref()
            .map_or_else(|error| error.starts_with("field \"a\"").then_some(6), |bytes| Some(bytes[0] / 2));
        assert_eq!(found, Some(branch), "{json}: {bytes:?}");
    }
    let error = encode(&mut avro, r#"{"c":1}"#).unwrap_err();
    assert!(error.contains("fits no branch"), "{error}");
    assert!(encode(&mut avro, "true").unwrap_err().contains("true fits no branch"));
}

#[test]
fn logical_types_take_numbers_and_texts_and_round_nothing() {
    let logical = |base: &str, name: &str| compile(json!({"type": base, "logicalType": name}));
    let mut millis = logical("long", "timestamp-millis");
    for (json, back) in [
        ("0", "\"1970-01-01T00:00:00Z\""),
        ("\"2026-01-31T12:00:00.5+02:00\"", "\"2026-01-31T10:00:00.5Z\""),
        ("\"2026-01-31 12:00:00Z\"", "\"2026-01-31T12:00:00Z\""),
        ("9223372036854775807", "9223372036854775807"),
    ] {
        assert_eq!(through(&mut millis, json).unwrap(), back, "{json}");
    }
    for json in ["\"2026-01-31T12:00:00.0001Z\"", "\"2026-01-31T12:00:00\"", "\"yesterday\"", "1.5"] {
        assert!(encode(&mut millis, json).is_err(), "{json}");
    }
    let mut local = logical("long", "local-timestamp-micros");
    assert_eq!(
        through(&mut local, "\"2026-01-31T12:00:00.000001\"").unwrap(),
        "\"2026-01-31T12:00:00.000001\""
    );
    for json in ["\"2026-01-31T12:00:00Z\"", "\"2026-01-31T12:00:00-02:00\"", "\"2026-01-31T12:00:00+02\""] {
        assert!(encode(&mut local, json).is_err(), "{json}");
    }
    let mut date = logical("int", "date");
    assert_eq!(through(&mut date, "\"1969-12-31\"").unwrap(), "\"1969-12-31\"");
    assert_eq!(encode(&mut date, "-1"), encode(&mut date, "\"1969-12-31\""));
    assert!(encode(&mut date, "\"2026-01-31T12:00:00Z\"").is_err(), "no time is thrown away");
    let mut time = logical("int", "time-millis");
    assert_eq!(through(&mut time, "\"23:59:59.999\"").unwrap(), "\"23:59:59.999\"");
    assert!(encode(&mut time, "86400000").is_err());
    let mut decimal = compile(json!({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}));
    assert_eq!(through(&mut decimal, "12.3").unwrap(), "\"12.30\"");
    assert_eq!(encode(&mut decimal, "12.3"), encode(&mut decimal, "\"12.30\""));
    for json in ["123.4", "1.234", "\"x\""] {
        assert!(encode(&mut decimal, json).is_err(), "{json}");
    }
    let mut duration = compile(json!({"type": "fixed", "size": 12, "name": "D", "logicalType": "duration"}));
    let back = through(&mut duration, r#"{"days":2,"milliseconds":4294967295}"#).unwrap();
    assert_eq!(back, r#"{"months":0,"days":2,"milliseconds":4294967295}"#);
    assert!(encode(&mut duration, r#"{"weeks":2}"#).is_err());
}

#[test]
fn names_lead_to_types_in_any_namespace() {
    let mut avro = compile(json!({"type": "record", "name": "a.Outer", "fields": [
        {"name": "e", "type": {"type": "enum", "name": "b.E", "symbols": ["X", "Y"]}},
        {"name": "f", "type": "b.E"},
        {"name": "g", "type": {"type": "fixed", "name": "Short", "size": 1}},
        {"name": "h", "type": "Short"},
        {"name": "next", "type": ["null", "Outer"], "default": null},
    ]}));
    let text = r#"{"e":"X","f":"Y","g":"\u0001","h":"ÿ","next":null}"#;
    assert_eq!(through(&mut avro, text).unwrap(), text);
    assert!(
        encode(&mut avro, r#"{"e":"Z","f":"Y","g":"a","h":"b"}"#).unwrap_err().starts_with("field \"e\"")
    );
    assert!(encode(&mut avro, r#"{"e":"X","f":"Y","g":"ab","h":"b"}"#).unwrap_err().contains("fixed of 1"));
    assert!(encode(&mut avro, r#"{"e":"X","f":"Y","g":"€","h":"b"}"#).unwrap_err().contains("U+00FF"));
}

#[test]
fn a_schema_that_is_none_says_why() {
    for (text, part) in [
        ("{\"type\":\n oops}", "line 2 column 2"),
        ("\"nothing\"", "nothing"),
        (r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}"#, "a"),
        (r#"{"type":"bytes","logicalType":"decimal","precision":39}"#, "39 digits"),
        (r#"{"type":"bytes","logicalType":"big-decimal"}"#, "big-decimal"),
    ] {
        let error = Avro::compile(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn hostile_bytes_are_refused_in_bounds_b115() {
    let tree = json!({"type": "record", "name": "T", "fields": [{"name": "t", "type": ["null", "T"]}]});
    let nulls = compile(json!({"type": "array", "items": {"type": "array", "items": "null"}}));
    let strings = compile(json!({"type": "array", "items": "string"}));
    let huge = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    for (avro, bytes, reason) in [
        (&strings, [&[2][..], &huge].concat(), "left"),
        (&compile(json!("string")), vec![1], "-1 is no length"),
        (&nulls, [&[2][..], &huge].concat(), "more than 16777216 bytes of JSON"),
        (&nulls, huge.to_vec(), "should follow"),
        (&compile(tree.clone()), vec![2; 100_000], "deeper than 128"),
        (&compile(json!("long")), vec![0x80; 11], "longer than 64 bits"),
        (&compile(json!("long")), vec![], "1 bytes should follow"),
        (&compile(json!("long")), vec![2, 2], "1 bytes are left"),
        (&compile(json!("int")), vec![0x80, 0x80, 0x80, 0x80, 0x10], "is not an int"),
        (&compile(json!("boolean")), vec![2], "no boolean"),
        (&compile(tree), vec![4], "no branch 2"),
    ] {
        let error = decode(avro, &bytes).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

fn everything() -> Avro {
    compile(fields(json!([
        {"name": "a", "type": {"type": "array", "items": ["null", "long", "double", "string", "R"]}},
        {"name": "m", "type": {"type": "map", "values": "bytes"}},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3}},
        {"name": "t", "type": {"type": "long", "logicalType": "timestamp-nanos"}},
        {"name": "u", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "f", "type": {"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"}},
    ])))
}

proptest! {
    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(json) = decode(&everything(), &bytes) {
            serde_json::from_str::<serde::de::IgnoredAny>(&json).unwrap();
        }
    }
}
