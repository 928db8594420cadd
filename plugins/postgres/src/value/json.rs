//! Writing one value.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::out::{Fault, NO_UTF8, Out, write_string};
use super::{Forms, Kind, array, hstore};

/// Writes the JSON of `text`, which is what PostgreSQL writes for a value of `kind`.
///
/// # Errors
/// When the text is no UTF-8 or not of the form its type has. What was written then is of no use.
pub(crate) fn write<O: Out>(out: &mut O, kind: &Kind, text: &[u8], forms: Forms) -> Result<(), Fault> {
    match kind {
        Kind::Bool => match text {
            b"t" => out.put(b"true"),
            b"f" => out.put(b"false"),
            _ => return Err("it is neither t nor f"),
        },
        Kind::Int8 if forms.is_int8_a_string => return write_string(out, text),
        Kind::Numeric if !forms.is_numeric_a_number => return write_string(out, text),
        Kind::Integer | Kind::Int8 | Kind::Float | Kind::Numeric => {
            if !is_number(text) {
                return write_string(out, text);
            }
            out.put(text);
        }
        Kind::Json => match std::str::from_utf8(text) {
            Ok(_) if !text.is_empty() => out.put(text),
            Ok(_) => return Err("it is empty, which is no JSON"),
            Err(_) => return Err(NO_UTF8),
        },
        Kind::Bytea => return write_bytes(out, text),
        Kind::Timestamp => return write_string(out, &with_t(text)),
        Kind::TimestampTz => {
            let mut text = with_t(text);
            if text.ends_with(b"+00") {
                text.truncate(text.len() - 3);
                text.push(b'Z');
            }
            return write_string(out, &text);
        }
        Kind::Hstore => return hstore::write(out, text),
        Kind::Array { element, delimiter } => {
            return array::write_array(out, *delimiter, text, |out: &mut O, text: &[u8]| {
                write(out, element, text, forms)
            });
        }
        Kind::Text => return write_string(out, text),
    }
    Ok(())
}

/// The blank between date and time as `T`. Specials (`infinity`) have none; ` BC` keeps its blank.
fn with_t(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    let is_time = |at: usize| text.get(at + 1).is_some_and(u8::is_ascii_digit);
    if let Some(at) = text.iter().position(|byte| *byte == b' ').filter(|at| is_time(*at)) {
        text[at] = b'T';
    }
    text
}

/// JSON's grammar of numbers (RFC 8259, section 6).
pub(super) fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let exponent =
            exponent.strip_prefix(b"-").or_else(|| exponent.strip_prefix(b"+")).unwrap_or(exponent);
        let count = digits(exponent);
        return count > 0 && count == exponent.len();
    }
    rest.is_empty()
}

fn write_bytes(out: &mut impl Out, text: &[u8]) -> Result<(), Fault> {
    const WRONG: Fault = "it is not in hexadecimal form, though the session asked for that";
    let digits = text.strip_prefix(b"\\x").filter(|digits| digits.len() % 2 == 0).ok_or(WRONG)?;
    out.put(b"\"");
    // A multiple of three bytes at a time, so that the parts of the base64 join without padding.
    let mut bytes = [0; 3 << 8];
    let mut encoded = [0; 4 << 8];
    for part in digits.chunks(2 * bytes.len()) {
        let count = part.len() / 2;
        for (byte, pair) in bytes.iter_mut().zip(part.chunks_exact(2)) {
            *byte = nibble(pair[0]).ok_or(WRONG)? << 4 | nibble(pair[1]).ok_or(WRONG)?;
        }
        let length = STANDARD.encode_slice(&bytes[..count], &mut encoded);
        out.put(&encoded[..length.expect("four characters fit for each three bytes")]);
    }
    out.put(b"\"");
    Ok(())
}

fn nibble(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|number| number as u8)
}
