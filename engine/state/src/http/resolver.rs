//! Names to addresses, once a connection: the addresses that pass here are the ones connected to.

use std::net::SocketAddr;

use pico_config::forbidden_address;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Asks the system, and leaves out what no request may reach.
#[derive(Debug)]
pub(super) struct Resolver;

/// Why a name leads nowhere.
#[derive(Debug, thiserror::Error)]
#[error("every address of {host} is {why}; none is connected to")]
struct Forbidden {
    host: String,
    why: &'static str,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port is put in by the caller.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let allowed = allowed(name.as_str(), found)?;
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

fn allowed(host: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Forbidden> {
    let mut why = None;
    let is_allowed = |address: &SocketAddr| match forbidden_address(address.ip()) {
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
        assert!(allowed("rebound.example", both).unwrap_err().to_string().contains("rebound.example"));
        let mixed = addresses(&["169.254.169.254:0", "10.0.0.7:0"]);
        assert_eq!(allowed("mixed.example", mixed).unwrap(), addresses(&["10.0.0.7:0"]));
    }

    #[test]
    fn servers_on_private_addresses_are_reached() {
        let private = addresses(&["127.0.0.1:0", "10.0.0.7:0"]);
        assert_eq!(allowed("inner.example", private.clone()).unwrap(), private);
    }
}
