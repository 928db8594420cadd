//! `[state.http]`: the server that keeps checkpoints, checked.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use url::{Host, Url};

use crate::forbidden_address::forbidden_address;
use crate::key::SourceKey;
use crate::secret::Secret;

/// Where checkpoints are kept and how they are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpState {
    /// What the resources of the sources lie under.
    pub url: StateUrl,
    /// Method that loads (get).
    pub load_method: LoadMethod,
    /// Method that saves (put).
    pub save_method: SaveMethod,
    /// Per request, from the first byte of the connection to the last of the answer (5 s).
    pub timeout: Duration,
    /// Sent with every request; names in lower case.
    pub request_headers: Vec<(String, Secret)>,
    /// What happens after a request that may be tried again.
    pub retry: StateRetry,
}

/// What loads a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are HTTP's words")]
pub enum LoadMethod {
    Get,
    Post,
}

/// What saves a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are HTTP's words")]
pub enum SaveMethod {
    Put,
    Post,
    Patch,
}

/// `[state.http.retry]`. No jitter: one engine asks for one resource at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateRetry {
    /// Attempts after the first one; 0 when retries are switched off (4).
    pub retries_max: u32,
    /// Wait before the first retry (200 ms).
    pub initial_backoff: Duration,
    /// Longest wait between two attempts, also when the server asks for a longer one (2 s).
    pub max_backoff: Duration,
    /// Growth of the wait (2).
    pub backoff_multiplier: u32,
}

impl Default for StateRetry {
    fn default() -> StateRetry {
        StateRetry {
            retries_max: 4,
            initial_backoff: Duration::from_millis(200),
            max_backoff: Duration::from_secs(2),
            backoff_multiplier: 2,
        }
    }
}

/// The base URL of a state server. Path and query may hold a token, so nothing but the origin is ever shown.
#[derive(Clone, PartialEq, Eq)]
pub struct StateUrl(Url);

impl StateUrl {
    /// Reads `text`.
    ///
    /// # Errors
    /// What is wrong with it and what would be right, without showing it: no URL, not http or https, a user or a
    /// password, a fragment, an address that no server has.
    pub fn parse(text: &str) -> Result<StateUrl, String> {
        let url = Url::parse(text).map_err(|error| format!("is no URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("must begin with http:// or https://".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("holds a user; send credentials as a header in request_headers".to_owned());
        }
        if url.fragment().is_some() {
            return Err("holds a fragment (`#…`), which is never sent; leave it out".to_owned());
        }
        let address = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(_)) | None => None,
        };
        match address.and_then(forbidden_address) {
            Some(why) => Err(format!("names an address that is {why}; name the server's own address")),
            None => Ok(StateUrl(url)),
        }
    }

    /// Scheme, host and port: what may be shown to people.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// Whether TLS is spoken.
    pub fn is_tls(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// `{url}/source_{key}`, the query kept. Not to be shown.
    pub fn resource(&self, key: &SourceKey) -> Secret {
        let mut url = self.0.clone();
        let path = format!("{}/source_{}", url.path().trim_end_matches('/'), key.as_str());
        url.set_path(&path);
        Secret::new(url.into())
    }
}

impl fmt::Debug for StateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/[REDACTED]", self.origin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(url: &str) -> String {
        StateUrl::parse(url).unwrap().resource(&"orders.eu".parse().unwrap()).expose().to_owned()
    }

    #[test]
    fn a_source_lies_below_the_url_and_the_query_is_kept() {
        assert_eq!(resource("http://h:9"), "http://h:9/source_orders.eu");
        assert_eq!(resource("https://h/a/b/?sig=x%2Fy"), "https://h/a/b/source_orders.eu?sig=x%2Fy");
    }

    #[test]
    fn nothing_but_the_origin_is_shown() {
        let url = StateUrl::parse("https://h:9/hunter2/?token=hunter2").unwrap();
        assert_eq!(url.origin(), "https://h:9");
        assert!(!format!("{url:?}").contains("hunter2"));
    }

    #[test]
    fn other_schemes_users_fragments_and_addresses_of_nobody_are_refused_without_being_shown() {
        for bad in
            ["hunter2", "ftp://hunter2/", "http://hunter2@h/", "http://u:hunter2@h/", "http://h/#hunter2"]
        {
            let reason = StateUrl::parse(bad).unwrap_err();
            assert!(!reason.contains("hunter2"), "{bad}: {reason}");
        }
        // The last two are other notations of the first.
        for host in ["169.254.169.254", "[fe80::1]", "2852039166", "[::ffff:169.254.169.254]"] {
            let reason = StateUrl::parse(&format!("http://{host}/hunter2")).unwrap_err();
            assert!(reason.contains("link-local") && !reason.contains("hunter2"), "{host}: {reason}");
        }
    }
}
