//! What a server answered, body apart, and what an answer that is no success means.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use reqwest::{StatusCode, Url};

use crate::{Error, Secret};

/// Longest wait a server can ask for; a wrong clock must not silence a source for years.
pub(super) const RETRY_AFTER_MAX: Duration = Duration::from_secs(600);

/// Most characters of a server's own words in an error.
const REASON_CHARACTERS_MAX: usize = 400;

/// One host as errors name it, and what they must not repeat.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) secrets: Vec<Secret>,
}

/// Status and headers of an answer. It stays when the body was read.
#[derive(Clone, Debug)]
pub struct Head {
    place: Arc<Place>,
    status: StatusCode,
    headers: HeaderMap,
    retry_after: Option<Duration>,
}

/// What an answer means, by its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 2xx.
    Success,
    /// 401 and 403: credentials or rights; a person must look.
    Authentication,
    /// 408, 425, 429, and 5xx but 501 and 505: the same request may succeed later.
    Transient,
    /// 3xx. Redirects are not followed.
    Redirect,
    /// Everything else: the same request will be refused again.
    Permanent,
}

impl Head {
    pub(super) fn new(place: Arc<Place>, status: StatusCode, headers: HeaderMap) -> Head {
        let retry_after = headers
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .and_then(|text| retry_after(text, SystemTime::now()));
        Head { place, status, headers, retry_after }
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// Whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// The value of a header, if it is there once or more and is text.
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// How long the server asked to be left alone (`Retry-After`, seconds or a date), ten minutes at most.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The host that answered, without credentials.
    pub fn place(&self) -> &str {
        &self.place.name
    }

    /// What the status means.
    pub fn kind(&self) -> Kind {
        match self.status.as_u16() {
            200..=299 => Kind::Success,
            300..=399 => Kind::Redirect,
            401 | 403 => Kind::Authentication,
            408 | 425 | 429 => Kind::Transient,
            501 | 505 => Kind::Permanent,
            500..=599 => Kind::Transient,
            _ => Kind::Permanent,
        }
    }

    /// The error of an answer that is no success: `what` was asked, and `reason` are the server's own words if it said
    /// any; they are cut, and secrets of the client are blotted out in them.
    pub fn refusal(&self, what: &str, reason: &str) -> Error {
        let reason = self.said(reason);
        let colon = if reason.is_empty() { "" } else { ": " };
        let text = format!("{what}: {} answered {}{colon}{reason}", self.place.name, self.status);
        match self.kind() {
            Kind::Authentication => {
                Error::permanent(format!("{text}; give the source credentials that may do this"))
            }
            Kind::Redirect => Error::permanent(format!(
                "{text}, a redirect to {}: redirects are not followed, write the address that answers",
                self.target()
            )),
            Kind::Success | Kind::Permanent => Error::permanent(text),
            Kind::Transient => match self.retry_after {
                Some(wait) => Error::transient(text).with_retry_after(wait),
                None => Error::transient(text),
            },
        }
    }

    /// A server's words, fit for an error: cut, on one line, without secrets.
    pub fn said(&self, reason: &str) -> String {
        let mut text = reason.to_owned();
        for secret in self.place.secrets.iter().filter(|secret| !secret.expose().is_empty()) {
            text = text.replace(secret.expose(), "***");
        }
        let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match one_line.char_indices().nth(REASON_CHARACTERS_MAX) {
            Some((end, _)) => format!("{}…", &one_line[..end]),
            None => one_line,
        }
    }

    /// Where a redirect points: scheme, host and port only, since the rest may be signed.
    fn target(&self) -> String {
        match self.header(&LOCATION).map(Url::parse) {
            Some(Ok(url)) => url.origin().ascii_serialization(),
            Some(Err(_)) => "another path".to_owned(),
            None => "nowhere".to_owned(),
        }
    }
}

/// `Retry-After` as RFC 9110 has it: seconds, or a date.
pub(super) fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        // A date that is over says to come back at once.
        Err(_) => httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(RETRY_AFTER_MAX))
}
