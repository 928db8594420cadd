//! `{1,NULL,3}`, `{"a,b","NULL"}`, `{{1,2},{3,4}}`, `[0:2]={1,2,3}` into JSON arrays.

use super::out::{Fault, Out};

const TORN: Fault = "its text is no array";

/// PostgreSQL allows six.
const DIMENSIONS_MAX: usize = 6;

/// Writes the array, its elements by `write`; lower bounds, which JSON has no place for, are left out.
///
/// # Errors
/// When the text is no array, or an element cannot be written.
pub(crate) fn write_array<O: Out>(
    out: &mut O,
    delimiter: u8,
    text: &[u8],
    mut write: impl FnMut(&mut O, &[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut rest = without_bounds(text)?;
    let mut unescaped = Vec::new();
    let mut depth = 0;
    // Whether an element or a closing brace was the last thing: then only a delimiter or a brace may follow.
    let mut is_after_element = false;
    let mut is_after_delimiter = false;
    while let Some((&byte, tail)) = rest.split_first() {
        match byte {
            b'{' if !is_after_element && depth < DIMENSIONS_MAX => {
                out.put(b"[");
                depth += 1;
                rest = tail;
            }
            b'}' if depth > 0 && !is_after_delimiter => {
                out.put(b"]");
                depth -= 1;
                rest = tail;
                is_after_element = true;
                if depth == 0 {
                    return if rest.is_empty() { Ok(()) } else { Err(TORN) };
                }
            }
            _ if depth == 0 => return Err(TORN),
            _ if byte == delimiter && is_after_element => {
                out.put(b",");
                is_after_element = false;
                is_after_delimiter = true;
                rest = tail;
                continue;
            }
            _ if is_after_element => return Err(TORN),
            b'"' => {
                rest = quoted(tail, &mut unescaped)?;
                write(out, &unescaped)?;
                is_after_element = true;
            }
            _ => {
                let end = rest.iter().position(|byte| *byte == delimiter || *byte == b'}').ok_or(TORN)?;
                let (bare, after) = rest.split_at(end);
                match bare {
                    b"" => return Err(TORN),
                    // A text of these four letters would stand in quotes.
                    b"NULL" => out.put(b"null"),
                    _ => write(out, bare)?,
                }
                rest = after;
                is_after_element = true;
            }
        }
        is_after_delimiter = false;
    }
    Err(TORN)
}

/// Cuts off `[0:2][1:3]=`.
fn without_bounds(text: &[u8]) -> Result<&[u8], Fault> {
    if text.first() != Some(&b'[') {
        return Ok(text);
    }
    let equals = text.iter().position(|byte| *byte == b'=').ok_or(TORN)?;
    Ok(&text[equals + 1..])
}

/// Reads up to the closing quote into `unescaped`; the answer is what follows it.
fn quoted<'a>(mut rest: &'a [u8], unescaped: &mut Vec<u8>) -> Result<&'a [u8], Fault> {
    unescaped.clear();
    loop {
        let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).ok_or(TORN)?;
        unescaped.extend_from_slice(&rest[..end]);
        if rest[end] == b'"' {
            return Ok(&rest[end + 1..]);
        }
        unescaped.push(*rest.get(end + 1).ok_or(TORN)?);
        rest = &rest[end + 2..];
    }
}
