//! One request to a registry.

use pico_config::{RegistryLogin, SchemaRegistry};
use reqwest::header::{self, HeaderValue};
use reqwest::{Certificate, RequestBuilder, Response};
use url::Url;

use super::answer::{Refusal, Wanted};
use crate::error::chain;

/// The media type of the registry's API.
const MEDIA: HeaderValue = HeaderValue::from_static("application/vnd.schemaregistry.v1+json");
const ACCEPTED: &str = "application/vnd.schemaregistry.v1+json, application/json";
/// Largest answer: it holds the schema again.
const ANSWER_BYTES_MAX: usize = 16 << 20;

pub(super) struct Client<'a> {
    inner: reqwest::Client,
    registry: &'a SchemaRegistry,
}

impl Client<'_> {
    /// No redirects, no proxy of the environment, a limit for all it takes.
    pub(super) fn new(registry: &SchemaRegistry) -> Result<Client<'_>, Refusal> {
        install_cryptography();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("pico-connectors/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .timeout(registry.timeout)
            .connect_timeout(registry.timeout);
        if let Some(pem) = &registry.ca_pem {
            let authorities = Certificate::from_pem_bundle(pem).map_err(|error| {
                Refusal::definite(format!("tls.ca_file holds no certificate in PEM: {}", reason(error)))
            })?;
            builder = builder.tls_certs_only(authorities);
        } else if !registry.url.starts_with("https:") {
            // Without TLS a machine that has no certificates can run this.
            builder = builder.tls_certs_only([]);
        }
        let inner = builder.build().map_err(|error| Refusal::definite(reason(error)))?;
        Ok(Client { inner, registry })
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
        match body(&mut response).await.map_err(passing)? {
            Some(body) => wanted.id(status, &body),
            None => {
                Err(Refusal::definite(format!("status {status} with more than {ANSWER_BYTES_MAX} bytes")))
            }
        }
    }

    fn request(&self, wanted: &Wanted) -> Result<RequestBuilder, Refusal> {
        let mut url = Url::parse(&self.registry.url)
            .map_err(|error| Refusal::definite(format!("the url cannot be used: {error}")))?;
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

/// None: it is too large.
async fn body(response: &mut Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut whole = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if whole.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Ok(None);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(Some(whole))
}

/// The error and what lies below it, without the URL.
fn reason(error: reqwest::Error) -> String {
    chain(&error.without_url())
}

/// The process's TLS uses ring; whoever comes first installs it.
fn install_cryptography() {
    // An error says that another part of the process was first, which is as good.
    rustls::crypto::ring::default_provider().install_default().ok();
}
