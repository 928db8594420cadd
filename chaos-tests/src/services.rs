//! What `services/` provides: servers that scripts start, and programs that came with the Python packages.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Error, Result};

#[path = "../services/python.rs"]
mod python;

fn path(script: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("services").join(script)
}

/// The script of a server that lives in `dir`, logs to `server.log` there, and ends when this process does.
pub(crate) fn server(script: &str, dir: &Path, port: u16) -> Result<Command> {
    let log = File::options()
        .create(true)
        .append(true)
        .open(dir.join("server.log"))
        .map_err(Error::io(format!("write a log under {}", dir.display())))?;
    let errors = log.try_clone().map_err(Error::io("share the log file"))?;
    let mut command = Command::new(path(script));
    command
        .env("DATA_DIR", dir)
        .env("PORT", port.to_string())
        .env("STOP_ON_EOF", "1")
        .stdin(Stdio::piped())
        .stdout(log)
        .stderr(errors);
    Ok(command)
}

/// A program that came with the Python packages of the tests, which are installed on first use.
///
/// # Panics
/// When they cannot be.
pub fn of_python(name: &str) -> Command {
    Command::new(Path::new(python::interpreter()).with_file_name(name))
}
