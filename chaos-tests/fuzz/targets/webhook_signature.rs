//! Heads of any content: signatures are judged without a panic, and never good without the secret.
#![no_main]

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use picomq_connector_http_source::Secret;
use picomq_connector_http_source::auth::{Credentials, Family, Keys, Request};

const FAMILIES: [Family; 8] = [
    Family::Bearer,
    Family::HmacSha256,
    Family::HmacSha1,
    Family::Github,
    Family::Stripe,
    Family::Slack,
    Family::Shopify,
    Family::StandardWebhooks,
];

const NAMES: [&str; 10] = [
    "authorization",
    "x-hub-signature-256",
    "x-github-delivery",
    "stripe-signature",
    "x-slack-signature",
    "x-slack-request-timestamp",
    "x-shopify-hmac-sha256",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((which, rest)) = bytes.split_first() else { return };
    let family = FAMILIES[usize::from(*which) % FAMILIES.len()];
    let (mut headers, mut pieces) = (HeaderMap::new(), rest.split(|byte| *byte == b'\n'));
    let body = pieces.next().unwrap_or_default();
    for (place, piece) in pieces.enumerate() {
        if let Ok(value) = HeaderValue::from_bytes(piece) {
            headers.append(HeaderName::from_static(NAMES[place % NAMES.len()]), value);
        }
    }
    let secret = Secret::new("whsec_c2VjcmV0LW9mLWEtcm90YXRlZC1lbmRwb2ludA==");
    let keys = Keys::new(family, &[secret]).expect("a good secret");
    let credentials = Credentials::new(family, keys, Duration::from_secs(300));
    let request = Request { headers: &headers, body, now_s: 1_700_000_000 };
    assert!(credentials.check(&request).is_err(), "{family} took {headers:?}");
});
