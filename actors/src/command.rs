//! What a person may ask of one source, and why it is refused.

/// What a person may ask of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Open; resets the counters.
    Start,
    /// No polls; the plugin stays open.
    Pause,
    /// Poll again.
    Resume,
    /// Close and open again; resets the counters.
    Restart,
    /// Close for good.
    Stop,
}

/// Why a command was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// No source has this key.
    #[error("no source has the key `{0}`")]
    UnknownSource(String),
    /// The file is not a definition, or the definition is switched off.
    #[error("{0}")]
    NotRunnable(String),
    /// The root is gone; the process is ending.
    #[error("the engine is shutting down")]
    Ending,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The source cannot be asked anything.
    #[error(transparent)]
    Source(#[from] CommandError),
    /// The plugin is not open now.
    #[error("the plugin of this source is not open")]
    NotOpen,
    /// The plugin knows no such command.
    #[error("{0}")]
    Unknown(String),
    /// The plugin took the command and failed.
    #[error("{0}")]
    Failed(String),
    /// No answer in time.
    #[error("the plugin did not answer in time")]
    Silent,
}
