//! How the engine asks a server: as the SDK's client for plugins does, and only where a URL of its origin may lead.

use std::net::IpAddr;
use std::time::Duration;

use pico_config::UrlOrigin;
use picomq_connector_sdk::http::outbound;
pub use picomq_connector_sdk::http::outbound::{install_cryptography, read_at_most, reason};
use reqwest::ClientBuilder;

use crate::reach::{Resolver, refusal};

/// A client whose every request ends within `timeout`, and leads only where a URL of this origin may. `is_tls`: whether
/// its URL is https. No redirects, no proxy of the environment, no retries.
pub fn client(timeout: Duration, is_tls: bool, origin: UrlOrigin) -> ClientBuilder {
    outbound::client(timeout, is_tls).dns_resolver(Resolver(origin))
}

/// Why an address that a URL of this origin writes outright is not connected to, as the end of a sentence. Names are
/// looked at when the [`client`] resolves them.
pub fn refused_address(origin: UrlOrigin, address: IpAddr) -> Option<&'static str> {
    refusal(origin, address)
}
