//! The text of a log line is fixed and its values are fields, so that lines can be counted and filtered.

use crate::rust::{code, is_word, words};
use crate::tree::{File, Tree};

const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

/// Every log line whose message is formatted, ends in a full stop, or is missing.
pub(crate) fn formatted(tree: &Tree) -> Vec<String> {
    tree.rust().flat_map(lines).collect()
}

fn lines(file: &File) -> Vec<String> {
    let code = code(&file.text);
    let mut findings = Vec::new();
    for level in LEVELS {
        for at in words(&code, level) {
            let Some(arguments) = code[at + level.len()..].strip_prefix("!(") else { continue };
            let start = code.len() - arguments.len();
            let wrong = match message(&file.text[start..], arguments) {
                None => Some("has no message"),
                Some(message) if message.contains(['{', '}']) => {
                    Some("formats a value into its message: make it a field")
                }
                Some(message) if message.ends_with('.') => Some("ends its message with a full stop"),
                Some(_) => None,
            };
            findings
                .extend(wrong.map(|wrong| format!("{}:{}: {level}! {wrong}", file.path, file.line_of(at))));
        }
    }
    findings
}

/// The one string that is an argument by itself, not the value of a field. `code` is `text` without the insides of strings.
fn message<'a>(text: &'a str, code: &str) -> Option<&'a str> {
    let bytes = code.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    let mut is_value = false;
    let mut has_begun = false;
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => return None,
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => (is_value, has_begun) = (false, false),
            b'=' | b':' if depth == 0 => is_value = true,
            b'"' => {
                let end = at + 1 + code[at + 1..].find('"')?;
                if depth == 0 && !is_value && !has_begun {
                    return Some(&text[at + 1..end]);
                }
                at = end;
            }
            byte if is_word(byte) => has_begun = true,
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<String> {
        formatted(&Tree::planted(&[("a.rs", line)]))
    }

    #[test]
    fn a_value_in_the_message_is_found() {
        assert_eq!(found("warn!(key, \"lost {count} rows\");").len(), 1);
        assert_eq!(
            found("fn f() {\n    tracing::info!(\n        \"opened {}\", name\n    );\n}"),
            ["a.rs:2: info! formats a value into its message: make it a field"]
        );
    }

    #[test]
    fn a_full_stop_and_a_missing_message_are_found() {
        assert_eq!(found("error!(why = \"no {brace}\", \"gave up.\");").len(), 1);
        assert_eq!(found("debug!(?order, count = list.len());").len(), 1);
    }

    #[test]
    fn fields_may_hold_what_they_like() {
        assert_eq!(
            found("info!(target: \"x\", path = %format!(\"{a}\"), why = \"{}\", ?kind, \"saved\");").len(),
            0
        );
        assert_eq!(found("// info!(\"{x}\")\nsend_error!(\"{x}\")").len(), 0);
    }
}
