//! Where a request may lead. Names become addresses once a connection: the addresses that pass here are the ones
//! connected to.

use std::net::{IpAddr, SocketAddr};

use pico_config::{UrlOrigin, forbidden_address, private_address};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Why an address is not connected to for a URL of this origin, as the end of a sentence.
pub(crate) fn refusal(origin: UrlOrigin, address: IpAddr) -> Option<&'static str> {
    let forbidden = forbidden_address(address);
    match origin {
        UrlOrigin::Operator => forbidden,
        UrlOrigin::Api => forbidden.or_else(|| private_address(address)),
    }
}

/// Asks the system, and leaves out what a URL of this origin may not reach.
#[derive(Debug)]
pub(crate) struct Resolver(pub(crate) UrlOrigin);

/// Why a name leads nowhere.
#[derive(Debug, thiserror::Error)]
#[error("every address of {host} is {why}; none is connected to")]
struct Forbidden {
    host: String,
    why: &'static str,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let origin = self.0;
        Box::pin(async move {
            // The port is put in by the caller.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let allowed = allowed(origin, name.as_str(), found)?;
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

fn allowed(origin: UrlOrigin, host: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Forbidden> {
    let mut why = None;
    let is_allowed = |address: &SocketAddr| match refusal(origin, address.ip()) {
        Some(reason) => {
            why = Some(reason);
            false
        }
        None => true,
    };
    let allowed: Vec<SocketAddr> = found.into_iter().filter(is_allowed).collect();
    match why {
        Some(why) if allowed.is_empty() => Err(Forbidden { host: host.to_owned(), why }),
        Some(_) | None => Ok(allowed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_name_that_leads_to_a_metadata_service_leads_nowhere() {
        let both = addresses(&["169.254.169.254:0", "[fe80::1]:0"]);
        let refused = allowed(UrlOrigin::Operator, "rebound.example", both).unwrap_err();
        assert!(refused.to_string().contains("rebound.example"));
        let mixed = addresses(&["169.254.169.254:0", "10.0.0.7:0"]);
        let left = allowed(UrlOrigin::Operator, "mixed.example", mixed).unwrap();
        assert_eq!(left, addresses(&["10.0.0.7:0"]));
    }

    #[test]
    fn servers_on_private_addresses_are_reached_by_the_operators_urls_alone() {
        let private = addresses(&["127.0.0.1:0", "10.0.0.7:0"]);
        assert_eq!(allowed(UrlOrigin::Operator, "inner.example", private.clone()).unwrap(), private);
        assert!(allowed(UrlOrigin::Api, "inner.example", private).is_err());
        let mixed = addresses(&["192.168.1.1:0", "203.0.113.7:0"]);
        assert_eq!(allowed(UrlOrigin::Api, "x.example", mixed).unwrap(), addresses(&["203.0.113.7:0"]));
    }
}
