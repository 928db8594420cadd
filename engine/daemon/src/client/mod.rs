//! A small client of our own HTTP API, for the verbs that ask a daemon.

mod address;
mod connection;
mod refusal;
mod stream;

use std::time::Duration;

use axum::body::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;
use address::Address;
pub(crate) use stream::{Event, Stream};

/// A daemon that needs longer than this for an answer is not well. A command of a plugin has its own limit there.
const ANSWER_WITHIN: Duration = Duration::from_secs(40);

/// Largest answer that is read: ten thousand sources fit.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// Header of a key, under the name that users of the existing runtimes know.
pub(crate) const KEY_HEADER: &str = "api-key";

/// Variable with the key to send along.
pub(crate) const KEY_VARIABLE: &str = "PICOMQ_CONNECTORS_API_KEY";

/// Header of what a person should know about a command that was taken.
const NOTE_HEADER: &str = "picomq-note";

/// Where the daemon is, and what opens it.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    address: Address,
    key: Option<header::HeaderValue>,
}

/// An answer with its status, whatever that is.
#[derive(Debug)]
pub(crate) struct Answer {
    status: hyper::StatusCode,
    /// What a person should know about it.
    note: Option<String>,
    body: Bytes,
}

impl Client {
    /// Checks the URL, and takes the key from the environment.
    ///
    /// # Errors
    /// Anything but `http://host:8081` or https, with or without a path below which the API lies; a key that no header
    /// can carry.
    pub(crate) fn new(url: &str) -> Result<Client, Error> {
        let address = Address::parse(url)?;
        let key = std::env::var(KEY_VARIABLE).ok().filter(|key| !key.is_empty());
        let key = key.map(|key| {
            let mut value = header::HeaderValue::from_str(&key).map_err(|_invalid| {
                Error::environment("client.bad_key", format!("{KEY_VARIABLE} holds what no header can carry"))
                    .with_hint("look for a line break or a blank at its ends")
            })?;
            value.set_sensitive(true);
            Ok(value)
        });
        Ok(Client { address, key: key.transpose()? })
    }

    /// Asks for `path` and reads the JSON of the answer.
    ///
    /// # Errors
    /// Nobody answers, in time, with success and what was expected.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.ask(Method::GET, path, None).await
    }

    /// Sends `body`, if any, and reads the JSON of the answer; an empty one reads as null.
    ///
    /// # Errors
    /// Like [`get`](Client::get).
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, Error> {
        let body = body.map(|value| ("application/json", Bytes::from(value.to_string())));
        self.read(method, path, body).await
    }

    /// Sends a body of another kind and reads the JSON of the answer.
    ///
    /// # Errors
    /// Like [`get`](Client::get).
    pub(crate) async fn ask_with<T: DeserializeOwned>(
        &self,
        path: &str,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<T, Error> {
        self.read(Method::POST, path, body).await
    }

    async fn read<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<T, Error> {
        let answer = self.send(method, path, body).await?;
        let answer = self.accepted(answer, path).await?;
        let text = if answer.is_empty() { b"null".as_slice() } else { &answer };
        match serde_json::from_slice(text) {
            Ok(value) => Ok(value),
            Err(cause) => Err(self.not_ours(path, cause).await),
        }
    }

    /// Asks for something to be done; gives what a person should know about it, if anything.
    ///
    /// # Errors
    /// Like [`get`](Client::get).
    pub(crate) async fn order(&self, path: &str) -> Result<Option<String>, Error> {
        let mut answer = self.send(Method::POST, path, None).await?;
        let note = answer.note.take();
        self.accepted(answer, path).await?;
        Ok(note)
    }

    /// Sends a body of any kind and gives whatever is answered.
    ///
    /// # Errors
    /// Nobody answers in time.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<Answer, Error> {
        let answering = async {
            let answer = self.open(method, path, body).await?;
            let status = answer.status();
            let note = answer.headers().get(NOTE_HEADER).and_then(|note| note.to_str().ok());
            let note = note.map(str::to_owned);
            let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(|cause| self.unwell(format!("its answer broke off: {cause}")))?;
            Ok(Answer { status, note, body: body.to_bytes() })
        };
        tokio::time::timeout(ANSWER_WITHIN, answering)
            .await
            .map_err(|_elapsed| self.unwell(format!("no answer within {} s", ANSWER_WITHIN.as_secs())))?
    }

    /// Asks for a stream of events, from after the event `last` where there is one.
    ///
    /// # Errors
    /// Nobody answers with success.
    pub(crate) async fn stream(&self, path: &str, last: Option<&str>) -> Result<Stream, Error> {
        let mut request = self.request(Method::GET, path, None)?;
        if let Some(last) = last.and_then(|last| header::HeaderValue::from_str(last).ok()) {
            request.headers_mut().insert("last-event-id", last);
        }
        let answer = tokio::time::timeout(ANSWER_WITHIN, connection::exchange(&self.address, request))
            .await
            .map_err(|_elapsed| self.unwell(format!("no answer within {} s", ANSWER_WITHIN.as_secs())))??;
        if answer.status().is_success() {
            return Ok(Stream::new(answer.into_body()));
        }
        let (status, body) = (answer.status(), answer.into_body());
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        match self.accepted(Answer { status, note: None, body }, path).await {
            Ok(_) => Err(self.unwell("it answered without a stream".to_owned())),
            Err(refused) => Err(refused),
        }
    }

    async fn open(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<Response<Incoming>, Error> {
        connection::exchange(&self.address, self.request(method, path, body)?).await
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<Request<Full<Bytes>>, Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address.base))
            .header(header::HOST, &self.address.authority);
        if let Some((kind, _)) = &body {
            request = request.header(header::CONTENT_TYPE, *kind);
        }
        if let Some(key) = &self.key {
            request = request.header(KEY_HEADER, key);
        }
        let body = body.map(|(_, bytes)| bytes).unwrap_or_default();
        request
            .body(Full::new(body))
            .map_err(|cause| self.unwell("this path cannot be asked for".to_owned()).because(cause))
    }
}

/// A piece of a path as it must stand in a URL: a key that was typed may hold anything.
pub(crate) fn escaped(piece: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    piece.bytes().fold(String::new(), |mut text, byte| {
        if is_plain(byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_typed_stays_one_piece_of_the_path() {
        assert_eq!(escaped("orders_cdc.v-2"), "orders_cdc.v-2");
        assert_eq!(escaped("../a?b#ö"), "..%2Fa%3Fb%23%C3%B6");
    }
}
