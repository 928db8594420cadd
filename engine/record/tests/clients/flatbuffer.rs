//! FlatBuffers against flatc, and against the accessors that flatc generates for FlatBuffers for Python.

use std::path::Path;

use fastrand::Rng;
use pico_config::SchemaSource;
use pico_record::codec::Codec;
use serde_json::{Map, Value, json};

use super::programs::{file, is_same, python, run, seed};

/// flatc's binary schema of `all.fbs`.
fn compiled(folder: &Path) -> Codec {
    let schema = file("all.fbs").display().to_string();
    run(
        "flatc",
        &["--binary", "--schema", "--bfbs-builtins", "-o", &folder.display().to_string(), &schema],
        "",
    );
    let bytes = std::fs::read(folder.join("all.bfbs")).unwrap();
    Codec::compile(&SchemaSource::FlatBuffer { bytes, root: None }).unwrap()
}

/// What flatc makes of a JSON document.
fn flatc_encode(folder: &Path, text: &str) -> Vec<u8> {
    let document = folder.join("record.json");
    std::fs::write(&document, text).unwrap();
    let schema = file("all.fbs").display().to_string();
    let out = folder.display().to_string();
    run("flatc", &["--binary", "-o", &out, &schema, &document.display().to_string()], "");
    std::fs::read(folder.join("record.bin")).unwrap()
}

/// What flatc reads in a buffer.
fn flatc_decode(folder: &Path, bytes: &[u8]) -> Value {
    let buffer = folder.join("record.bin");
    std::fs::write(&buffer, bytes).unwrap();
    let schema = file("all.fbs").display().to_string();
    let out = folder.display().to_string();
    run("flatc", &["--json", "--strict-json", "-o", &out, &schema, "--", &buffer.display().to_string()], "");
    serde_json::from_slice(&std::fs::read(folder.join("record.json")).unwrap()).unwrap()
}

fn text(rng: &mut Rng) -> String {
    let letters = ['a', 'Z', '9', ' ', '"', '\\', '\n', 'é', '漢', '😀'];
    (0..rng.usize(..8)).map(|_| letters[rng.usize(..letters.len())]).collect()
}

/// With few binary digits, because flatc prints no more than twelve decimal ones.
fn fraction(rng: &mut Rng) -> f64 {
    f64::from(rng.i32(-100_000..100_000)) / 8.0
}

fn many(rng: &mut Rng, mut make: impl FnMut(&mut Rng) -> Value) -> Value {
    (0..rng.usize(..6)).map(|_| make(rng)).collect()
}

fn point(rng: &mut Rng) -> Value {
    json!({"x": fraction(rng), "y": fraction(rng), "on": rng.bool()})
}

fn suit(rng: &mut Rng) -> Value {
    json!(["Clubs", "Diamonds", "Hearts"][rng.usize(..3)])
}

fn tree(rng: &mut Rng, depth: u32) -> Value {
    let children = if depth == 0 { json!([]) } else { many(rng, |rng| tree(rng, depth - 1)) };
    json!({"value": rng.i32(..), "children": children})
}

fn record(rng: &mut Rng) -> Map<String, Value> {
    let line = json!({"from": point(rng), "suit": suit(rng), "codes": [rng.i16(..), 0, 5], "to": point(rng)});
    let all = json!({
        "a_byte": rng.i8(..), "a_ubyte": rng.u8(..), "a_bool": rng.bool(), "a_short": rng.i16(..),
        "a_ushort": if rng.bool() { 7 } else { rng.u16(..) }, "an_int": rng.i32(..), "a_uint": rng.u32(..),
        "a_long": rng.i64(..), "a_ulong": rng.u64(..), "a_float": if rng.bool() { 3.25 } else { fraction(rng) },
        "a_double": fraction(rng), "a_text": text(rng), "suit": suit(rng),
        "rights": (["Read", "Write", "Read Run", "Read Write Run"])[rng.usize(..4)],
        "point": point(rng), "line": line, "bytes": many(rng, |rng| json!(rng.u8(..))),
        "flags": many(rng, |rng| json!(rng.bool())), "shorts": many(rng, |rng| json!(rng.i16(..))),
        "longs": many(rng, |rng| json!(rng.i64(..))), "doubles": many(rng, |rng| json!(fraction(rng))),
        "texts": many(rng, |rng| json!(text(rng))), "suits": many(rng, suit), "points": many(rng, point),
        "tree": tree(rng, 3), "maybe": rng.i32(-1..2), "maybe_flag": rng.bool(),
        "swords": many(rng, |rng| json!({"name": text(rng), "length": fraction(rng)})),
    });
    let Value::Object(mut all) = all else { unreachable!("it is an object") };
    all.retain(|_, _| rng.u8(..) < 200);
    all.insert("needed".to_owned(), json!(text(rng)));
    let (kind, thing) = match rng.u8(..4) {
        0 => ("Sword", json!({"name": text(rng)})),
        1 => ("Shield", json!({"weight": rng.i32(..)})),
        2 => ("Blade", json!({"length": fraction(rng)})),
        _ => return all,
    };
    all.insert("thing_type".to_owned(), json!(kind));
    all.insert("thing".to_owned(), thing);
    all
}

#[test]
fn flatc_reads_what_is_written_here_and_the_other_way_round_b113() {
    let folder = tempfile::tempdir().unwrap();
    let mut codec = compiled(folder.path());
    let mut rng = Rng::with_seed(seed("flatbuffer"));

    for _ in 0..60 {
        let text = Value::Object(record(&mut rng)).to_string();
        let theirs = flatc_encode(folder.path(), &text);
        let expected = flatc_decode(folder.path(), &theirs);
        let (mut ours, mut read) = (Vec::new(), Vec::new());
        codec.encode(text.as_bytes(), &mut ours).unwrap_or_else(|error| panic!("{text}: {error}"));
        codec.decode(&theirs, &mut read).unwrap_or_else(|error| panic!("{text}: {error}"));

        let written = flatc_decode(folder.path(), &ours);
        assert!(is_same(&written, &expected), "{text}\n{written}\n{expected}");
        let read: Value = serde_json::from_slice(&read).unwrap();
        assert!(is_same(&read, &expected), "{text}\n{read}\n{expected}");
    }
}

#[test]
fn flatbuffers_for_python_reads_and_writes_with_this_codec() {
    let folder = tempfile::tempdir().unwrap();
    let mut codec = compiled(folder.path());
    let (schema, out) = (file("all.fbs").display().to_string(), folder.path().display().to_string());
    run("flatc", &["--python", "--gen-object-api", "-o", &out, &schema], "");
    let text = json!({
        "needed": "there", "a_long": i64::MIN, "a_ulong": u64::MAX, "texts": ["one", "", "三"],
        "point": {"x": 0.1, "y": 1.5, "on": true}, "points": [{"x": 1e300, "y": -2.0, "on": false}],
        "tree": {"value": 1, "children": [{"value": 2, "children": []}]}, "doubles": [0.1, -0.5],
        "thing_type": "Sword", "thing": {"name": "Sting", "length": 7.5}, "maybe": 0,
    });
    let mut bytes = Vec::new();
    codec.encode(text.to_string().as_bytes(), &mut bytes).unwrap();
    let buffer = folder.path().join("ours.bin");
    std::fs::write(&buffer, &bytes).unwrap();

    let theirs = folder.path().join("theirs.bin");
    let arguments = ["flatbuffer.py", &out, &buffer.display().to_string(), &theirs.display().to_string()];
    let seen = python(&arguments, "");

    assert!(is_same(&seen, &text), "{seen}\n{text}");
    let mut read = Vec::new();
    codec.decode(&std::fs::read(theirs).unwrap(), &mut read).unwrap();
    let read: Value = serde_json::from_slice(&read).unwrap();
    for (key, value) in text.as_object().unwrap() {
        assert!(is_same(&read[key], value), "{key}: {read}");
    }
}
