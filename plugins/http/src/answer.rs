//! What a request is told. Fixed texts: nothing of a request or of the inside goes into them.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};

use crate::body::BadBody;

/// The answers there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// In its topics.
    Delivered,
    /// Synced in the spool.
    Spooled,
    /// Slack asks whether it may send here.
    Challenge(String),
    Healthy,
    Unhealthy,
    BadRequest(&'static str),
    BadBody(BadBody),
    Unauthorized,
    FromBrowser,
    NotFound,
    MethodNotAllowed,
    TooSlow,
    BadType,
    BadEncoding,
    Full,
    Unavailable,
    /// A part of the source failed; what was posted is not safe.
    NotSafe,
}

impl Answer {
    fn parts(&self) -> (StatusCode, &'static str) {
        match self {
            Answer::Delivered => (StatusCode::OK, r#"{"status":"delivered"}"#),
            Answer::Spooled => (StatusCode::OK, r#"{"status":"spooled"}"#),
            Answer::Challenge(_) => (StatusCode::OK, ""),
            Answer::Healthy => (StatusCode::OK, r#"{"status":"healthy"}"#),
            Answer::Unhealthy => (StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"degraded"}"#),
            Answer::BadRequest(text) => (StatusCode::BAD_REQUEST, text),
            Answer::BadBody(BadBody::TooLarge) => {
                (StatusCode::PAYLOAD_TOO_LARGE, r#"{"error":"the body is too large"}"#)
            }
            Answer::BadBody(BadBody::Empty) => (StatusCode::BAD_REQUEST, r#"{"error":"the body is empty"}"#),
            Answer::BadBody(BadBody::NotGzip) => {
                (StatusCode::BAD_REQUEST, r#"{"error":"the body is not gzip"}"#)
            }
            Answer::BadBody(BadBody::NotJson) => {
                (StatusCode::BAD_REQUEST, r#"{"error":"the body is not JSON"}"#)
            }
            Answer::BadBody(BadBody::NotText) => {
                (StatusCode::BAD_REQUEST, r#"{"error":"the body is not UTF-8"}"#)
            }
            Answer::Unauthorized => {
                (StatusCode::UNAUTHORIZED, r#"{"error":"token or signature missing or wrong"}"#)
            }
            Answer::FromBrowser => (StatusCode::FORBIDDEN, r#"{"error":"not for pages in a browser"}"#),
            Answer::NotFound => (StatusCode::NOT_FOUND, r#"{"error":"no such path"}"#),
            Answer::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, r#"{"error":"only POST"}"#),
            Answer::TooSlow => (StatusCode::REQUEST_TIMEOUT, r#"{"error":"the body took too long"}"#),
            Answer::BadType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, r#"{"error":"content type not taken here"}"#)
            }
            Answer::BadEncoding => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, r#"{"error":"content encoding not taken here"}"#)
            }
            Answer::Full => (StatusCode::TOO_MANY_REQUESTS, r#"{"error":"full, send again later"}"#),
            Answer::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, r#"{"error":"cannot deliver now, send again later"}"#)
            }
            Answer::NotSafe => {
                (StatusCode::SERVICE_UNAVAILABLE, r#"{"error":"not known to be safe, send again"}"#)
            }
        }
    }

    /// As a response.
    pub(crate) fn response(self) -> Response<Full<Bytes>> {
        let (status, text) = self.parts();
        let json = HeaderValue::from_static("application/json");
        let (body, content_type) = match &self {
            Answer::Challenge(challenge) => {
                (Bytes::from(challenge.clone()), HeaderValue::from_static("text/plain"))
            }
            _ => (Bytes::from_static(text.as_bytes()), json),
        };
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, content_type);
        match status {
            StatusCode::TOO_MANY_REQUESTS => headers.insert(RETRY_AFTER, HeaderValue::from_static("1")),
            StatusCode::SERVICE_UNAVAILABLE => headers.insert(RETRY_AFTER, HeaderValue::from_static("5")),
            StatusCode::UNAUTHORIZED => headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
            StatusCode::METHOD_NOT_ALLOWED => headers.insert(ALLOW, HeaderValue::from_static("POST")),
            _ => None,
        };
        response
    }
}
