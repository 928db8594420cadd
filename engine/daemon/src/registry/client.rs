//! One request to a registry.

use std::net::IpAddr;

use pico_config::{RegistryLogin, SchemaRegistry, UrlOrigin};
use pico_state::outbound::{self, reason};
use reqwest::header::{self, HeaderValue};
use reqwest::{Certificate, RequestBuilder};
use url::{Host, Url};

use super::answer::{Refusal, Wanted};

/// The media type of the registry's API.
const MEDIA: HeaderValue = HeaderValue::from_static("application/vnd.schemaregistry.v1+json");
const ACCEPTED: &str = "application/vnd.schemaregistry.v1+json, application/json";
/// Largest answer: it holds the schema again.
const ANSWER_BYTES_MAX: usize = 16 << 20;

pub(super) struct Client<'a> {
    inner: reqwest::Client,
    url: Url,
    registry: &'a SchemaRegistry,
}

impl Client<'_> {
    pub(super) fn new(registry: &SchemaRegistry) -> Result<Client<'_>, Refusal> {
        let url = Url::parse(&registry.url)
            .map_err(|error| Refusal::definite(format!("the url cannot be used: {error}")))?;
        if let Some(why) = refused(&url, registry.origin) {
            return Err(Refusal::definite(why));
        }
        let mut builder = outbound::client(registry.timeout, url.scheme() == "https", registry.origin);
        if let Some(pem) = &registry.ca_pem {
            let authorities = Certificate::from_pem_bundle(pem).map_err(|error| {
                Refusal::definite(format!("tls.ca_file holds no certificate in PEM: {}", reason(error)))
            })?;
            builder = builder.tls_certs_only(authorities);
        }
        let inner = builder.build().map_err(|error| Refusal::definite(reason(error)))?;
        Ok(Client { inner, url, registry })
    }

    /// The id that is wanted.
    pub(super) async fn ask(&self, wanted: &Wanted) -> Result<u32, Refusal> {
        let request = self.request(wanted)?;
        let passing = |error: reqwest::Error| {
            let is_late = error.is_timeout();
            let waited = format!("no answer within {:?}", self.registry.timeout);
            Refusal::passing(if is_late { waited } else { reason(error) })
        };
        let mut response = request.send().await.map_err(passing)?;
        let status = response.status().as_u16();
        match outbound::read_at_most(&mut response, ANSWER_BYTES_MAX).await.map_err(passing)? {
            Some(body) => wanted.id(status, &body),
            None => {
                Err(Refusal::definite(format!("status {status} with more than {ANSWER_BYTES_MAX} bytes")))
            }
        }
    }

    fn request(&self, wanted: &Wanted) -> Result<RequestBuilder, Refusal> {
        let mut url = self.url.clone();
        match url.path_segments_mut() {
            Ok(mut path) => drop(path.pop_if_empty().extend(wanted.path(&self.registry.subject))),
            Err(()) => return Err(Refusal::definite("the url cannot be used: it has no path")),
        }
        let request = match wanted.body() {
            Some(body) => self.inner.post(url).header(header::CONTENT_TYPE, MEDIA).body(body.to_string()),
            None => self.inner.get(url),
        };
        let request = request.header(header::ACCEPT, ACCEPTED);
        Ok(match &self.registry.login {
            RegistryLogin::Nobody => request,
            RegistryLogin::Basic { username, password } => {
                request.basic_auth(username, Some(password.expose()))
            }
            RegistryLogin::Token(token) => request.bearer_auth(token.expose()),
        })
    }
}

/// Why a URL of this origin is not asked, if that can be said before its name is resolved.
fn refused(url: &Url, origin: UrlOrigin) -> Option<String> {
    let fix = "write it into the file in the folder of definitions, or set [limits] private_urls = true";
    if origin == UrlOrigin::Api && url.scheme() != "https" {
        return Some(format!("the url came through the API and is not https; {fix}"));
    }
    let address = match url.host()? {
        Host::Ipv4(address) => IpAddr::V4(address),
        Host::Ipv6(address) => IpAddr::V6(address),
        Host::Domain(_) => return None,
    };
    let why = outbound::refused_address(origin, address)?;
    Some(match origin {
        UrlOrigin::Operator => format!("its address is {why}; nothing of this engine connects there"),
        UrlOrigin::Api => format!("the url came through the API and its address is {why}; {fix}"),
    })
}
