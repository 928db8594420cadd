//! Keys and what they open.

use std::net::IpAddr;
use std::time::Instant;

use axum::http::{HeaderMap, Method, StatusCode, header};
use pico_config::{ApiKey, Role};
use ring::{hmac, rand};

use super::failures::Failures;
use super::problem::Problem;
use crate::client::KEY_HEADER;

/// Paths that need no key: what probes ask, and which program this is.
const OPEN_PATHS: [&str; 2] = ["/", "/health"];

/// Who may do what. Holds no key, only what recognises one.
pub(crate) struct Access {
    /// Of this process alone, so that what is stored is worth nothing elsewhere.
    hasher: hmac::Key,
    known: Vec<Known>,
    failures: Failures,
}

struct Known {
    name: String,
    role: Role,
    tag: hmac::Tag,
}

/// Who asks; an extension of every request that reaches a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// There are no keys, and this machine asks.
    Local,
    /// Nobody we know, at a path that is open.
    Stranger,
    /// The holder of this key.
    Holder {
        /// Of the key.
        name: String,
        /// What it opens.
        role: Role,
    },
}

impl Caller {
    /// Whether this one may see what is not for everybody.
    pub(crate) fn is_known(&self) -> bool {
        match self {
            Caller::Local | Caller::Holder { .. } => true,
            Caller::Stranger => false,
        }
    }

    /// Whether this one may do everything.
    pub(crate) fn is_admin(&self) -> bool {
        match self {
            Caller::Local | Caller::Holder { role: Role::Admin, .. } => true,
            Caller::Stranger | Caller::Holder { role: Role::Read, .. } => false,
        }
    }
}

impl Access {
    /// For these keys; none: everybody who gets here may do everything.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new(keys: &[ApiKey]) -> Result<Access, ring::error::Unspecified> {
        let hasher = hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new())?;
        let known = keys.iter().map(|key| Known {
            name: key.name.clone(),
            role: key.role,
            tag: hmac::sign(&hasher, key.key.expose().as_bytes()),
        });
        Ok(Access { known: known.collect(), hasher, failures: Failures::default() })
    }

    /// Lets a request through, or says what is missing. `peer` is `None` where there is no connection (tests).
    pub(crate) fn check(
        &self,
        (method, path): (&Method, &str),
        headers: &HeaderMap,
        peer: Option<IpAddr>,
    ) -> Result<Caller, Problem> {
        if self.known.is_empty() {
            return Ok(Caller::Local);
        }
        let is_open = OPEN_PATHS.contains(&path) && method.is_safe();
        let Some(given) = given(headers) else {
            return if is_open { Ok(Caller::Stranger) } else { Err(no_key()) };
        };
        let now = Instant::now();
        if let Some(wait) = peer.and_then(|peer| self.failures.wait(peer, now)) {
            return Err(too_many(wait.as_secs() + 1));
        }
        match self.recognised(given) {
            Some(known) => known.may(method),
            None => {
                if let Some(peer) = peer {
                    self.failures.count(peer, now);
                    // Few: past the burst this is not reached.
                    tracing::warn!(%peer, path, "a wrong API key");
                }
                Err(unauthorized("http.wrong_key", "the API key is not one of this daemon"))
            }
        }
    }

    /// Looks at every key, each in constant time, so that the time tells nothing.
    fn recognised(&self, given: &[u8]) -> Option<&Known> {
        let fits = |known: &&Known| hmac::verify(&self.hasher, given, known.tag.as_ref()).is_ok();
        self.known.iter().filter(fits).fold(None, |found, known| found.or(Some(known)))
    }
}

impl Known {
    fn may(&self, method: &Method) -> Result<Caller, Problem> {
        if self.role == Role::Read && !matches!(*method, Method::GET | Method::HEAD) {
            return Err(read_only(&self.name));
        }
        Ok(Caller::Holder { name: self.name.clone(), role: self.role })
    }
}

/// The key that came along, from the one header or the other; two of a kind are none.
fn given(headers: &HeaderMap) -> Option<&[u8]> {
    let only = |name| {
        let mut values = headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none())
    };
    if let Some(key) = only(header::HeaderName::from_static(KEY_HEADER)) {
        return Some(key.as_bytes());
    }
    let value = only(header::AUTHORIZATION)?.as_bytes();
    let (scheme, key) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| key.trim_ascii())
}

fn no_key() -> Problem {
    unauthorized("http.no_key", "this path needs an API key")
}

fn unauthorized(code: &'static str, detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, code, detail)
        .with_hint(
            "send a key of [http] api_key or api_keys in the header api-key, or as Authorization: Bearer",
        )
        .with_header(header::WWW_AUTHENTICATE, "Bearer realm=\"pico-connectors\"")
}

/// The key may read only, and this is more.
pub(crate) fn read_only(name: &str) -> Problem {
    let detail = format!("the key {name:?} may read only");
    Problem::new(StatusCode::FORBIDDEN, "http.read_only_key", detail)
        .with_hint("use a key with role = \"admin\"")
}

fn too_many(seconds: u64) -> Problem {
    let detail = format!("too many wrong API keys from this address; it may try again in {seconds} s");
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "http.too_many_failures", detail)
        .with_header(header::RETRY_AFTER, &seconds.to_string())
        .with_hint("look which program here sends a key that is not in force")
}

#[cfg(test)]
mod tests {
    use pico_config::Secret;

    use super::*;

    fn access() -> Access {
        let key = |name: &str, role| ApiKey {
            name: name.to_owned(),
            key: Secret::new(format!("key-of-{name}")),
            role,
        };
        Access::new(&[key("old", Role::Admin), key("new", Role::Admin), key("eyes", Role::Read)]).unwrap()
    }

    fn code(outcome: Result<Caller, Problem>) -> Result<Caller, (u16, &'static str)> {
        outcome.map_err(|problem| (problem.status(), problem.code()))
    }

    fn ask(
        access: &Access,
        method: Method,
        path: &str,
        header: (&str, &str),
    ) -> Result<Caller, (u16, &'static str)> {
        let mut headers = HeaderMap::new();
        if !header.0.is_empty() {
            headers.insert(
                axum::http::HeaderName::from_bytes(header.0.as_bytes()).unwrap(),
                header.1.parse().unwrap(),
            );
        }
        code(access.check((&method, path), &headers, "10.0.0.1".parse().ok()))
    }

    #[test]
    fn missing_wrong_right_b131() {
        let access = access();
        let ask = |header| ask(&access, Method::GET, "/sources", header);
        let none = Err((401, "http.no_key"));
        let wrong = Err((401, "http.wrong_key"));
        assert_eq!(ask(("", "")), none);
        assert_eq!(ask(("authorization", "Basic key-of-old")), none);
        assert_eq!(ask(("authorization", "B")), none);
        for bad in ["", "key-of-ol", "key-of-oldd", "KEY-OF-OLD", "key-of-"] {
            assert_eq!(ask(("api-key", bad)), wrong, "{bad}");
        }
        for (header, value, name) in [
            ("api-key", "key-of-old", "old"),
            ("api-key", "key-of-new", "new"),
            ("authorization", "Bearer key-of-old", "old"),
            ("authorization", "bearer key-of-new", "new"),
        ] {
            let holder = Caller::Holder { name: name.to_owned(), role: Role::Admin };
            assert_eq!(ask((header, value)), Ok(holder), "{header}: {value}");
        }
    }

    #[test]
    fn a_read_key_opens_no_method_that_changes_something() {
        let access = access();
        let key = ("api-key", "key-of-eyes");
        assert!(ask(&access, Method::GET, "/sources", key).is_ok_and(|caller| !caller.is_admin()));
        assert!(ask(&access, Method::HEAD, "/sources", key).is_ok());
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            assert_eq!(ask(&access, method, "/sources", key), Err((403, "http.read_only_key")));
        }
    }

    #[test]
    fn only_health_and_the_banner_are_open_and_only_for_reading() {
        let access = access();
        for path in ["/", "/health"] {
            assert_eq!(ask(&access, Method::GET, path, ("", "")), Ok(Caller::Stranger));
            assert_eq!(ask(&access, Method::POST, path, ("", "")), Err((401, "http.no_key")));
        }
        for path in ["/ready", "/metrics", "/openapi.json", "/health/", "//health", "/events"] {
            assert_eq!(ask(&access, Method::GET, path, ("", "")), Err((401, "http.no_key")), "{path}");
        }
    }

    #[test]
    fn after_ten_wrong_keys_even_the_right_one_waits() {
        let access = access();
        let ask = |key| ask(&access, Method::GET, "/sources", ("api-key", key));
        for _ in 0..10 {
            assert_eq!(ask("guess"), Err((401, "http.wrong_key")));
        }
        assert_eq!(ask("guess"), Err((429, "http.too_many_failures")));
        assert_eq!(ask("key-of-old"), Err((429, "http.too_many_failures")));
        let elsewhere = code(access.check(
            (&Method::GET, "/sources"),
            &HeaderMap::from_iter([(
                axum::http::HeaderName::from_static("api-key"),
                "key-of-old".parse().unwrap(),
            )]),
            "10.0.0.2".parse().ok(),
        ));
        assert!(elsewhere.is_ok());
    }
}
