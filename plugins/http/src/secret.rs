//! A configured secret: read, compared, never shown.

use std::fmt;

pub use picomq_connector_sdk::Secret;
use ring::digest::{SHA256, digest};
use subtle::ConstantTimeEq;

/// Longest secret. GitHub and its like have no limit of their own; a file read by mistake has megabytes.
pub(crate) const SECRET_BYTES_MAX: usize = 4096;

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
