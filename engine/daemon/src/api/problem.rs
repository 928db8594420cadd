//! What a refused request is answered with: problem details of RFC 9457 and our own words.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use pico_actors::handle::CommandError;
use serde::Serialize;

/// An answer that is not the one asked for. `code` is stable; programs match on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem(Box<Details>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Details {
    /// The status in words.
    title: &'static str,
    /// The status as a number.
    status: u16,
    /// What was refused and why.
    detail: String,
    code: &'static str,
    /// The same as `detail`, under the name that users of the existing runtimes know.
    reason: String,
    /// Where the fault lies: a path of this API, a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// All that stands in the way, where it may be more than one thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<String>,
    /// For programs that do not read the body.
    #[serde(skip)]
    header: Option<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem without a place and without advice.
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Problem {
        let detail = detail.into();
        Problem(Box::new(Details {
            title: status.canonical_reason().unwrap_or("Problem"),
            status: status.as_u16(),
            reason: detail.clone(),
            detail,
            code,
            location: None,
            hint: None,
            reasons: Vec::new(),
            header: None,
        }))
    }

    /// Names the place.
    pub(crate) fn at(mut self, location: impl Into<String>) -> Problem {
        self.0.location = Some(location.into());
        self
    }

    /// Says what to do.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Problem {
        self.0.hint = Some(hint.into());
        self
    }

    /// Says it in a header too. A value that no header can carry is left out.
    pub(crate) fn with_header(mut self, name: HeaderName, value: &str) -> Problem {
        self.0.header = HeaderValue::from_str(value).ok().map(|value| (name, value));
        self
    }

    /// Lists all that stands in the way.
    pub(crate) fn with_reasons(mut self, reasons: Vec<String>) -> Problem {
        self.0.reasons = reasons;
        self
    }

    /// Nothing is done any more.
    pub(crate) fn ending() -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "engine.ending", "the daemon is shutting down")
            .with_hint("ask again once it runs again")
    }

    /// What stands for the key in the path is not even text.
    pub(crate) fn unreadable_key(reason: String) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "source_not_found", reason)
            .with_hint("GET /sources lists the keys")
    }

    /// No source of this key. The code is the one the existing runtimes use.
    pub(crate) fn unknown_source(key: &str) -> Problem {
        // A key is text of the caller: cut, so that no answer grows with it.
        let shown: String = key.chars().take(pico_config::KEY_LENGTH_MAX).collect();
        Problem::new(StatusCode::NOT_FOUND, "source_not_found", format!("no source has the key {shown:?}"))
            .with_hint("GET /sources lists the keys")
    }
}

#[cfg(test)]
impl Problem {
    pub(crate) fn status(&self) -> u16 {
        self.0.status
    }

    pub(crate) fn code(&self) -> &'static str {
        self.0.code
    }
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Problem {
        match error {
            CommandError::UnknownSource(key) => Problem::unknown_source(&key),
            CommandError::NotRunnable(reason) => {
                Problem::new(StatusCode::CONFLICT, "source.not_runnable", reason)
                    .with_hint("mend its file; it is taken up by itself, or by POST /reload")
            }
            CommandError::Ending => Problem::ending(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).expect("made from a StatusCode");
        let own = self.0.header.clone();
        let mut response = (status, Json(self.0)).into_response();
        response.headers_mut().extend(own);
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}
