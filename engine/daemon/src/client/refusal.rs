//! What to tell a person when a daemon answered something else than was asked for.

use axum::body::Bytes;
use hyper::{Method, StatusCode};
use serde::Deserialize;

use super::{Answer, Client, KEY_VARIABLE};
use crate::error::Error;
use crate::version::VERSION;

/// What the first line of `GET /` begins with.
const BANNER: &str = "pico-connectors ";

/// Problem JSON of the daemon.
#[derive(Debug, Deserialize)]
struct Problem {
    code: String,
    detail: String,
    hint: Option<String>,
}

impl Client {
    /// The body of a success; otherwise the error that says what to do.
    pub(super) async fn accepted(&self, answer: Answer, path: &str) -> Result<Bytes, Error> {
        let Answer { status, body, note: _ } = answer;
        if status.is_success() {
            return Ok(body);
        }
        let Ok(problem) = serde_json::from_slice::<Problem>(&body) else {
            return Err(self.unwell(format!("it answered {status}")));
        };
        if problem.code == "http.unknown_route" || problem.code == "http.wrong_method" {
            return Err(self.other_version(path).await);
        }
        Err(self.refused(status, problem))
    }

    fn refused(&self, status: StatusCode, problem: Problem) -> Error {
        let Problem { code, detail, hint } = problem;
        let url = &self.address.url;
        let hint = match status {
            StatusCode::UNAUTHORIZED if self.key.is_none() => {
                Some(format!("set {KEY_VARIABLE} to a key of the daemon's [http] api_key or api_keys"))
            }
            StatusCode::UNAUTHORIZED => Some(format!(
                "{KEY_VARIABLE} holds a key that this daemon does not know; look at its [http] api_key and api_keys"
            )),
            StatusCode::MISDIRECTED_REQUEST => {
                Some("name the daemon as it listens, or add this name to its [http] allowed_hosts".to_owned())
            }
            _ => hint,
        };
        let is_ours = matches!(
            status,
            StatusCode::UNAUTHORIZED
                | StatusCode::FORBIDDEN
                | StatusCode::TOO_MANY_REQUESTS
                | StatusCode::MISDIRECTED_REQUEST
        );
        Error::Refused { code, reason: format!("{url}: {detail}"), hint, is_environment: is_ours }
    }

    /// A daemon that does not know the path, or answers in another shape.
    async fn other_version(&self, path: &str) -> Error {
        let url = &self.address.url;
        let path = path.split('?').next().unwrap_or_default();
        match self.daemon_version().await {
            Some(version) => Error::environment(
                "client.other_version",
                format!("{url}: the daemon is pico-connectors {version} and does not know {path}"),
            )
            .with_hint(format!("this is {VERSION}: use the same version on both sides")),
            None => self.unwell("it is no pico-connectors daemon".to_owned()),
        }
    }

    /// For an answer that cannot be read as what was asked for.
    pub(super) async fn not_ours(&self, path: &str, cause: serde_json::Error) -> Error {
        match self.daemon_version().await {
            Some(version) if version != VERSION => self.other_version(path).await,
            Some(_) | None => {
                self.unwell("its answer is not that of a pico-connectors daemon".to_owned()).because(cause)
            }
        }
    }

    async fn daemon_version(&self) -> Option<String> {
        let banner = Box::pin(self.send(Method::GET, "/", None)).await.ok()?;
        let text = std::str::from_utf8(&banner.body).ok()?;
        Some(text.strip_prefix(BANNER)?.trim().to_owned())
    }

    pub(super) fn unwell(&self, reason: String) -> Error {
        Error::environment("client.unexpected_answer", format!("{}: {reason}", self.address.url))
            .with_hint("look at the daemon's log, and whether --url names a pico-connectors daemon")
    }
}
