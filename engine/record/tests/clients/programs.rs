//! Running the other implementations, and comparing what they say.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::interpreter::interpreter;

/// No program may run longer; `timeout` ends it and its exit code tells.
const SECONDS_MAX: &str = "90";

/// A file beside these tests.
pub(crate) fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

/// The seed of this run; `SEED=N` repeats one.
pub(crate) fn seed(of: &str) -> u64 {
    let given = std::env::var("SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..1_000_000));
    eprintln!("{of}: SEED={seed}");
    seed
}

/// Runs a program with this input and returns what it printed.
pub(crate) fn run(program: &str, arguments: &[&str], input: &str) -> Vec<u8> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", SECONDS_MAX, program]).args(arguments).current_dir(file(""));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("`timeout` of the coreutils runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_owned();
    let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the program can be waited for");
    // A program that reads no input may close it.
    drop(writing.join());
    checked(program, output)
}

/// Runs a script of this folder; it prints one JSON document.
pub(crate) fn python(arguments: &[&str], input: &str) -> Value {
    serde_json::from_slice(&run(interpreter(), arguments, input)).expect("the script prints JSON")
}

fn checked(what: &str, output: Output) -> Vec<u8> {
    let complaint = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{what}: {}\n{complaint}\n{said}", output.status);
    output.stdout
}

/// Bytes of a hexadecimal text.
pub(crate) fn of_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether two documents say the same; a number may be written with the digits of a float or of a double.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let floats = one.as_f64().zip(other.as_f64());
            one == other || floats.is_some_and(|(one, other)| one == other || one as f32 == other as f32)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(key, one): (&String, &Value)| other.get(key).is_some_and(|other| is_same(one, other));
            one.len() == other.len() && one.iter().all(has)
        }
        (one, other) => one == other,
    }
}
