//! Values that nobody shall read.

use std::io::Write;

use hmac::{Hmac, KeyInit, Mac};
use pico_config::MaskMethod;
use sha2::{Digest, Sha256};

use crate::matching::string_of;

/// A way of hiding, made ready.
pub(crate) enum Mask {
    /// This JSON text.
    Redact(Box<str>),
    Hash,
    KeyedHash(Box<Hmac<Sha256>>),
}

/// The method alone: the state of a keyed hash is as good as the key.
impl std::fmt::Debug for Mask {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Mask::Redact(_) => "Redact",
            Mask::Hash => "Hash",
            Mask::KeyedHash(_) => "KeyedHash",
        })
    }
}

impl Mask {
    pub(crate) fn new(method: &MaskMethod) -> Mask {
        match method {
            MaskMethod::Redact(text) => {
                Mask::Redact(serde_json::to_string(text).expect("a text has a spelling").into())
            }
            MaskMethod::Hash(None) => Mask::Hash,
            MaskMethod::Hash(Some(key)) => {
                let state = Hmac::new_from_slice(key.expose().as_bytes());
                Mask::KeyedHash(Box::new(state.expect("HMAC takes keys of any length")))
            }
        }
    }

    /// Appends what stands instead of a value. A string is hashed as its text, everything else as it is written.
    pub(crate) fn write(&self, json: &str, out: &mut Vec<u8>) {
        let text = string_of(json);
        let bytes = text.as_deref().unwrap_or(json).as_bytes();
        match self {
            Mask::Redact(text) => out.extend_from_slice(text.as_bytes()),
            Mask::Hash => write_hex(&Sha256::digest(bytes), out),
            Mask::KeyedHash(state) => {
                let mut state = state.as_ref().clone();
                state.update(bytes);
                write_hex(&state.finalize().into_bytes(), out);
            }
        }
    }
}

fn write_hex(hash: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in hash {
        write!(out, "{byte:02x}").expect("memory takes every write");
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use pico_config::Secret;

    use super::*;

    fn masked(method: &MaskMethod, json: &str) -> String {
        let mut out = Vec::new();
        Mask::new(method).write(json, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_hash_is_sha_256_of_the_text() {
        // FIPS 180-4: SHA-256("abc").
        let abc = "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"";

        assert_eq!(masked(&MaskMethod::Hash(None), "\"abc\""), abc);
        assert_eq!(masked(&MaskMethod::Hash(None), "\"a\\u0062c\""), abc);
        assert_ne!(masked(&MaskMethod::Hash(None), "12"), masked(&MaskMethod::Hash(None), "12.0"));
        assert_eq!(masked(&MaskMethod::Hash(None), "12"), masked(&MaskMethod::Hash(None), "\"12\""));
    }

    #[test]
    fn a_keyed_hash_is_hmac_sha_256() {
        // RFC 4231, test case 2.
        let method = MaskMethod::Hash(Some(Secret::new("Jefe".to_owned())));
        let expected = "\"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843\"";

        assert_eq!(masked(&method, "\"what do ya want for nothing?\""), expected);
    }

    #[test]
    fn a_replacement_is_written_as_a_string_and_the_key_is_not_shown() {
        assert_eq!(masked(&MaskMethod::Redact("a\"b".to_owned()), "12"), "\"a\\\"b\"");
        let mask = Mask::new(&MaskMethod::Hash(Some(Secret::new("hunter2".to_owned()))));
        assert_eq!(format!("{mask:?}"), "KeyedHash");
    }
}
