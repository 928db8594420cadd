//! Errors of a source, by what the engine can do about them.

use std::error::Error as StdError;
use std::time::Duration;

/// The cause below an error, kept as its `source`.
pub type Cause = Box<dyn StdError + Send + Sync + 'static>;

/// What a source answers when it cannot do what was asked. The variant decides what happens next; the text is
/// for the person who reads `last_error`, so it names the thing refused and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The definition is wrong: the source halts until a person has changed it.
    #[error(transparent)]
    Config(Detail),
    /// It may work later: opening and polling are tried again after a growing wait.
    #[error(transparent)]
    Transient(Detail),
    /// It will not work again by itself (slot lost, table gone, credentials refused): status `error`.
    #[error(transparent)]
    Permanent(Detail),
    /// The saved state cannot be read. Never start afresh instead: that would lose or repeat data.
    #[error(transparent)]
    State(Detail),
    /// A candidate or a row cannot be written down. Its batch must not be sent without it.
    #[error(transparent)]
    Serialization(Detail),
    /// The poll was asked to end and has nothing to return. Not a failure: nothing is counted or logged.
    #[error("interrupted")]
    Interrupted,
}

/// Text and cause of an [`Error`].
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Detail {
    message: String,
    retry_after: Option<Duration>,
    #[source]
    cause: Option<Cause>,
}

impl Detail {
    fn new(message: impl Into<String>) -> Detail {
        Detail { message: message.into(), retry_after: None, cause: None }
    }
}

impl Error {
    /// An [`Error::Config`].
    pub fn config(message: impl Into<String>) -> Error {
        Error::Config(Detail::new(message))
    }

    /// An [`Error::Transient`].
    pub fn transient(message: impl Into<String>) -> Error {
        Error::Transient(Detail::new(message))
    }

    /// An [`Error::Permanent`].
    pub fn permanent(message: impl Into<String>) -> Error {
        Error::Permanent(Detail::new(message))
    }

    /// An [`Error::State`].
    pub fn state(message: impl Into<String>) -> Error {
        Error::State(Detail::new(message))
    }

    /// An [`Error::Serialization`].
    pub fn serialization(message: impl Into<String>) -> Error {
        Error::Serialization(Detail::new(message))
    }

    /// Keeps what caused it; the engine shows the whole chain. Without effect on [`Error::Interrupted`].
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Error {
        if let Some(detail) = self.detail_mut() {
            detail.cause = Some(cause.into());
        }
        self
    }

    /// Keeps how long the upstream asked to be left alone, for [`Retry`](crate::Retry).
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Error {
        if let Some(detail) = self.detail_mut() {
            detail.retry_after = Some(wait);
        }
        self
    }

    /// How long the upstream asked to be left alone, if it said.
    pub fn retry_after(&self) -> Option<Duration> {
        self.detail().and_then(|detail| detail.retry_after)
    }

    /// Whether the same call may succeed later without anybody doing something.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Transient(_) | Error::Interrupted => true,
            Error::Config(_) | Error::Permanent(_) | Error::State(_) | Error::Serialization(_) => false,
        }
    }

    /// The text with every cause below it, joined by colons: all that crosses the border.
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let below = error.to_string();
            if !text.ends_with(&below) {
                text.push_str(": ");
                text.push_str(&below);
            }
            cause = error.source();
        }
        text
    }

    fn detail(&self) -> Option<&Detail> {
        match self {
            Error::Config(detail)
            | Error::Transient(detail)
            | Error::Permanent(detail)
            | Error::State(detail)
            | Error::Serialization(detail) => Some(detail),
            Error::Interrupted => None,
        }
    }

    fn detail_mut(&mut self) -> Option<&mut Detail> {
        match self {
            Error::Config(detail)
            | Error::Transient(detail)
            | Error::Permanent(detail)
            | Error::State(detail)
            | Error::Serialization(detail) => Some(detail),
            Error::Interrupted => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_names_every_cause_once() {
        let refused = std::io::Error::other("connection refused");
        let error = Error::transient("cannot reach db:5432").with_cause(refused);
        assert_eq!(error.chain(), "cannot reach db:5432: connection refused");
    }

    #[test]
    fn the_cause_is_not_folded_into_the_text() {
        let error = Error::permanent("slot lost").with_cause("wal_status is lost");
        assert_eq!(error.to_string(), "slot lost");
    }

    #[test]
    fn retry_after_survives_until_it_is_asked_for() {
        let error = Error::transient("429").with_retry_after(Duration::from_secs(7));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        assert_eq!(Error::Interrupted.with_retry_after(Duration::from_secs(7)).retry_after(), None);
    }
}
