//! Under which names we may be asked for. A page of somebody else can give a name of its own our address (DNS
//! rebinding); a browser then says that name in the Host header, and nothing else gives it away.

use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use axum::http::{StatusCode, Version, header};
use pico_config::Http;

use super::problem::Problem;

/// The names that are answered.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    bound: SocketAddr,
    /// Lower case; one that begins with a dot stands for all that end so.
    names: Vec<String>,
    /// With keys nobody needs to guess our address, and an address in place of a name cannot be rebound.
    takes_any_address: bool,
    scheme: &'static str,
}

impl Hosts {
    /// Those of the configuration, for a listener at `bound`.
    pub(crate) fn new(http: &Http, bound: SocketAddr) -> Hosts {
        let mut names = vec!["localhost".to_owned()];
        names.extend(http.address.rsplit_once(':').map(|(host, _)| host.to_ascii_lowercase()));
        if !bound.ip().is_loopback() {
            names.extend(machine_name());
        }
        names.extend(http.allowed_hosts.iter().cloned());
        let scheme = if http.tls.is_some() { "https" } else { "http" };
        Hosts { bound, names, takes_any_address: !http.keys.is_empty(), scheme }
    }

    /// Our own origin as a browser would write it for this Host.
    pub(crate) fn origin_of(&self, host: &str) -> String {
        format!("{}://{host}", self.scheme)
    }

    /// Refuses a request for another name.
    pub(crate) fn check(&self, request: &Request) -> Result<(), Problem> {
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
            Some(host) if self.has(host) => Ok(()),
            Some(_) | None => Err(Problem::new(
                StatusCode::MISDIRECTED_REQUEST,
                "http.host_refused",
                "the Host header names another machine, or none",
            )
            .with_hint(format!(
                "ask for {}, or add the name to [http] allowed_hosts",
                self.origin_of(&self.bound.to_string())
            ))),
        }
    }

    fn has(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let name = name.to_ascii_lowercase();
        if let Ok(address) = name.parse::<IpAddr>()
            && (address.is_loopback() || address == self.bound.ip() || self.takes_any_address)
        {
            return true;
        }
        let is_known = |known: &String| match known.strip_prefix('.') {
            Some(_) => name.ends_with(known.as_str()) && name.len() > known.len(),
            None => name == *known,
        };
        self.names.iter().any(is_known)
    }
}

/// The name other machines of the same network usually know us by.
fn machine_name() -> Option<String> {
    let system = rustix::system::uname();
    let name = system.nodename().to_str().ok()?.to_ascii_lowercase();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8081);

    #[test]
    fn names_of_this_machine_are_let_in_and_names_that_resolve_to_it_are_not() {
        let hosts = Hosts::new(&Http::default(), LOOPBACK);
        for own in ["127.0.0.1:8081", "localhost", "LOCALHOST:9", "[::1]:8081", "127.8.8.8"] {
            assert!(hosts.has(own), "{own}");
        }
        let foreign =
            ["rebound.example:8081", "localhost.example", "10.0.0.1", "", "127.0.0.1.example", "[::2]"];
        for foreign in foreign {
            assert!(!hosts.has(foreign), "{foreign}");
        }
    }

    #[test]
    fn with_keys_addresses_are_let_in_and_names_must_be_listed() {
        let key = pico_config::ApiKey {
            name: "a".to_owned(),
            key: pico_config::Secret::new("k".to_owned()),
            role: pico_config::Role::Read,
        };
        let http = Http {
            address: "connectors.internal:8081".to_owned(),
            keys: vec![key],
            allowed_hosts: vec!["ops.example.org".to_owned(), ".svc.cluster.local".to_owned()],
            ..Http::default()
        };
        let hosts = Hosts::new(&http, SocketAddr::from(([10, 0, 0, 5], 8081)));
        for own in [
            "10.0.0.5:8081",
            "192.168.0.1",
            "connectors.internal",
            "ops.example.org:443",
            "a.svc.cluster.local",
            &machine_name().unwrap(),
        ] {
            assert!(hosts.has(own), "{own}");
        }
        for foreign in ["rebound.example", "example.org", ".svc.cluster.local", "svc.cluster.local"] {
            assert!(!hosts.has(foreign), "{foreign}");
        }
    }
}
