//! Loading the library of a plugin: in a process of its own first, then in this one.
//!
//! A library runs code of its own while it is loaded. If that code never ends, no thread of the process can start any more, since the
//! system's loader holds a lock that each new thread needs; if it crashes, the process is gone. So neither may happen here first.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use picomq_connector_sdk::ffi::host::{Library, LoadError};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::leave::Exit;

/// The verb of the process that tries a library; nobody types it.
pub(crate) const VERB: &str = "try-library";

/// This very program, also when another one stands in its place by now; a program of tests could not try a library.
const PROGRAM: &str = if cfg!(test) { "true" } else { "/proc/self/exe" };

/// Between two looks whether that process has ended. It takes some ten milliseconds.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Why a library is not loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotLoaded {
    /// The process that tried it did not end.
    #[error(
        "{} has not finished loading after {seconds} s: it hangs in its own code; mend it, or leave it out", path.display()
    )]
    Late {
        /// Which file.
        path: PathBuf,
        /// So long it was waited for.
        seconds: u64,
    },
    /// It would have ended this process.
    #[error("{} ends the process that loads it ({how}); mend it, or leave it out", path.display())]
    Fatal {
        /// Which file.
        path: PathBuf,
        /// By which signal or exit code.
        how: String,
    },
    /// It is loaded no further than the border allows.
    #[error(transparent)]
    Refused(#[from] LoadError),
}

impl NotLoaded {
    /// Whether it may be another time, with nobody changing anything: a machine may be slow.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            NotLoaded::Late { .. } => true,
            NotLoaded::Fatal { .. } | NotLoaded::Refused(_) => false,
        }
    }
}

/// The library at `path`; one that this process has already needs no trial. Blocks, `within` at most.
pub(crate) fn load(path: &Path, within: Duration) -> Result<Arc<Library>, NotLoaded> {
    let real = path.canonicalize().unwrap_or_default();
    if !Library::all().iter().any(|library| library.path() == real) {
        try_apart(path, within)?;
    }
    Ok(Library::load(path)?)
}

fn try_apart(path: &Path, within: Duration) -> Result<(), NotLoaded> {
    let mut trial = Command::new(PROGRAM);
    trial.arg(VERB).arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Where no process may be started there is no trial.
    let Ok(trial) = trial.spawn() else { return Ok(()) };
    judge(trial, path, within)
}

fn judge(mut trial: Child, path: &Path, within: Duration) -> Result<(), NotLoaded> {
    let begun = Instant::now();
    loop {
        match trial.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(NotLoaded::Fatal { path: path.to_owned(), how: how(status) }),
            // Nothing is known of it.
            Err(_) => return Ok(()),
            Ok(None) if begun.elapsed() >= within => {
                trial.kill().ok();
                trial.wait().ok();
                return Err(NotLoaded::Late { path: path.to_owned(), seconds: within.as_secs() });
            }
            Ok(None) => thread::park_timeout(LOOK_EVERY),
        }
    }
}

fn how(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "in an unknown way".to_owned(),
    }
}

/// The trial itself: what is loaded, refused or not, does no harm.
pub(crate) fn attempt(path: &Path) -> Exit {
    // Whoever wants to know may be gone.
    set_parent_process_death_signal(Some(Signal::KILL)).ok();
    // Why it is refused is told by the process that loads it next.
    drop(Library::load(path));
    Exit::Ok
}
