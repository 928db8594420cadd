//! What can go wrong at the border, by what the engine can do about it. Every text holds the fix.

use std::path::PathBuf;
use std::time::Duration;

/// A library cannot be used. None of it was called, except for its descriptor.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such file.
    #[error("there is no plugin at {}", path.display())]
    NotFound {
        /// What was looked for.
        path: PathBuf,
        /// Why it was not found.
        source: std::io::Error,
    },
    /// The system's loader refuses it: not a library, for another machine, or one of its own libraries is missing.
    #[error("{} cannot be loaded", path.display())]
    Refused {
        /// Which file.
        path: PathBuf,
        /// What the loader says.
        source: libloading::Error,
    },
    /// A library, but not one of our plugins.
    #[error(
        "{} is not a plugin: it does not export `{symbol}`; a plugin is built as a cdylib with export_source!",
        path.display()
    )]
    NoSymbol {
        /// Which file.
        path: PathBuf,
        /// What it should export.
        symbol: &'static str,
    },
    /// Built for another version of the border.
    #[error(
        "{} was built for plugin ABI {built}, this engine speaks {speaks}: build it with the SDK of this engine",
        path.display()
    )]
    Abi {
        /// Which file.
        path: PathBuf,
        /// What the plugin was built for.
        built: u32,
        /// What this engine speaks.
        speaks: u32,
    },
    /// A panic in it would end the whole engine.
    #[error(
        "{} was built with panic = \"abort\": a panic in it would end the engine; build it with panic = \"unwind\"",
        path.display()
    )]
    NoUnwind {
        /// Which file.
        path: PathBuf,
    },
    /// It is still being loaded, and may be for ever.
    #[error(
        "{} has not finished loading after {seconds} s: it hangs in its own code; mend it, or leave it out, and restart the engine",
        path.display()
    )]
    Hung {
        /// Which file.
        path: PathBuf,
        /// Since it began.
        seconds: u64,
    },
    /// The system has no thread to load it on.
    #[error("{} cannot be loaded: the system starts no more threads; raise their limit", path.display())]
    NoThread {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Its descriptor does not make sense.
    #[error("{} has a broken descriptor: {what}; build it again with the SDK of this engine", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// A source did not open. There is no instance, unless it [hung](OpenError::Hung).
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The definition is wrong; a person must change it.
    #[error("{0}")]
    Config(String),
    /// The saved state cannot be read; a person must decide.
    #[error("{0}")]
    State(String),
    /// It will not open by itself.
    #[error("{0}")]
    Permanent(String),
    /// It may open later; not within `open_timeout` is one such reason.
    #[error("{0}")]
    Transient(String),
    /// The author's code panicked.
    #[error("{0}")]
    Panicked(String),
    /// The call never ended. What it holds is leaked, so the key must not be opened again in this process.
    #[error("{0}")]
    Hung(String),
}

/// A poll returned no batch. No verdict belongs to it.
#[derive(Debug, thiserror::Error)]
pub enum PollError {
    /// It was asked to end, and had nothing. Not a failure.
    #[error("the poll was interrupted")]
    Interrupted,
    /// It may work later.
    #[error("{0}")]
    Transient(String),
    /// It will not work again by itself.
    #[error("{0}")]
    Permanent(String),
    /// The author's code panicked, or broke the rules of the border. Only `destroy` may follow.
    #[error("{0}")]
    Panicked(String),
    /// The batch was beyond the limits; nothing of it was handed over. As permanent as the limits.
    #[error("{0}")]
    Limit(String),
    /// It did not end though it was asked to. Only `destroy` may follow, and will say that it leaked.
    #[error("{0}")]
    Hung(String),
}

/// A verdict was not taken. All are fatal for the instance: only `destroy` may follow.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The source answered an error.
    #[error("{0}")]
    Failed(String),
    /// No answer within `verdict_timeout`; its future was dropped.
    #[error("{0}")]
    TimedOut(String),
    /// The author's code panicked.
    #[error("{0}")]
    Panicked(String),
    /// The call never ended; what it holds is leaked.
    #[error("{0}")]
    Hung(String),
}

/// A command, or describing a state, gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// There is no such command, or the instance is gone.
    #[error("{0}")]
    Unknown(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
    /// The author's code panicked.
    #[error("{0}")]
    Panicked(String),
}

/// The text for a call that outlived its `timeout`.
pub(super) fn hung(call: &str, timeout: Duration) -> String {
    format!("the plugin hangs: {call} did not end {timeout:?} after it had to; restart the engine to free it")
}
