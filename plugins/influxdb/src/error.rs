//! What can be wrong with an answer, and what the engine makes of it.

use picomq_connector_sdk::Error as SourceError;

/// Any failure of this crate, by what the caller can do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The database, bucket or organisation is not there; somebody may make it.
    #[error("{0}; make it, or correct the name in the definition")]
    NotFound(String),
    /// The server does not know the path of the query.
    #[error("{0}; see whether url is that of InfluxDB, and version (v1, v2, v3) that of this server")]
    OtherServer(String),
    /// The server says so inside an answer that began well.
    #[error("InfluxDB failed while it answered: {0}")]
    Server(String),
    /// It could not make the rows: a value did not fit, or something that the query asks of others failed.
    #[error(
        "InfluxDB could not run the query: {0}; it is tried again, and if it stays a value does not fit the query: leave such rows out in it"
    )]
    Running(String),
    /// The span that was asked for has no end after its beginning, so no rows.
    #[error("InfluxDB was asked for an empty range of time")]
    EmptyRange,
    /// The server refuses the query as it is written.
    #[error("InfluxDB refuses the query: {0}")]
    Query(String),
    /// Bytes that are no answer.
    #[error("the answer is not what InfluxDB writes: {0}")]
    Malformed(String),
    /// A query that cannot be read behind a cursor.
    #[error("{0}")]
    Unreadable(String),
    /// A value that cannot be made a record.
    #[error("{0}")]
    Value(String),
    /// Columns that are not among those known; the schema must be asked for again.
    #[error("the measurement has columns that its schema did not name; it is asked for again")]
    SchemaChanged,
    /// From the HTTP client.
    #[error(transparent)]
    Asking(#[from] SourceError),
}

impl Error {
    /// As an opening tells it: what may be made meanwhile is waited for.
    pub(crate) fn while_opening(self) -> SourceError {
        match self {
            Error::NotFound(_) => SourceError::transient(self.to_string()),
            other => other.into(),
        }
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> SourceError {
        let text = error.to_string();
        match error {
            Error::Server(_)
            | Error::Running(_)
            | Error::EmptyRange
            | Error::Malformed(_)
            | Error::SchemaChanged => SourceError::transient(text),
            Error::NotFound(_) | Error::OtherServer(_) | Error::Query(_) | Error::Unreadable(_) => {
                SourceError::permanent(text)
            }
            Error::Value(_) => SourceError::serialization(text),
            Error::Asking(error) => error,
        }
    }
}
