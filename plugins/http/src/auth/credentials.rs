//! What one path asks of its senders, and the check of a request against it.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use ring::{digest, hmac};
use subtle::ConstantTimeEq;

use super::family::{self, Claim};
use super::{Family, Proof, Refused};
use crate::secret::{Secret, TokenHash};

/// One or two live secrets: during a rotation the old one is good beside the new one.
#[derive(Clone, Debug)]
pub struct Keys {
    hmac: Vec<hmac::Key>,
    tokens: Vec<TokenHash>,
}

/// What one path asks of its senders.
#[derive(Clone, Debug)]
pub struct Credentials {
    family: Family,
    keys: Keys,
    /// For the two plain families: the header, and what stands in it before the digits.
    header: String,
    prefix: String,
    tolerance: Duration,
}

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// All headers.
    pub headers: &'a HeaderMap,
    /// The bytes that came, still compressed if they were.
    pub body: &'a [u8],
    /// In seconds since the Unix epoch.
    pub now_s: i64,
}

impl Keys {
    /// Prepares `secrets` for `family`.
    ///
    /// # Errors
    /// What is wrong with a secret, without showing it.
    pub fn new(family: Family, secrets: &[Secret]) -> Result<Keys, &'static str> {
        let mut keys = Keys { hmac: Vec::new(), tokens: Vec::new() };
        for secret in secrets {
            let text = secret.expose();
            if text.is_empty() {
                return Err("it is empty");
            }
            if text.len() > crate::secret::SECRET_BYTES_MAX {
                return Err("it is longer than 4096 bytes");
            }
            match family {
                Family::None => return Err("there is nothing to use it for"),
                Family::Bearer => keys.tokens.push(TokenHash::of(text.as_bytes())),
                Family::HmacSha1 => {
                    keys.hmac.push(hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()));
                }
                Family::StandardWebhooks => {
                    let bytes = STANDARD
                        .decode(text.strip_prefix("whsec_").unwrap_or(text))
                        .map_err(|_| "it is not base64, with or without `whsec_` before it")?;
                    if bytes.is_empty() {
                        return Err("there is nothing after `whsec_`");
                    }
                    keys.hmac.push(hmac::Key::new(hmac::HMAC_SHA256, &bytes));
                }
                Family::HmacSha256 | Family::Github | Family::Stripe | Family::Slack | Family::Shopify => {
                    keys.hmac.push(hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes()));
                }
            }
        }
        Ok(keys)
    }
}

impl Credentials {
    /// What a path of `family` asks; timestamps may be off by `tolerance` to either side.
    pub fn new(family: Family, keys: Keys, tolerance: Duration) -> Credentials {
        Credentials {
            family,
            keys,
            header: "X-Hub-Signature-256".to_owned(),
            prefix: "sha256=".to_owned(),
            tolerance,
        }
    }

    /// Another header and prefix for the two plain HMAC families.
    #[must_use]
    pub fn in_header(mut self, header: &str, prefix: &str) -> Credentials {
        header.clone_into(&mut self.header);
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// How the path is protected.
    pub fn family(&self) -> Family {
        self.family
    }

    /// What can be told from the head alone: a wrong token needs no body.
    ///
    /// # Errors
    /// Why the post is not taken.
    pub fn check_head(&self, headers: &HeaderMap) -> Result<(), Refused> {
        match self.family {
            Family::None => Ok(()),
            Family::Bearer => self.bearer(headers),
            Family::HmacSha256
            | Family::HmacSha1
            | Family::Github
            | Family::Stripe
            | Family::Slack
            | Family::Shopify
            | Family::StandardWebhooks => self.claim(headers).map(drop),
        }
    }

    /// The whole check.
    ///
    /// # Errors
    /// Why the post is not taken.
    pub fn check(&self, request: &Request<'_>) -> Result<Proof, Refused> {
        match self.family {
            Family::None => Ok(Proof::default()),
            Family::Bearer => self.bearer(request.headers).map(|()| Proof::default()),
            Family::HmacSha256
            | Family::HmacSha1
            | Family::Github
            | Family::Stripe
            | Family::Slack
            | Family::Shopify
            | Family::StandardWebhooks => self.signed(request),
        }
    }

    fn bearer(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let (scheme, token) =
            family::one(headers, "authorization")?.split_once(' ').ok_or(Refused::Malformed)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Refused::Malformed);
        }
        // Every live token is tried, so the time does not tell which one was right.
        let good =
            self.keys.tokens.iter().fold(false, |good, hash| good | hash.is_of(token.trim().as_bytes()));
        if good { Ok(()) } else { Err(Refused::Wrong) }
    }

    fn signed(&self, request: &Request<'_>) -> Result<Proof, Refused> {
        let claim = self.claim(request.headers)?;
        let right: Vec<hmac::Tag> =
            self.keys.hmac.iter().map(|key| signature(key, &claim, request.body)).collect();
        // Every pair is compared, so the time does not tell which one was right.
        let is_good = right.iter().fold(false, |good, tag| good | claims(&claim, tag));
        if !is_good {
            return Err(Refused::Wrong);
        }
        // After the signature, so that the answer tells nobody without the secret whose clock is wrong.
        if claim.signed_at_s.is_some_and(|signed_at_s| !self.is_fresh(signed_at_s, request.now_s)) {
            return Err(Refused::Stale);
        }
        let fingerprint = claim.signed_at_s.map(|_| fingerprint(&claim, request.body));
        Ok(Proof { delivery_id: claim.delivery_id, signed_at_s: claim.signed_at_s, fingerprint })
    }

    fn claim(&self, headers: &HeaderMap) -> Result<Claim, Refused> {
        match self.family {
            Family::HmacSha256 | Family::HmacSha1 => family::plain(headers, &self.header, &self.prefix),
            Family::Github => family::github(headers),
            Family::Stripe => family::stripe(headers),
            Family::Slack => family::slack(headers),
            Family::Shopify => family::shopify(headers),
            Family::StandardWebhooks => family::standard(headers),
            Family::None | Family::Bearer => Err(Refused::Missing),
        }
    }

    fn is_fresh(&self, signed_at_s: i64, now_s: i64) -> bool {
        signed_at_s.abs_diff(now_s) <= self.tolerance.as_secs()
    }
}

/// What the signature must be.
fn signature(key: &hmac::Key, claim: &Claim, body: &[u8]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(key);
    context.update(&claim.prefix);
    context.update(body);
    context.sign()
}

/// Of what was signed and not of a signature: who repeats a request could write its signatures in another order, and
/// a rotation changes which secret is the first.
fn fingerprint(claim: &Claim, body: &[u8]) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(&claim.prefix);
    context.update(body);
    STANDARD.encode(context.finish())
}

fn claims(claim: &Claim, right: &hmac::Tag) -> bool {
    claim.signatures.iter().fold(false, |good, signature| good | bool::from(signature.ct_eq(right.as_ref())))
}
