//! `"a"=>"1", "b c"=>NULL` into a JSON object of strings and nulls.

use super::out::{Fault, Out, write_string};

const TORN: Fault = "its text is no hstore";

pub(super) fn write(out: &mut impl Out, text: &[u8]) -> Result<(), Fault> {
    let mut rest = text;
    let mut separator: &[u8] = b"{";
    while !rest.is_empty() {
        out.put(separator);
        separator = b",";
        rest = quoted(out, rest)?.strip_prefix(b"=>").ok_or(TORN)?;
        out.put(b":");
        rest = match rest.strip_prefix(b"NULL") {
            Some(after) => {
                out.put(b"null");
                after
            }
            None => quoted(out, rest)?,
        };
        if !rest.is_empty() {
            rest = rest.strip_prefix(b", ").filter(|rest| !rest.is_empty()).ok_or(TORN)?;
        }
    }
    out.put(if separator == b"{" { b"{}" } else { b"}" });
    Ok(())
}

/// Writes the quoted text at the front; the answer is what follows it.
fn quoted<'a>(out: &mut impl Out, text: &'a [u8]) -> Result<&'a [u8], Fault> {
    let mut rest = text.strip_prefix(b"\"").ok_or(TORN)?;
    let mut unescaped = Vec::new();
    loop {
        let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).ok_or(TORN)?;
        unescaped.extend_from_slice(&rest[..end]);
        if rest[end] == b'"' {
            write_string(out, &unescaped)?;
            return Ok(&rest[end + 1..]);
        }
        unescaped.push(*rest.get(end + 1).ok_or(TORN)?);
        rest = &rest[end + 2..];
    }
}
