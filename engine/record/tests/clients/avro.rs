//! Avro against fastavro: the same value must have the same bytes, and the bytes the same value.

use pico_config::SchemaSource;
use pico_record::codec::Codec;
use serde_json::Value;

use super::programs::{is_same, of_hex, python, seed, to_hex};

#[test]
fn fastavro_and_this_codec_write_the_same_bytes_and_read_the_same_values_b113() {
    let seed = seed("avro").to_string();
    let cases = python(&["avro.py", &seed], "");
    let cases = cases.as_array().unwrap();
    assert!(cases.len() > 900, "{}", cases.len());

    for case in cases {
        let text = |name: &str| case[name].as_str().unwrap();
        let schema = SchemaSource::Avro { text: text("schema").to_owned() };
        let mut codec = Codec::compile(&schema).unwrap_or_else(|error| panic!("{}: {error}", text("schema")));
        let (mut bytes, mut json) = (Vec::new(), Vec::new());
        let what = || format!("{} {} {}", text("name"), text("schema"), text("json"));
        codec
            .encode(text("json").as_bytes(), &mut bytes)
            .unwrap_or_else(|error| panic!("{}: {error}", what()));
        codec.decode(&of_hex(text("hex")), &mut json).unwrap_or_else(|error| panic!("{}: {error}", what()));

        assert_eq!(to_hex(&bytes), text("hex"), "{}", what());
        let (ours, theirs): (Value, Value) =
            (serde_json::from_slice(&json).unwrap(), serde_json::from_str(text("json")).unwrap());
        assert!(is_same(&ours, &theirs), "{}\n{ours}\n{theirs}", text("schema"));
    }
}
