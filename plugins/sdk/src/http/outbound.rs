//! What [`Client`](super::Client) and the engine's own requests (state store, schema registries) have in common: no
//! redirects, no proxy of the environment, no retries below one's own, a limit for all they take, and nothing of a URL
//! in an error. A plugin uses `Client`.

use std::sync::Once;
use std::time::Duration;

use reqwest::{ClientBuilder, Response};

/// A client whose every request ends within `timeout`. `is_tls`: whether its URL is https.
pub fn client(timeout: Duration, is_tls: bool) -> ClientBuilder {
    install_cryptography();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("pico-connectors/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .timeout(timeout)
        .connect_timeout(timeout);
    // Without TLS a machine that has no certificates can run this.
    if is_tls { builder } else { builder.tls_certs_only([]) }
}

/// The body, or None when it is longer than `limit` bytes.
///
/// # Errors
/// The body breaks off.
pub async fn read_at_most(response: &mut Response, limit: usize) -> Result<Option<Vec<u8>>, reqwest::Error> {
    if response.content_length().is_some_and(|bytes| bytes > limit as u64) {
        return Ok(None);
    }
    let mut whole = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if whole.len() + chunk.len() > limit {
            return Ok(None);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(Some(whole))
}

/// The error and what lies below it, without the URL.
pub fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut next = std::error::Error::source(&error);
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// The process's TLS uses ring, for whatever builds a client without naming a provider.
pub fn install_cryptography() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // An error says that another part of the process was first, which is as good.
        rustls::crypto::ring::default_provider().install_default().ok();
    });
}
