//! What is asked, without saying which host.

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};

/// One request; cheap to repeat at another host.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) method: Method,
    pub(super) segments: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Bytes,
}

impl Request {
    /// A request for the path made of `segments`, each of which is percent-encoded: a slash in one stays in it.
    pub fn new<S: Into<String>>(method: Method, segments: impl IntoIterator<Item = S>) -> Request {
        Request {
            method,
            segments: segments.into_iter().map(Into::into).collect(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    /// A GET.
    pub fn get<S: Into<String>>(segments: impl IntoIterator<Item = S>) -> Request {
        Request::new(Method::GET, segments)
    }

    /// A POST.
    pub fn post<S: Into<String>>(segments: impl IntoIterator<Item = S>) -> Request {
        Request::new(Method::POST, segments)
    }

    /// A DELETE.
    pub fn delete<S: Into<String>>(segments: impl IntoIterator<Item = S>) -> Request {
        Request::new(Method::DELETE, segments)
    }

    /// Adds a parameter to the query of the URL.
    #[must_use]
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Request {
        self.query.push((name.into(), value.into()));
        self
    }

    /// Adds a header whose value is known when the program is written.
    ///
    /// # Panics
    /// When the value has a character that no header can carry.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &'static str) -> Request {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// Sets the body, which is JSON.
    #[must_use]
    pub fn json(self, body: impl Into<Bytes>) -> Request {
        self.body("application/json", body)
    }

    /// Sets the body and what it is.
    #[must_use]
    pub fn body(self, content_type: &'static str, body: impl Into<Bytes>) -> Request {
        let mut request = self.header(reqwest::header::CONTENT_TYPE, content_type);
        request.body = body.into();
        request
    }
}
