//! Where the JSON of a value goes, and how a text becomes JSON.

use picomq_connector_sdk::PayloadWriter;

/// Where JSON goes.
pub(crate) trait Out {
    fn put(&mut self, bytes: &[u8]);
}

impl Out for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Out for PayloadWriter<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend(bytes);
    }
}

/// Why a text is not what its type writes.
pub(crate) type Fault = &'static str;

pub(super) const NO_UTF8: Fault =
    "its text is no UTF-8: the database has the encoding SQL_ASCII, so nobody knows what the bytes mean";

/// `text` as a JSON string.
///
/// # Errors
/// When it is no UTF-8.
pub(crate) fn write_string(out: &mut impl Out, text: &[u8]) -> Result<(), Fault> {
    write_utf8(out, std::str::from_utf8(text).map_err(|_| NO_UTF8)?);
    Ok(())
}

/// As [`write_string`], for what is text already.
pub(crate) fn write_utf8(out: &mut impl Out, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.put(b"\"");
    let bytes = text.as_bytes();
    let mut clean = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.put(&bytes[clean..at]);
        clean = at + 1;
        match byte {
            b'"' => out.put(b"\\\""),
            b'\\' => out.put(b"\\\\"),
            b'\n' => out.put(b"\\n"),
            b'\r' => out.put(b"\\r"),
            b'\t' => out.put(b"\\t"),
            _ => {
                out.put(&[b'\\', b'u', b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]])
            }
        }
    }
    out.put(&bytes[clean..]);
    out.put(b"\"");
}
