//! Protobuf: what is refused and with which words, and bytes that nobody meant well. What the wire means is held
//! against Google's runtime in `tests/clients`.

use proptest::prelude::*;

use super::encode::varint;
use super::*;

fn compile(text: &str) -> Result<Proto, String> {
    let files = BTreeMap::from([("root.proto".to_owned(), text.to_owned())]);
    Proto::compile("root.proto", &files, None)
}

fn all() -> Proto {
    let read = |name: &str| {
        let path = format!("{}/tests/clients/{name}", env!("CARGO_MANIFEST_DIR"));
        (name.to_owned(), std::fs::read_to_string(path).unwrap())
    };
    let files = BTreeMap::from([read("all.proto"), read("parts/money.proto")]);
    Proto::compile("all.proto", &files, Some("All")).unwrap()
}

fn encode(proto: &mut Proto, json: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    proto.encode(json.as_bytes(), &mut Tape::default(), &mut out).map_err(|trouble| trouble.to_string())?;
    Ok(out)
}

fn through(proto: &mut Proto, json: &str) -> Result<String, String> {
    let bytes = encode(proto, json)?;
    let mut out = Vec::new();
    proto.decode(&bytes, &mut out).map_err(|trouble| trouble.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn integers_come_back_with_their_digits_b113() {
    let text = r#"{"an_int64":-9223372036854775808,"a_uint64":18446744073709551615,"a_string":"é"}"#;
    assert_eq!(through(&mut all(), text).unwrap(), text);
    let canonical = r#"{"an_int64":"-9223372036854775808","a_uint64":"18446744073709551615"}"#;
    let mut strings = all().with_int64_as_string(true);
    assert_eq!(through(&mut strings, canonical).unwrap(), canonical);
}

#[test]
fn a_default_is_absent_unless_the_field_knows_presence_b113() {
    assert_eq!(through(&mut all(), r#"{"an_int32":0,"a_string":"","maybe":0}"#).unwrap(), r#"{"maybe":0}"#);
    assert_eq!(
        through(&mut all(), r#"{"a_double":-0.0,"a_float":"NaN"}"#).unwrap(),
        r#"{"a_double":-0.0,"a_float":"NaN"}"#
    );
    assert_eq!(
        through(&mut all(), r#"{"inner":{},"a_bytes":"AA==","a_string":"\u0000"}"#).unwrap(),
        r#"{"a_string":"\u0000","a_bytes":"AA==","inner":{}}"#
    );
    assert_eq!(encode(&mut all(), r#"{"suit":null,"texts":null,"inner":null}"#), Ok(vec![]));
}

#[test]
fn fields_go_by_either_name_and_unknown_ones_are_left_out() {
    let mut proto = all();
    let bytes = encode(&mut proto, r#"{"an_int32":5}"#).unwrap();
    assert_eq!(encode(&mut proto, r#"{"anInt32":5,"nothing":{"x":[1]}}"#).unwrap(), bytes);
}

#[test]
fn well_known_types_have_the_json_that_protobuf_gives_them() {
    let text = r#"{"at":"2026-01-31T12:00:00.500Z","took":"1.500s","wrapped":5,"extra":{"a":[null,true]}}"#;
    assert_eq!(through(&mut all(), text).unwrap(), text);
    assert!(encode(&mut all(), r#"{"at":"yesterday"}"#).unwrap_err().contains("field \"at\""));
}

#[test]
fn what_does_not_fit_is_named_with_its_path() {
    for (json, part) in [
        ("[]", "an array is not an object, for a message"),
        (r#"{"an_int32":2147483648}"#, "field \"an_int32\": 2147483648 is not an int32"),
        (r#"{"a_uint32":-1}"#, "not a uint32"),
        (r#"{"suit":"CLUBS"}"#, "field \"suit\": \"CLUBS\" is not a value of the enum"),
        (r#"{"inners":[{},{"child":{"name":1}}]}"#, "field \"inners[1].child.name\""),
        (r#"{"by_int":{"x":{}}}"#, "field \"by_int\""),
        (r#"{"by_text":{"k":"x"}}"#, "field \"by_text.k\""),
        (r#"{"a_bytes":"%"}"#, "bytes in base64"),
        (r#"{"chosen_int":1,"chosen_text":"x"}"#, "only one of choice"),
        (r#"{"price":{"units":1}}"#, "field \"price.currency\": is required"),
        (r#"{"a_float":1e39}"#, "not a float"),
    ] {
        let error = encode(&mut all(), json).unwrap_err();
        assert!(error.contains(part), "{json}: {error}");
    }
}

#[test]
fn a_schema_that_is_none_says_where() {
    let error = compile("syntax = \"proto3\";\nmessage M {\n  strin name = 1;\n}").unwrap_err();
    assert!(error.contains("root.proto:3:3") && error.contains("strin"), "{error}");
    let error = compile("syntax = \"proto3\"\nmessage M {}").unwrap_err();
    assert!(error.contains("root.proto:2:1"), "{error}");
    let error = compile("syntax = \"proto3\"; message A {} message B {}").unwrap_err();
    assert!(error.contains("it has A, B"), "{error}");
    assert!(compile("syntax = \"proto3\";").unwrap_err().contains("it has none"));
    assert!(Proto::of_descriptor_set(b"nonsense", None).unwrap_err().contains("descriptor set"));
}

#[test]
fn a_message_inside_another_is_found_and_numbered() {
    let text =
        "syntax = \"proto3\"; package p; message A {} message B { message C {} message D { message E {} } }";
    let files = BTreeMap::from([("root.proto".to_owned(), text.to_owned())]);
    let indexes = |name| Proto::compile("root.proto", &files, Some(name)).map(|proto| proto.indexes());
    assert_eq!(indexes("A"), Ok(vec![0]));
    assert_eq!(indexes("p.B"), Ok(vec![1]));
    assert_eq!(indexes("B.D.E"), Ok(vec![1, 1, 0]));
    assert_eq!(indexes(".p.B.C"), Ok(vec![1, 0]));
    assert!(indexes("C").is_err());
}

#[test]
fn bytes_that_nest_without_end_are_refused() {
    // Field 17, child 3, a thousand times: each holds the next.
    let mut bytes = Vec::new();
    for _ in 0..1_000 {
        let mut outer = vec![0x1a];
        varint(bytes.len() as u64, &mut outer);
        outer.extend_from_slice(&bytes);
        bytes = outer;
    }
    let mut outer = vec![0x8a, 0x01];
    varint(bytes.len() as u64, &mut outer);
    outer.extend_from_slice(&bytes);
    assert!(all().decode(&outer, &mut Vec::new()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_bytes_are_a_message_or_an_error(all_bytes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 20)) {
        let proto = all();
        for bytes in all_bytes {
            let mut out = Vec::new();
            if proto.decode(&bytes, &mut out).is_ok() {
                serde_json::from_slice::<serde::de::IgnoredAny>(&out).unwrap();
            }
        }
    }
}
