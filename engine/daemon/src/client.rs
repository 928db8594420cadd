//! A small client of our own HTTP API, for the verbs that ask a daemon.

use std::time::Duration;

use axum::body::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::Request;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;

use crate::error::Error;

/// A daemon that needs longer than this for an answer from its memory is not well.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Largest answer that is read: ten thousand sources fit.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// Where the daemon is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client {
    url: String,
    authority: String,
    base: String,
}

impl Client {
    /// Checks the URL.
    ///
    /// # Errors
    /// Anything but `http://host:8081`, with or without a path below which the API lies.
    pub(crate) fn new(url: &str) -> Result<Client, Error> {
        // A password in it must not be printed.
        let shown = if url.contains('@') { "the URL".to_owned() } else { format!("{url:?}") };
        let refuse = |reason: &str| {
            Error::environment("client.bad_url", format!("{shown} {reason}"))
                .with_hint("use --url http://HOST:PORT, as `run` prints it at start")
        };
        let rest = url.strip_prefix("http://").ok_or_else(|| refuse("does not begin with http://"))?;
        let (authority, base) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() || authority.contains(['@', '?', '#', ' ']) {
            return Err(refuse("names no host and port"));
        }
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let authority = if has_port { authority.to_owned() } else { format!("{authority}:80") };
        let base = base.trim_end_matches('/');
        let base = if base.is_empty() { String::new() } else { format!("/{base}") };
        Ok(Client { url: url.to_owned(), authority, base })
    }

    /// Asks for `path` and reads the JSON of the answer.
    ///
    /// # Errors
    /// Nobody answers, in time, with 200 and what was expected.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let answer = tokio::time::timeout(ANSWER_WITHIN, self.fetch(path))
            .await
            .map_err(|_elapsed| self.unwell(format!("no answer within {} s", ANSWER_WITHIN.as_secs())))??;
        serde_json::from_slice(&answer).map_err(|cause| {
            self.unwell("its answer is not that of a pico-connectors daemon".to_owned()).because(cause)
        })
    }

    async fn fetch(&self, path: &str) -> Result<Bytes, Error> {
        let stream = TcpStream::connect(&self.authority).await.map_err(|cause| {
            Error::environment("client.no_daemon", format!("no daemon answers at `{}`", self.url))
                .with_hint("start one with `pico-connectors run`, or name another with --url or PICOMQ_CONNECTORS_URL")
                .because(cause)
        })?;
        let broken = |cause: hyper::Error| self.unwell("the connection broke".to_owned()).because(cause);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // Ends with the sender, at the latest when the verb does.
        tokio::spawn(connection);
        let request = Request::get(format!("{}{path}", self.base))
            .header(hyper::header::HOST, &self.authority)
            .body(Empty::<Bytes>::new())
            .map_err(|cause| self.unwell("this path cannot be asked for".to_owned()).because(cause))?;
        let answer = sender.send_request(request).await.map_err(broken)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX);
        let body =
            body.collect().await.map_err(|cause| self.unwell(format!("its answer broke off: {cause}")))?;
        match status.is_success() {
            true => Ok(body.to_bytes()),
            false => Err(self.unwell(format!("it answered {status}"))),
        }
    }

    fn unwell(&self, reason: String) -> Error {
        Error::environment("client.unexpected_answer", format!("{}: {reason}", self.url))
            .with_hint("look at the daemon's log, and whether --url names a pico-connectors daemon")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_port_means_eighty_and_a_base_path_is_kept() {
        let client = Client::new("http://host/ops/").unwrap();
        assert_eq!((client.authority.as_str(), client.base.as_str()), ("host:80", "/ops"));
        assert_eq!(Client::new("http://[::1]:8081").unwrap().authority, "[::1]:8081");
    }

    #[test]
    fn other_schemes_and_credentials_are_refused_with_what_would_be_right() {
        for bad in ["127.0.0.1:8081", "https://host", "http://", "http://user:secret@host"] {
            let error = Client::new(bad).unwrap_err();
            assert!(!error.to_string().contains("secret"));
            assert!(matches!(&error, Error::Environment { hint: Some(hint), .. } if hint.contains("--url")));
        }
    }
}
