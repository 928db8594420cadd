//! What the stories run: the engine with its fail points, the plugins. Built once by the first story that needs them,
//! so that no story ever judges a binary of yesterday.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::{Error, Result};

const ENGINE: &str = "pico-connectors";
/// Everything: each plugin's library lies next to the engine afterwards.
const TESTED: [&str; 6] = [
    "--workspace",
    "--features",
    "pico-connectors/failpoints,pico-connectors/otel",
    "--lib",
    "--bins",
    "--examples",
];
/// What a user has of what is measured, and the program that drives a plugin alone.
const SHIPPED: [&str; 18] = [
    "--package",
    ENGINE,
    "--package",
    "picomq-connector-random-source",
    "--package",
    "picomq-connector-http-source",
    "--package",
    "picomq-connector-elasticsearch-source",
    "--package",
    "picomq-connector-influxdb-source",
    "--package",
    "picomq-connector-postgres-source",
    "--package",
    "picomq-connector-sdk",
    "--lib",
    "--bins",
    "--example",
    "drain",
];

/// Where the engine and the plugins lie: `PICO_CONNECTORS_BIN_DIR`, else the folder that this test was built into.
pub fn folder() -> PathBuf {
    named().unwrap_or_else(|| profile_folder(&this_test()))
}

fn named() -> Option<PathBuf> {
    std::env::var_os("PICO_CONNECTORS_BIN_DIR").map(PathBuf::from)
}

fn this_test() -> PathBuf {
    std::env::current_exe().expect("a running test has a path")
}

/// target/PROFILE/deps/test
fn profile_folder(test: &Path) -> PathBuf {
    test.ancestors().nth(2).expect("cargo puts tests two folders deep").to_owned()
}

static BUILT: OnceLock<std::result::Result<(), String>> = OnceLock::new();

/// The engine, built with everything that the stories need. With `PICO_CONNECTORS_BIN_DIR` nothing is built: what
/// lies there is taken as it is.
pub fn engine() -> Result<PathBuf> {
    engine_with(&TESTED)
}

/// The engine as it is shipped, for the bench. To be called before anything starts one.
pub fn shipped_engine() -> Result<PathBuf> {
    engine_with(&SHIPPED)
}

/// What the first caller asked for is what every later one gets.
fn engine_with(arguments: &[&str]) -> Result<PathBuf> {
    let binary = folder().join(ENGINE);
    if named().is_none() {
        let failure = |log: &String| Error::Ended {
            program: "cargo build".to_owned(),
            status: "an error".to_owned(),
            log: log.clone(),
        };
        BUILT.get_or_init(|| build(&folder(), arguments)).as_ref().map_err(failure)?;
    }
    if binary.exists() {
        return Ok(binary);
    }
    let hint =
        "PICO_CONNECTORS_BIN_DIR must hold the engine (built with --features failpoints) and the plugins";
    Err(Error::Missing { path: binary, hint })
}

/// With the packages and features of `make test`, so that nothing is compiled for this alone.
fn build(folder: &Path, arguments: &[&str]) -> std::result::Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = folder.parent().expect("a profile lies in a target folder");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--profile", profile, "--target-dir"]).arg(target).args(arguments);
    let output = command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
