//! What every request passes before a handler sees it: the name it asks for, where the page is from that sends it, the
//! key, and a body that is neither too large nor too slow.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use pico_config::Http;

use super::access::Access;
use super::bodies;
use super::hosts::Hosts;
use super::problem::Problem;
use crate::client::KEY_HEADER;
use crate::error::Error;

/// How long a client may take to send its body.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// Headers that no plain form of a page can send; a script that can was asked about beforehand (CORS).
const NOT_SIMPLE: [&str; 3] = [KEY_HEADER, "authorization", "x-requested-with"];

/// Content types that a plain form of any page can send.
const SIMPLE_TYPES: [&str; 3] = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"];

/// Where a request came from; an extension of those that came over a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) IpAddr);

/// Who is let in.
#[derive(Clone)]
pub(crate) struct Gate {
    hosts: Hosts,
    access: Arc<Access>,
    /// Origins of other sites whose pages may change something.
    origins: Arc<[String]>,
}

impl Gate {
    /// As configured, for a listener at `bound`.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new(http: &Http, bound: SocketAddr) -> Result<Gate, Error> {
        let access = Access::new(&http.keys).map_err(|_unspecified| {
            Error::environment("process.no_random", "the system has no random numbers")
                .with_hint("allow the system call getrandom, or make /dev/urandom readable")
        })?;
        let origins = http.cors.iter().flat_map(|cors| cors.allowed_origins.iter().cloned()).collect();
        Ok(Gate { hosts: Hosts::new(http, bound), access: Arc::new(access), origins })
    }

    fn check(&self, request: &mut Request) -> Result<(), Problem> {
        self.hosts.check(request)?;
        self.check_origin(request.method(), request.headers())?;
        let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
        let asked = (request.method(), request.uri().path());
        let caller = self.access.check(asked, request.headers(), peer)?;
        request.extensions_mut().insert(caller);
        Ok(())
    }

    /// What changes something must not come from a page of a site that is not let in. Browsers say where a page is
    /// from; other clients do not, and need not.
    fn check_origin(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        if method.is_safe() {
            return Ok(());
        }
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
        let (site, origin) = (text("sec-fetch-site"), text("origin"));
        let is_let_in =
            origin.is_some_and(|origin| self.origins.iter().any(|known| known == origin || known == "*"));
        let is_own = match (site, origin) {
            (Some(site), _) => matches!(site, "same-origin" | "none"),
            (None, Some(origin)) => text("host").is_some_and(|host| origin == self.hosts.origin_of(host)),
            (None, None) => return Ok(()),
        };
        if !is_own && !is_let_in {
            return Err(forbidden(
                "http.cross_origin",
                "a page of another site may not change anything here",
                "[http.cors] lets in pages of origins it names",
            ));
        }
        if !NOT_SIMPLE.iter().any(|name| headers.contains_key(*name)) {
            return Err(forbidden(
                "http.simple_request",
                "a page that changes something must show that it is no plain form",
                "send the header api-key, or x-requested-with with any value",
            ));
        }
        Ok(())
    }
}

/// Refuses what must not get in; the others get their body read and their caller named.
pub(crate) async fn guard(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    if let Err(problem) = gate.check(&mut request) {
        return problem.into_response();
    }
    match read_body(request).await {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn forbidden(code: &'static str, detail: &str, hint: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, code, detail).with_hint(hint)
}

/// Takes the body off the wire, bounded in size and time, so that handlers never wait for a slow client.
async fn read_body(request: Request) -> Result<Request, Problem> {
    let (parts, body) = request.into_parts();
    let bytes_max = bodies::bytes_max(&parts.method, parts.uri.path());
    let too_large = || {
        let detail = format!("the body is larger than {bytes_max} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "http.body_too_large", detail)
            .with_hint("send less; a definition or a state of that size is mostly another file")
    };
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large());
    }
    if !body.is_end_stream() {
        check_type(&parts.headers)?;
    }
    match tokio::time::timeout(BODY_WITHIN, to_bytes(body, bytes_max)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Ok(Err(_too_large_or_cut)) => Err(too_large()),
        Err(_elapsed) => {
            let detail = format!("the body took longer than {} s", BODY_WITHIN.as_secs());
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "http.body_too_slow", detail)
                .with_hint("send head and body at once"))
        }
    }
}

/// A body must say what it is, and not what a plain form of any page could send.
fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = text.and_then(|text| text.split(';').next()).map(|kind| kind.trim().to_ascii_lowercase());
    match kind {
        Some(kind) if !kind.is_empty() && !SIMPLE_TYPES.contains(&kind.as_str()) => Ok(()),
        Some(_) | None => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "http.content_type",
            "a body needs a content type that no plain form can send",
        )
        .with_hint("send content-type: application/json")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(cors: Option<pico_config::Cors>) -> Gate {
        let http = Http { cors, ..Http::default() };
        Gate::new(&http, SocketAddr::from(([127, 0, 0, 1], 8081))).unwrap()
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_form_on_another_site_cannot_stop_a_source_but_curl_can_b131() {
        let gate = gate(None);
        let check = |pairs: &[_]| gate.check_origin(&Method::POST, &headers(pairs)).is_ok();
        assert!(check(&[("host", "localhost:8081")]));
        let asked = ("x-requested-with", "console");
        assert!(check(&[("host", "localhost:8081"), ("origin", "http://localhost:8081"), asked]));
        assert!(check(&[("host", "localhost:8081"), ("sec-fetch-site", "same-origin"), asked]));
        assert!(!check(&[("host", "localhost:8081"), ("sec-fetch-site", "same-origin")]), "a plain form");
        assert!(!check(&[("host", "localhost:8081"), ("origin", "https://localhost:8081"), asked]));
        for other in [("origin", "https://example.com"), ("origin", "null"), ("sec-fetch-site", "cross-site")]
        {
            assert!(!check(&[("host", "localhost:8081"), other, asked]), "{other:?}");
        }
        assert!(!check(&[("host", "localhost:8081"), ("sec-fetch-site", "same-site"), asked]));
    }

    #[test]
    fn a_page_of_an_origin_that_is_let_in_may_change_something() {
        let cors = pico_config::Cors {
            allowed_origins: vec!["https://example.org".to_owned()],
            allowed_methods: vec!["POST".to_owned()],
            allowed_headers: vec!["api-key".to_owned()],
            exposed_headers: Vec::new(),
            allow_credentials: false,
            allow_private_network: false,
        };
        let gate = gate(Some(cors));
        let check = |origin| {
            let sent = [("origin", origin), ("sec-fetch-site", "cross-site"), ("api-key", "k")];
            gate.check_origin(&Method::POST, &headers(&sent)).is_ok()
        };
        assert!(check("https://example.org"));
        assert!(!check("https://example.org.evil.example"));
    }

    #[test]
    fn a_body_that_a_form_could_send_is_refused() {
        for good in ["application/json", "Application/JSON; charset=utf-8", "application/toml"] {
            assert!(check_type(&headers(&[("content-type", good)])).is_ok(), "{good}");
        }
        for bad in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
        {
            assert!(check_type(&headers(&[("content-type", bad)])).is_err(), "{bad}");
        }
        assert!(check_type(&HeaderMap::new()).is_err());
    }
}
