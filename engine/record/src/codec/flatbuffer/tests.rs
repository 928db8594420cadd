//! FlatBuffers: what is refused and with which words, and bytes that nobody meant well. What the formats mean is
//! held against flatc in `tests/clients`.

use proptest::prelude::*;

use super::*;

/// `flatc --binary --schema --bfbs-builtins` of the schema beside the foreign tests.
const SCHEMA: &[u8] = include_bytes!("../../../tests/clients/all.bfbs");

fn compiled() -> FlatBuffer {
    FlatBuffer::compile(SCHEMA, None).unwrap()
}

fn encode(json: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    compiled()
        .encode(json.as_bytes(), &mut Tape::default(), &mut out)
        .map_err(|trouble| trouble.to_string())?;
    Ok(out)
}

fn decode(bytes: &[u8]) -> Result<String, String> {
    let mut out = Vec::new();
    compiled().decode(bytes, &mut out).map_err(|trouble| trouble.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

const WHOLE: &str = concat!(
    r#"{"a_byte":-128,"a_ubyte":255,"a_bool":false,"an_int":7,"a_ulong":18446744073709551615,"a_float":0.1,"#,
    r#""a_double":"NaN","needed":"x","suit":"Clubs","rights":"Read Run","point":{"x":0.1,"y":-0.5,"on":true},"#,
    r#""line":{"from":{"x":1.0,"y":2.0,"on":false},"suit":"Hearts","codes":[1,-2,3],"to":{"x":3.0,"y":4.0,"on":true}},"#,
    r#""bytes":[1,2,3],"texts":["","ä"],"points":[{"x":1.0,"y":2.0,"on":true}],"#,
    r#""tree":{"value":1,"children":[{"value":2},{"value":3}]},"thing_type":"Sword","thing":{"name":"s"},"maybe":0}"#
);

#[test]
fn a_record_comes_back_as_it_went_b113() {
    assert_eq!(decode(&encode(WHOLE).unwrap()).unwrap(), WHOLE);
}

#[test]
fn a_value_that_equals_the_default_is_not_written() {
    let short = encode(r#"{"needed":"x"}"#).unwrap();
    assert_eq!(
        encode(r#"{"needed":"x","an_int":-3,"a_float":3.25,"a_bool":true,"suit":"Hearts"}"#).unwrap(),
        short
    );
    assert_eq!(encode(r#"{"needed":"x","a_text":null,"unknown":1}"#).unwrap(), short);
    assert_ne!(encode(r#"{"needed":"x","maybe":0}"#).unwrap(), short, "an optional 0 is not its absence");
}

#[test]
fn what_does_not_fit_is_named_with_its_path() {
    for (json, part) in [
        ("{}", "field \"needed\": is required and not there"),
        ("[]", "an array is not an object, for a table"),
        (r#"{"needed":1}"#, "field \"needed\": 1 is not a string"),
        (r#"{"needed":"x","a_ubyte":256}"#, "field \"a_ubyte\": 256 is not a ubyte (8 bits)"),
        (r#"{"needed":"x","a_ulong":-1}"#, "field \"a_ulong\""),
        (r#"{"needed":"x","suit":"Spades"}"#, "a name of the enum"),
        (r#"{"needed":"x","point":{"x":1}}"#, "field \"point.y\": is not there"),
        (r#"{"needed":"x","line":{"codes":[1]}}"#, "\"line.from\": is not there"),
        (r#"{"needed":"x","swords":[{},{"length":"long"}]}"#, "field \"swords[1].length\""),
        (r#"{"needed":"x","thing":{}}"#, "`_type`"),
        (r#"{"needed":"x","thing_type":"Bow","thing":{}}"#, "a name of the enum"),
    ] {
        let error = encode(json).unwrap_err();
        assert!(error.contains(part), "{json}: {error}");
    }
}

#[test]
fn hostile_buffers_are_refused_b116() {
    let good = encode(WHOLE).unwrap();
    assert!(decode(&[0, 0, 0, 0, 0x0a]).is_err());
    assert!(decode(&[]).is_err());
    for length in 0..good.len() {
        // What is cut off may be no more than the padding at the end.
        let cut = decode(&good[..length]);
        assert!(cut.is_err() || length + 8 > good.len(), "{length}: {cut:?}");
    }
    for at in 0..good.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            if let Ok(json) = decode(&bytes) {
                serde_json::from_str::<serde::de::IgnoredAny>(&json).unwrap();
            }
        }
    }
}

#[test]
fn an_offset_that_leads_back_is_refused() {
    let mut bytes = encode(r#"{"needed":"x","tree":{"value":1,"children":[{"value":2}]}}"#).unwrap();
    let json = decode(&bytes).unwrap();
    assert!(json.contains(r#""children":[{"value":2}]"#), "{json}");
    let layout = compiled().layout;
    let root = Bytes::new(&bytes).root().unwrap();
    let tree = layout.objects[layout.root].fields.iter().find(|field| &*field.name == "tree").unwrap().slot;
    let node = root.follow(tree).unwrap().unwrap();
    let table = Bytes::new(&bytes).table(node).unwrap();
    let children = table.follow(6).unwrap().unwrap();
    // The child is bent back to its parent, by an offset that would have to wrap around.
    let at = children + 4;
    let back = (node as u32).wrapping_sub(at as u32);
    bytes[at..at + 4].copy_from_slice(&back.to_le_bytes());
    assert!(decode(&bytes).is_err());
}

#[test]
fn a_schema_whose_fields_share_a_place_is_refused() {
    let mut schema = SCHEMA.to_vec();
    // The offset of a_short's slot within its part of the schema: the slot is then read from its default.
    schema[2650] = 56;
    let refused = FlatBuffer::compile(&schema, None).map(drop).unwrap_err().to_string();
    assert!(refused.contains("it shares its place with"), "{refused}");
}

#[test]
fn a_file_that_is_no_binary_schema_says_so() {
    for (file, root, part) in [
        (&b"namespace shop;"[..], None, "flatc --binary --schema"),
        (&SCHEMA[..40], None, "damaged"),
        (SCHEMA, Some("Nothing"), "no table \"Nothing\", but shop.All"),
        (SCHEMA, Some("shop.Point"), "no table"),
    ] {
        let error = FlatBuffer::compile(file, root).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    assert!(FlatBuffer::compile(SCHEMA, Some("Sword")).is_ok());
}

proptest! {
    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(decode(&bytes));
    }

    #[test]
    fn any_schema_is_read_or_refused(at in 0..SCHEMA.len(), value: u8, other in 0..SCHEMA.len(), second: u8) {
        let mut schema = SCHEMA.to_vec();
        schema[at] = value;
        schema[other] = second;
        if let Ok(flatbuffer) = FlatBuffer::compile(&schema, None) {
            let mut out = Vec::new();
            drop(flatbuffer.encode(WHOLE.as_bytes(), &mut Tape::default(), &mut out));
            drop(flatbuffer.decode(&encode(WHOLE).unwrap(), &mut Vec::new()));
        }
    }
}
