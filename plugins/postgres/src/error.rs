//! What can go wrong between us and a server, and what the engine makes of it.

use std::fmt;
use std::io;

use picomq_connector_sdk::Error as SourceError;

/// Any failure of this crate, by what the caller can do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// No connection came about.
    #[error("cannot connect to {place}")]
    Connect {
        place: String,
        #[source]
        cause: io::Error,
    },
    /// The connection ended under way.
    #[error("the connection to PostgreSQL was lost")]
    Lost(#[source] io::Error),
    /// The server did not answer in time.
    #[error("PostgreSQL did not answer within {seconds} s ({what})")]
    Silent { what: &'static str, seconds: u64 },
    /// TLS was asked for and did not come about.
    #[error("TLS with {place} failed: {why}")]
    Tls { place: String, why: String },
    /// The server's word.
    #[error(transparent)]
    Server(Box<ServerError>),
    /// The server said what this build does not understand.
    #[error("PostgreSQL sent what this build does not understand: {0}")]
    Protocol(String),
    /// A value that cannot be written down exactly.
    #[error("{table}, column {column}: {why}")]
    Value { table: String, column: String, why: &'static str },
    /// A thing about the definition, the server or the slot that a person must change.
    #[error("{0}")]
    Refused(String),
}

/// An `ErrorResponse`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerError {
    /// SQLSTATE.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) detail: String,
    pub(crate) hint: String,
}

impl std::error::Error for ServerError {}

impl fmt::Display for ServerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PostgreSQL: {} (SQLSTATE {})", self.message, self.code)?;
        for more in [&self.detail, &self.hint] {
            if !more.is_empty() {
                write!(out, "; {more}")?;
            }
        }
        Ok(())
    }
}

impl ServerError {
    /// Whether the same may succeed later without anybody doing something: hiccups, restarts, full servers, waits.
    pub(crate) fn is_passing(&self) -> bool {
        const CLASSES: [&str; 6] = ["08", "40", "53", "57", "58", "XX"];
        const CODES: [&str; 3] = ["55006", "55P03", "25006"];
        CLASSES.contains(&self.code.get(..2).unwrap_or_default()) || CODES.contains(&self.code.as_str())
    }
}

impl Error {
    /// SQLSTATE, when the server answered with one.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Error::Server(error) => Some(&error.code),
            Error::Connect { .. }
            | Error::Lost(_)
            | Error::Silent { .. }
            | Error::Tls { .. }
            | Error::Protocol(_)
            | Error::Value { .. }
            | Error::Refused(_) => None,
        }
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> SourceError {
        let text = error.to_string();
        match error {
            Error::Connect { cause, .. } => SourceError::transient(text).with_cause(cause),
            Error::Lost(cause) => SourceError::transient(text).with_cause(cause),
            Error::Silent { .. } => SourceError::transient(text),
            Error::Server(server) if server.is_passing() => SourceError::transient(text),
            Error::Tls { .. } | Error::Server(_) | Error::Protocol(_) | Error::Refused(_) => {
                SourceError::permanent(text)
            }
            Error::Value { .. } => SourceError::serialization(format!(
                "{text}; nothing was skipped: change the value, or leave the column out with exclude_columns"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(code: &str) -> SourceError {
        let error = ServerError { code: code.to_owned(), message: "m".to_owned(), ..ServerError::default() };
        Error::Server(Box::new(error)).into()
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_needs_a_person_is_not() {
        for code in ["08006", "40001", "40P01", "53300", "55006", "57P01", "57P03", "57014"] {
            assert!(server(code).is_transient(), "{code}");
        }
        for code in ["28P01", "28000", "3D000", "42501", "42P01", "42704", "55000", "22P02", ""] {
            assert!(!server(code).is_transient(), "{code}");
        }
    }
}
