//! A configured secret: read, compared, never shown.

use std::fmt;

use ring::digest::{SHA256, digest};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use subtle::ConstantTimeEq;

/// Longest secret. GitHub and its like have no limit of their own; a file read by mistake has megabytes.
pub(crate) const SECRET_BYTES_MAX: usize = 4096;

/// Text that no log line, error or debug form shows.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` as a secret.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text, for computing with it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "writeOnly": true })
    }
}

/// The SHA-256 of a token: all that is needed to recognise it.
#[derive(Clone, Copy)]
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    pub(crate) fn of(token: &[u8]) -> TokenHash {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, token).as_ref());
        TokenHash(hash)
    }

    /// Takes as long for any other token as for the right one.
    pub(crate) fn is_of(&self, token: &[u8]) -> bool {
        TokenHash::of(token).0.ct_eq(&self.0).into()
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("TokenHash(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_shows_a_secret() {
        let secret = Secret::new("hunter2");
        assert!(!format!("{secret:?} {:?}", TokenHash::of(b"hunter2")).contains("hunter2"));
    }

    #[test]
    fn a_token_is_recognised_and_no_other() {
        let hash = TokenHash::of(b"token");
        assert!(hash.is_of(b"token"));
        for other in [&b""[..], b"toke", b"tokens", b"Token"] {
            assert!(!hash.is_of(other));
        }
    }
}
