//! What can go wrong with a state store, by what the caller can do.

use std::io;
use std::path::PathBuf;

use pico_actors::ports::{Cause, OpenFailure, OpenKind, SaveFailure};

use crate::format::{Damage, STATE_BYTES_MAX};

/// Why the store refused. The messages name files and say what would help.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another process holds the source's lock: it may end, so opening is tried again.
    #[error(
        "another engine runs this source: {} is locked; stop that engine, or give this one a state folder of its own",
        file.display()
    )]
    Locked {
        /// The lock file.
        file: PathBuf,
    },
    /// The saved state cannot be read: a person must decide (I8).
    #[error(
        "state file {} {damage}; put back a good copy, or remove the file to start this source from its beginning",
        file.display()
    )]
    Unreadable {
        /// The state file.
        file: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// The file beside the state that says what a person asked holds something else.
    #[error("{} holds neither running, paused nor stopped; write one of them, or remove the file", file.display())]
    UnknownAsked {
        /// The file.
        file: PathBuf,
    },
    /// The disk or its permissions refused a step; may pass.
    #[error("cannot {step} {}: {source}", file.display())]
    Io {
        /// The step, as a verb.
        step: &'static str,
        /// What it was done to.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder belongs to somebody else and everybody may write to it.
    #[error("state folder {} is writable by everybody and not ours; choose another one, or mend its owner", folder.display())]
    FolderOpen {
        /// The folder.
        folder: PathBuf,
    },
    /// A save out of turn: refused, since a state must never go back.
    #[error("state number {number} does not rise above {newest}")]
    NotRising {
        /// The number asked for.
        number: u64,
        /// The newest one written or tried.
        newest: u64,
    },
    /// A probe although no save had failed.
    #[error("there is no failed save to probe with")]
    NothingFailed,
    /// The plugin's state is larger than a store takes.
    #[error("state of {bytes} bytes is larger than {STATE_BYTES_MAX}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The state server did not do what it was asked; may pass.
    #[error("cannot {step} the state server {origin}: {reason}")]
    Server {
        /// The step, as a verb with its preposition.
        step: &'static str,
        /// Scheme, host and port; the rest of a URL may hold a token.
        origin: String,
        /// What it answered, or what the network did.
        reason: String,
        /// Whether it is known that nothing was changed there.
        is_definite: bool,
    },
    /// The state server wants other credentials.
    #[error(
        "the state server {origin} answered {status}; mend the credentials in [state.http] request_headers"
    )]
    ServerDenies {
        /// Scheme, host and port.
        origin: String,
        /// 401, 403 or 407.
        status: u16,
    },
    /// What lies on the state server is no state (I8).
    #[error("the state on {origin} cannot be read: {reason}; mend the server, or put a good copy there")]
    ServerState {
        /// Scheme, host and port.
        origin: String,
        /// What is strange about it.
        reason: String,
    },
    /// The client of the state server cannot be made.
    #[error("the state server {origin} cannot be asked: {reason}")]
    ServerUnusable {
        /// Scheme, host and port.
        origin: String,
        /// What is missing.
        reason: String,
    },
    /// The condition of a save does not hold: another engine, or a person, wrote since.
    #[error(
        "another writer saved this source's state on {origin} since it was read here (412); stop the other engine, then \
         restart this source"
    )]
    Fenced {
        /// Scheme, host and port.
        origin: String,
    },
    /// An opening of this process has the source, so that nobody else writes its state.
    #[error("the source holds its state; stop it first")]
    InUse,
    /// A server keeps checkpoints and nothing else.
    #[error(
        "with an HTTP state store it is not kept over a restart of the process: the source runs then; write enabled = false into its definition to keep it stopped"
    )]
    AskedNotKept,
    /// The lease was given back, or a later opening of this process took the source over.
    #[error("this opening of the source no longer owns its state")]
    NotOwner,
    /// The thread that worked for the store panicked or its runtime is ending; the outcome is not known.
    #[error("the thread that worked on the state did not finish")]
    Unfinished {
        /// What tokio said.
        source: tokio::task::JoinError,
    },
}

impl StateError {
    /// Stable and dotted, for machines.
    pub fn code(&self) -> &'static str {
        match self {
            StateError::Locked { .. } => "state.locked",
            StateError::Unreadable { .. } => "state.unreadable",
            StateError::UnknownAsked { .. } => "state.asked_unreadable",
            StateError::Io { .. } => "state.io",
            StateError::FolderOpen { .. } => "state.folder_open",
            StateError::NotRising { .. } => "state.not_rising",
            StateError::NothingFailed => "state.nothing_failed",
            StateError::TooLarge { .. } => "state.too_large",
            StateError::Server { .. } => "state.server",
            StateError::ServerDenies { .. } => "state.server_denies",
            StateError::ServerState { .. } => "state.unreadable",
            StateError::ServerUnusable { .. } => "state.server_unusable",
            StateError::Fenced { .. } => "state.fenced",
            StateError::InUse => "state.in_use",
            StateError::AskedNotKept => "state.asked_not_kept",
            StateError::NotOwner => "state.not_owner",
            StateError::Unfinished { .. } => "state.unfinished",
        }
    }

    /// Code and message, as the tree takes them.
    pub fn cause(&self) -> Cause {
        Cause::new(self.code(), self.to_string())
    }
}

impl From<StateError> for OpenFailure {
    fn from(error: StateError) -> OpenFailure {
        let kind = match &error {
            StateError::Unreadable { .. }
            | StateError::UnknownAsked { .. }
            | StateError::ServerState { .. } => OpenKind::State,
            StateError::FolderOpen { .. } | StateError::ServerUnusable { .. } => OpenKind::Config,
            StateError::ServerDenies { .. } => OpenKind::Permanent,
            StateError::Locked { .. }
            | StateError::Io { .. }
            | StateError::NotRising { .. }
            | StateError::NothingFailed
            | StateError::TooLarge { .. }
            | StateError::Server { .. }
            | StateError::Fenced { .. }
            | StateError::InUse
            | StateError::AskedNotKept
            | StateError::NotOwner
            | StateError::Unfinished { .. } => OpenKind::Passing,
        };
        OpenFailure { kind, cause: error.cause() }
    }
}

impl From<StateError> for SaveFailure {
    fn from(error: StateError) -> SaveFailure {
        match error {
            StateError::NotOwner | StateError::Fenced { .. } => SaveFailure::Fenced(error.cause()),
            StateError::Locked { .. }
            | StateError::Unreadable { .. }
            | StateError::UnknownAsked { .. }
            | StateError::Io { .. }
            | StateError::FolderOpen { .. }
            | StateError::NotRising { .. }
            | StateError::NothingFailed
            | StateError::TooLarge { .. }
            | StateError::Server { .. }
            | StateError::ServerDenies { .. }
            | StateError::ServerState { .. }
            | StateError::ServerUnusable { .. }
            | StateError::InUse
            | StateError::AskedNotKept
            | StateError::Unfinished { .. } => SaveFailure::Failed(error.cause()),
        }
    }
}
