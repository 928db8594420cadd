//! Signatures as text: hexadecimal and base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The bytes of a hexadecimal text; upper and lower case are one.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

/// The bytes of a base64 text with its padding.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok().filter(|bytes| !bytes.is_empty())
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
