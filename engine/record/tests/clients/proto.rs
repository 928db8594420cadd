//! Protobuf against Google's runtime for Python, with descriptors by protoc.

use std::collections::BTreeMap;

use pico_config::SchemaSource;
use pico_record::codec::Codec;
use serde_json::{Value, json};

use super::programs::{file, is_same, of_hex, python, run, seed, to_hex};

const MESSAGE: &str = "shop.v1.All";

/// The descriptor set that protoc makes, as a file.
fn descriptor_set(folder: &std::path::Path) -> String {
    let set = folder.join("set.bin");
    let out = format!("--descriptor_set_out={}", set.display());
    run("protoc", &["--include_imports", &out, "all.proto"], "");
    set.display().to_string()
}

fn of_files() -> SchemaSource {
    let read = |name: &str| (name.to_owned(), std::fs::read_to_string(file(name)).unwrap());
    let files = BTreeMap::from([read("all.proto"), read("parts/money.proto")]);
    SchemaSource::ProtoFiles { root: "all.proto".to_owned(), files, message: Some(MESSAGE.to_owned()) }
}

#[test]
fn protobuf_for_python_reads_what_is_written_here_and_the_other_way_round_b113() {
    let folder = tempfile::tempdir().unwrap();
    let set = descriptor_set(folder.path());
    let of_set = SchemaSource::ProtoDescriptorSet {
        bytes: std::fs::read(&set).unwrap(),
        message: Some(MESSAGE.to_owned()),
    };
    let seed = seed("proto").to_string();
    let cases = python(&["proto.py", "make", &set, MESSAGE, &seed], "");
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), 300);

    for source in [of_files(), of_set] {
        let mut codec = Codec::compile(&source).unwrap();
        let strings = Codec::compile(&source).unwrap().with_int64_as_string(true);
        let mut answers = Vec::new();
        for case in cases {
            let (text, hex) = (case["json"].as_str().unwrap(), case["hex"].as_str().unwrap());
            let (mut bytes, mut numbers, mut canonical) = (Vec::new(), Vec::new(), Vec::new());
            codec.encode(text.as_bytes(), &mut bytes).unwrap_or_else(|error| panic!("{text}: {error}"));
            codec.decode(&of_hex(hex), &mut numbers).unwrap_or_else(|error| panic!("{text}: {error}"));
            strings.decode(&of_hex(hex), &mut canonical).unwrap();

            let (ours, theirs): (Value, Value) =
                (serde_json::from_slice(&canonical).unwrap(), serde_json::from_str(text).unwrap());
            assert!(is_same(&ours, &theirs), "{ours}\n{theirs}");
            let numbers = String::from_utf8(numbers).unwrap();
            answers.push(json!({"hex": hex, "bytes": to_hex(&bytes), "json": numbers}));
        }
        let wrong = python(&["proto.py", "check", &set, MESSAGE], &Value::Array(answers).to_string());
        assert_eq!(wrong, json!([]));
    }
}
