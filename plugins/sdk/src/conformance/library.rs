//! What the built library of a plugin shows to the process that loads it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::State;
use crate::ffi::host::{Library, Limits, Mode, OpenRequest, TracingSink};

/// The one symbol that [`export_source!`](crate::export_source) defines.
const SYMBOL: &str = "picomq_connector_source";

/// Where cargo puts the library of `package` for the integration tests of that package: beside the test that asks. In one's own
/// tests it is `library(env!("CARGO_PKG_NAME"))`; the crate needs `cdylib` among its crate types.
///
/// # Panics
/// When the running program has no path.
pub fn library(package: &str) -> PathBuf {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let test = std::env::current_exe().expect("a test has a path");
    test.with_file_name(format!("{prefix}{}{suffix}", package.replace('-', "_")))
}

/// The names that the library at `path` exports, as the program `nm` of binutils lists them.
///
/// # Errors
/// When there is no `nm`, or it cannot read the file.
pub fn exports(path: &Path) -> Result<Vec<String>, String> {
    let listed =
        Command::new("nm").args(["--dynamic", "--defined-only", "--format=posix"]).arg(path).output();
    let listed = listed.map_err(|error| format!("nm, which binutils has, does not start: {error}"))?;
    if !listed.status.success() {
        return Err(format!("nm: {}", String::from_utf8_lossy(&listed.stderr).trim()));
    }
    let text = String::from_utf8_lossy(&listed.stdout);
    Ok(text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
}

/// Looks whether the library at `path` exports its one symbol and nothing else. Any other name may take the place of one of the
/// engine or of another plugin, as an allocator exported by accident takes that of `malloc`.
///
/// # Panics
/// When it exports more or less, or cannot be read.
pub fn check_exports(path: &Path) {
    let exported = exports(path).unwrap_or_else(|what| panic!("{}: {what}", path.display()));
    assert_eq!(exported, [SYMBOL], "{} must export its one symbol alone", path.display());
}

/// What the built library of `package` answers to `doctor` (see [`library`] and [`doctor`](crate::doctor)), asked over the border as
/// the engine asks it, of a source with these settings that does not run.
///
/// # Panics
/// When it cannot be loaded or does not answer.
pub async fn doctor(package: &str, settings: &Value, state: Option<&State>) -> Value {
    let request = OpenRequest {
        key: "looked-at".to_owned(),
        config_json: settings.to_string(),
        state: state.map(|state| state.as_bytes().to_vec()),
        mode: Mode::Inspect,
        limits: Limits { batch_records: 10_000, batch_bytes: 64 << 20 },
        record_bytes: 1_000_000,
        open_timeout: Duration::from_secs(30),
        verdict_timeout: Duration::from_secs(30),
        host: Arc::new(TracingSink::new("looked-at")),
    };
    let library = Library::load(&library(package)).expect("cargo builds it beside the test");
    let answer = library.maintain(request, crate::doctor::COMMAND, "null").await.expect("it answers");
    serde_json::from_str(&answer).expect("an answer is JSON")
}
