//! Who may talk to the API while there are no keys: this machine, and no web page that a browser here has open.
//!
//! The listener takes loopback addresses only. A page of somebody else reaches those too, through the browser: by a
//! name that resolves to 127.0.0.1 (caught by the Host check) or by a plain form (caught by the origin check).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::problem::Problem;

/// No route takes a document yet, and a command takes an empty one.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// How long a client may take to send its body.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// Refuses what did not come from here, before any handler sees it.
pub(crate) async fn guard(State(bound): State<SocketAddr>, request: Request, next: Next) -> Response {
    let checked =
        check_host(&request, bound).and_then(|()| check_origin(request.method(), request.headers()));
    if let Err(problem) = checked {
        return problem.into_response();
    }
    match read_body(request).await {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// The Host must be a name of this machine's loopback or the address we listen on.
fn check_host(request: &Request, bound: SocketAddr) -> Result<(), Problem> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (host, more) = (hosts.next(), hosts.next());
    let host = match (host, more, request.uri().host()) {
        (Some(host), None, _) => host.to_str().ok(),
        // No browser speaks 1.0, but simple probes do.
        (None, None, None) if request.version() == Version::HTTP_10 => return Ok(()),
        (None, None, host) => host,
        (None, Some(_), _) | (Some(_), Some(_), _) => None,
    };
    match host {
        Some(host) if is_own_name(host, bound) => Ok(()),
        Some(_) | None => Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "http.host_refused",
            "the Host header names another machine, or none",
        )
        .with_hint(format!("ask for http://{bound}"))),
    }
}

fn is_own_name(host: &str, bound: SocketAddr) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    match name.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || address == bound.ip(),
        Err(_not_an_address) => name.eq_ignore_ascii_case("localhost"),
    }
}

/// What changes something must not come from a page of another site. Browsers say where a page is from; other
/// clients do not, and need not.
fn check_origin(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
    let is_own = match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => text("host").is_some_and(|host| origin == format!("http://{host}")),
        (None, None) => true,
    };
    if is_own {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "http.cross_origin",
        "a page of another site may not change anything here",
    ))
}

/// Takes the body off the wire, bounded in size and time, so that handlers never wait for a slow client.
async fn read_body(request: Request) -> Result<Request, Problem> {
    let (parts, body) = request.into_parts();
    let too_large = || {
        let detail = format!("the body is larger than {BODY_BYTES_MAX} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "http.body_too_large", detail)
    };
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_WITHIN, to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Ok(Err(_too_large_or_cut)) => Err(too_large()),
        Err(_elapsed) => {
            let detail = format!("the body took longer than {} s", BODY_WITHIN.as_secs());
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "http.body_too_slow", detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8081);

    #[test]
    fn names_of_this_machine_are_let_in_and_names_that_resolve_to_it_are_not() {
        for own in ["127.0.0.1:8081", "localhost", "LOCALHOST:9", "[::1]:8081", "127.8.8.8"] {
            assert!(is_own_name(own, BOUND), "{own}");
        }
        for foreign in
            ["rebound.example:8081", "localhost.example", "10.0.0.1", "", "127.0.0.1.example", "[::2]"]
        {
            assert!(!is_own_name(foreign, BOUND), "{foreign}");
        }
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_form_on_another_site_cannot_stop_a_source_but_curl_can() {
        let check = |pairs: &[_]| check_origin(&Method::POST, &headers(pairs)).is_ok();
        assert!(check(&[("host", "localhost:8081")]));
        assert!(check(&[("host", "localhost:8081"), ("origin", "http://localhost:8081")]));
        assert!(check(&[("host", "localhost:8081"), ("sec-fetch-site", "same-origin")]));
        assert!(!check(&[("host", "localhost:8081"), ("origin", "https://example.com")]));
        assert!(!check(&[("host", "localhost:8081"), ("origin", "null")]));
        assert!(!check(&[("host", "localhost:8081"), ("sec-fetch-site", "cross-site")]));
        assert!(!check(&[("host", "localhost:8081"), ("sec-fetch-site", "same-site")]));
    }
}
