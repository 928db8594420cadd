//! The families: where each keeps its signature, and what it signs.

use std::fmt;

use hyper::HeaderMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Refused;
use super::encoding::{from_base64, from_hex};

/// How a path is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Not at all. Refused when the listener is reached from beyond this machine.
    None,
    /// `Authorization: Bearer TOKEN`.
    Bearer,
    /// HMAC-SHA-256 of the body, in hexadecimal, in a header of your choice.
    HmacSha256,
    /// HMAC-SHA-1 of the body, likewise; for senders that know nothing better.
    HmacSha1,
    /// GitHub: `X-Hub-Signature-256`.
    Github,
    /// Stripe: `Stripe-Signature`, with a timestamp.
    Stripe,
    /// Slack: `X-Slack-Signature`, with a timestamp.
    Slack,
    /// Shopify: `X-Shopify-Hmac-Sha256`.
    Shopify,
    /// Standard Webhooks: `webhook-signature`, with id and timestamp.
    StandardWebhooks,
}

impl fmt::Display for Family {
    /// As it is written in a definition.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Family::None => "none",
            Family::Bearer => "bearer",
            Family::HmacSha256 => "hmac-sha256",
            Family::HmacSha1 => "hmac-sha1",
            Family::Github => "github",
            Family::Stripe => "stripe",
            Family::Slack => "slack",
            Family::Shopify => "shopify",
            Family::StandardWebhooks => "standard-webhooks",
        })
    }
}

/// What a request claims: signatures of which one must be right, and what they should be of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) signatures: Vec<Vec<u8>>,
    /// Stands before the body in what is signed.
    pub(super) prefix: Vec<u8>,
    pub(super) signed_at_s: Option<i64>,
    pub(super) delivery_id: Option<String>,
}

/// Signatures of one request that are tried at most: two live secrets on each side make four.
const SIGNATURES_MAX: usize = 8;

impl Family {
    /// Whether the sender's clock is part of what is signed, so that an old request can be told from a new one.
    pub fn signs_time(self) -> bool {
        matches!(self, Family::Stripe | Family::Slack | Family::StandardWebhooks)
    }

    /// The field of a JSON body that names the delivery, where no header does.
    pub fn id_in_body(self) -> Option<&'static str> {
        match self {
            Family::Stripe => Some("id"),
            Family::Slack => Some("event_id"),
            Family::None
            | Family::Bearer
            | Family::HmacSha256
            | Family::HmacSha1
            | Family::Github
            | Family::Shopify
            | Family::StandardWebhooks => None,
        }
    }

    /// Whether there is a secret at all.
    pub fn has_secret(self) -> bool {
        self != Family::None
    }
}

/// The signature of `header` after `prefix`, in hexadecimal.
pub(super) fn plain(headers: &HeaderMap, header: &str, prefix: &str) -> Result<Claim, Refused> {
    let text = one(headers, header)?.strip_prefix(prefix).ok_or(Refused::Malformed)?;
    let signature = from_hex(text).ok_or(Refused::Malformed)?;
    Ok(Claim { signatures: vec![signature], prefix: Vec::new(), signed_at_s: None, delivery_id: None })
}

/// GitHub's, whose delivery id stands in a header that is not signed.
pub(super) fn github(headers: &HeaderMap) -> Result<Claim, Refused> {
    let claim = plain(headers, "x-hub-signature-256", "sha256=")?;
    Ok(Claim { delivery_id: text(headers, "x-github-delivery"), ..claim })
}

/// Shopify's, in base64.
pub(super) fn shopify(headers: &HeaderMap) -> Result<Claim, Refused> {
    let signature = from_base64(one(headers, "x-shopify-hmac-sha256")?).ok_or(Refused::Malformed)?;
    let delivery_id = text(headers, "x-shopify-webhook-id");
    Ok(Claim { signatures: vec![signature], prefix: Vec::new(), signed_at_s: None, delivery_id })
}

/// Stripe's `t=…,v1=…,v1=…`: one `v1` for each secret that is live at Stripe; other schemes are passed over.
pub(super) fn stripe(headers: &HeaderMap) -> Result<Claim, Refused> {
    let (mut time, mut signatures) = (None, Vec::new());
    for part in one(headers, "stripe-signature")?.split(',') {
        match part.trim().split_once('=') {
            Some(("t", value)) => time = Some(value),
            Some(("v1", value)) => signatures.extend(from_hex(value)),
            Some(_) | None => {}
        }
    }
    let time = time.ok_or(Refused::Malformed)?;
    timed(signatures, time, format!("{time}."))
}

/// Slack's `v0=…` over `v0:time:body`.
pub(super) fn slack(headers: &HeaderMap) -> Result<Claim, Refused> {
    let text = one(headers, "x-slack-signature")?.strip_prefix("v0=").ok_or(Refused::Malformed)?;
    let signatures = from_hex(text).into_iter().collect();
    let time = one(headers, "x-slack-request-timestamp")?;
    timed(signatures, time, format!("v0:{time}:"))
}

/// Standard Webhooks' `v1,… v1,…` over `id.time.body`; the headers may also have Svix' older names.
pub(super) fn standard(headers: &HeaderMap) -> Result<Claim, Refused> {
    let named = |name: &str| match one(headers, &format!("webhook-{name}")) {
        Err(Refused::Missing) => one(headers, &format!("svix-{name}")),
        other => other,
    };
    let (id, time) = (named("id")?, named("timestamp")?);
    let entries = named("signature")?.split(' ').filter_map(|entry| entry.strip_prefix("v1,"));
    let signatures = entries.filter_map(from_base64).collect();
    let claim = timed(signatures, time, format!("{id}.{time}."))?;
    Ok(Claim { delivery_id: Some(id.to_owned()), ..claim })
}

fn timed(signatures: Vec<Vec<u8>>, time: &str, prefix: String) -> Result<Claim, Refused> {
    let is_number = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
    let signed_at_s = time.parse().ok().filter(|_| is_number).ok_or(Refused::Malformed)?;
    if signatures.is_empty() || signatures.len() > SIGNATURES_MAX {
        return Err(Refused::Malformed);
    }
    Ok(Claim { signatures, prefix: prefix.into_bytes(), signed_at_s: Some(signed_at_s), delivery_id: None })
}

/// The one value of a header. Two of a name are refused: which of them a proxy had looked at nobody can know.
pub(super) fn one<'a>(headers: &'a HeaderMap, name: &str) -> Result<&'a str, Refused> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or(Refused::Missing)?;
    if values.next().is_some() {
        return Err(Refused::Malformed);
    }
    let text = value.to_str().map_err(|_| Refused::Malformed)?;
    if text.is_empty() { Err(Refused::Missing) } else { Ok(text) }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    one(headers, name).ok().map(str::to_owned)
}
