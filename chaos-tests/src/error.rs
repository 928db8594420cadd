//! What can go wrong in the harness itself. None of these is a finding about the engine: findings are
//! [`Violation`](crate::ledger::Violation)s, and a test that ends in an `Error` has shown nothing.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The result of everything in the harness that touches the outside.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of the harness or of what it depends on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file, socket or process could not be used.
    #[error("cannot {doing}")]
    Io {
        /// What was tried, as a phrase that follows "cannot".
        doing: String,
        /// The cause.
        source: io::Error,
    },
    /// A thing that was waited for did not happen.
    #[error("{what} did not happen within {within:?}; last seen: {seen}")]
    Timeout {
        /// The thing, as a noun phrase.
        what: String,
        /// The limit of the wait.
        within: Duration,
        /// What the last look saw, and where to look on.
        seen: String,
    },
    /// A client call to Kafka failed.
    #[error("kafka refused to {doing}")]
    Kafka {
        /// What was tried, as a phrase that follows "refused to".
        doing: String,
        /// The cause.
        source: rdkafka::error::KafkaError,
    },
    /// Something that must be built or installed first is not there.
    #[error("{} is missing: {hint}", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
        /// How to get it.
        hint: &'static str,
    },
    /// A process ended that should have gone on.
    #[error("{program} ended with {status}; the end of its log:\n{log}")]
    Ended {
        /// The process.
        program: String,
        /// Its exit status in words.
        status: String,
        /// The last lines it wrote.
        log: String,
    },
    /// Bytes that somebody else wrote do not have the form they must have.
    #[error("{what} cannot be read: {reason}")]
    Malformed {
        /// The file or answer.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// For `map_err`: puts what was tried before an I/O error.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    /// For `map_err`: puts what was tried before a client error.
    pub fn kafka(doing: impl Into<String>) -> impl FnOnce(rdkafka::error::KafkaError) -> Self {
        let doing = doing.into();
        move |source| Self::Kafka { doing, source }
    }

    /// A form error of something that somebody else wrote.
    pub fn malformed(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Malformed { what: what.into(), reason: reason.into() }
    }
}
