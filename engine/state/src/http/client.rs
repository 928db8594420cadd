//! One attempt of one request: bytes out, bytes in. Nothing is decided here.

use std::sync::Arc;
use std::time::Duration;

use pico_config::{HttpState, LoadMethod, SaveMethod, Secret, SourceKey, StateRetry, UrlOrigin};
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};

use super::meaning::{Answer, Attempt, Body};
use super::record::{Condition, Request};
use crate::error::StateError;
use crate::format::STATE_BYTES_MAX;
use crate::outbound::{self, reason};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// What is read of an answer that says nothing but its status, so that the connection can be used again.
const IGNORED_BYTES_MAX: u64 = 64 * 1024;
/// Idle connections to the server that are kept.
const IDLE_MAX: usize = 8;

/// The server of `[state.http]`.
#[derive(Debug)]
pub(super) struct Client {
    inner: reqwest::Client,
    settings: HttpState,
}

impl Client {
    /// No redirects, no proxy of the environment, no retries below ours, and a limit for all it takes.
    pub(super) fn new(settings: HttpState) -> Result<Client, StateError> {
        let failed = |reason: String| StateError::ServerUnusable { origin: settings.url.origin(), reason };
        let builder = outbound::client(settings.timeout, settings.url.is_tls(), UrlOrigin::Operator)
            .pool_max_idle_per_host(IDLE_MAX)
            .default_headers(headers(&settings).map_err(failed)?);
        let inner = builder.build().map_err(|error| failed(reason(error)))?;
        Ok(Client { inner, settings })
    }

    pub(super) fn origin(&self) -> String {
        self.settings.url.origin()
    }

    pub(super) fn retry(&self) -> StateRetry {
        self.settings.retry
    }

    /// Asks for what is saved.
    pub(super) async fn load(&self, key: &SourceKey) -> Attempt {
        let method = match self.settings.load_method {
            LoadMethod::Get => Method::GET,
            LoadMethod::Post => Method::POST,
        };
        self.attempt(self.request(method, key), true).await
    }

    /// Sends one save, under the condition and the key that it was begun with.
    pub(super) async fn save(&self, key: &SourceKey, request: &Request) -> Attempt {
        let method = match self.settings.save_method {
            SaveMethod::Put => Method::PUT,
            SaveMethod::Post => Method::POST,
            SaveMethod::Patch => Method::PATCH,
        };
        let builder = self
            .conditioned(self.request(method, key), &request.condition)
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .header(IDEMPOTENCY_KEY, &request.key)
            .body(request.state.to_vec());
        self.attempt(builder, false).await
    }

    /// Removes what is saved, under the condition of what was seen. For people only; a source never removes.
    pub(super) async fn remove(&self, key: &SourceKey, condition: &Condition) -> Attempt {
        self.attempt(self.conditioned(self.request(Method::DELETE, key), condition), false).await
    }

    fn request(&self, method: Method, key: &SourceKey) -> RequestBuilder {
        let url: Secret = self.settings.url.resource(key);
        self.inner.request(method, url.expose()).header(header::ACCEPT_ENCODING, "identity")
    }

    fn conditioned(&self, builder: RequestBuilder, condition: &Condition) -> RequestBuilder {
        match condition {
            Condition::Absent => builder.header(header::IF_NONE_MATCH, "*"),
            Condition::Is(tag) => builder.header(header::IF_MATCH, tag.as_str()),
            Condition::None => builder,
        }
    }

    async fn attempt(&self, builder: RequestBuilder, wants_body: bool) -> Attempt {
        let mut response = match builder.send().await {
            Ok(response) => response,
            // Not connected, or never made: nothing left. Anything else may have arrived there.
            Err(error) if error.is_connect() || error.is_builder() => {
                return Attempt::NotSent(self.reason(error));
            }
            Err(error) => return Attempt::Lost(self.reason(error)),
        };
        let mut answer = answer_head(&response);
        if wants_body && answer.status == 200 {
            match body(&mut response).await {
                Ok(body) => answer.body = body,
                Err(error) => return Attempt::Lost(self.reason(error)),
            }
        } else if response.content_length().is_some_and(|bytes| bytes <= IGNORED_BYTES_MAX) {
            // The status has said all; a body that breaks off changes nothing.
            response.bytes().await.ok();
        }
        Attempt::Answered(answer)
    }

    fn reason(&self, error: reqwest::Error) -> String {
        if error.is_timeout() {
            return format!("no answer within {}", seconds(self.settings.timeout));
        }
        reason(error)
    }
}

fn answer_head(response: &Response) -> Answer {
    let headers = response.headers();
    Answer {
        status: response.status().as_u16(),
        tag: only(headers, &header::ETAG).map(|value| value.as_bytes().to_vec()),
        retry_after: headers.get(header::RETRY_AFTER).map(retry_after),
        is_encoded: headers.get(header::CONTENT_ENCODING).is_some_and(|value| value != "identity"),
        body: Body::default(),
    }
}

/// The value of a header that stands there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// Seconds; a date is as good as "later", and every wait has its ceiling.
fn retry_after(value: &HeaderValue) -> Duration {
    let seconds = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    seconds.map_or(Duration::MAX, Duration::from_secs)
}

async fn body(response: &mut Response) -> Result<Body, reqwest::Error> {
    let whole = outbound::read_at_most(response, STATE_BYTES_MAX).await?;
    Ok(whole.map_or(Body::TooLarge, Body::Whole))
}

fn headers(settings: &HttpState) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &settings.request_headers {
        let refused = |_| format!("the header `{name}` of request_headers cannot be sent");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| refused(error.to_string()))?;
        let mut value = HeaderValue::from_str(value.expose())
            .map_err(|_hides_the_value| format!("the value of `{name}` of request_headers cannot be sent"))?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

/// Shared by everything that asks the server.
pub(super) type SharedClient = Arc<Client>;
