//! References inside strings: `${env:NAME}`, `${env:NAME:-default}`, `${file:/absolute/path}`; `$${` is a plain `${`.
//! They are resolved here, while a file is loaded and nowhere later; an error names the reference, never a value.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::parse_error::ParseError;

/// Largest file a reference may name.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Whether the text holds a reference or an escaped one.
pub(crate) fn has_reference(text: &str) -> bool {
    text.contains("${")
}

/// The text with every reference replaced, in a single pass: what comes in is not looked at again.
pub(crate) fn resolve(text: &str, env: &Env) -> Result<String, ParseError> {
    let mut resolved = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find("${").map(|offset| at + offset) {
        if text[at..found].ends_with('$') {
            resolved.push_str(&text[at..found - 1]);
            resolved.push_str("${");
            at = found + 2;
            continue;
        }
        resolved.push_str(&text[at..found]);
        let Some(length) = text[found..].find('}') else {
            return Err(ParseError::new(found, "`${` is never closed").hint("write `$${` for a plain `${`"));
        };
        let value = one(&text[found + 2..found + length], env);
        resolved.push_str(&value.map_err(|error| ParseError { at: found, ..error })?);
        at = found + length + 1;
    }
    resolved.push_str(&text[at..]);
    Ok(resolved)
}

/// The files that the text refers to.
pub(crate) fn files(text: &str) -> Vec<PathBuf> {
    let plain = text.replace("$${", "");
    let inner = plain.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(inner, _)| inner);
    inner.filter_map(|inner| inner.strip_prefix("file:")).map(PathBuf::from).collect()
}

fn one(inner: &str, env: &Env) -> Result<String, ParseError> {
    match inner.split_once(':') {
        Some(("env", rest)) => variable(rest, env),
        Some(("file", path)) => file(path),
        Some(_) | None => {
            let name = inner.split(':').next().unwrap_or_default();
            let error = ParseError::new(0, format!("`${{{name}…}}` is not a reference"));
            Err(error.hint(
                "references are ${env:NAME}, ${env:NAME:-default} and ${file:/path}; `$${` is a plain `${`",
            ))
        }
    }
}

fn variable(rest: &str, env: &Env) -> Result<String, ParseError> {
    let (name, default) = match rest.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (rest, None),
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(ParseError::new(0, format!("`{name}` in a reference is not the name of a variable")));
    }
    if env.is_unreadable(name) {
        return Err(ParseError::new(0, format!("`${{env:{name}}}` is not UTF-8")));
    }
    match (env.get(name), default) {
        (Some(""), Some(default)) | (None, Some(default)) => Ok(default.to_owned()),
        (Some(value), _) => Ok(value.to_owned()),
        (None, None) => Err(ParseError::new(0, format!("`${{env:{name}}}` is not set"))
            .hint(format!("set the variable, or give a default: ${{env:{name}:-default}}"))),
    }
}

fn file(path: &str) -> Result<String, ParseError> {
    let refused = |what: String| ParseError::new(0, format!("`${{file:{path}}}` {what}"));
    if !Path::new(path).is_absolute() {
        return Err(refused("is not an absolute path".to_owned()));
    }
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text));
    read.map_err(|error| refused(format!("cannot be read: {error}")))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(refused(format!("is larger than {FILE_BYTES_MAX} bytes")));
    }
    // Editors and `echo` end a file with a line end that is no part of the secret.
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> Env {
        Env::from_pairs([("A", "x"), ("EMPTY", ""), ("NESTED", "${env:A}")])
    }

    fn resolved(text: &str) -> String {
        resolve(text, &env()).unwrap()
    }

    fn refused(text: &str) -> (usize, String) {
        let error = resolve(text, &env()).unwrap_err();
        (error.at, error.reason)
    }

    #[test]
    fn references_are_replaced_once_and_anywhere() {
        assert_eq!(resolved("p:${env:A}@${env:A}!"), "p:x@x!");
        assert_eq!(resolved("${env:NESTED}"), "${env:A}");
        assert_eq!(resolved("$${env:A} $ {} $$"), "${env:A} $ {} $$");
    }

    #[test]
    fn a_default_stands_in_for_an_unset_or_empty_variable() {
        assert_eq!(resolved("${env:NO:-d:-e}"), "d:-e");
        assert_eq!(resolved("${env:EMPTY:-d}"), "d");
        assert_eq!(resolved("${env:A:-d}"), "x");
        assert_eq!(resolved("${env:EMPTY}"), "");
        assert_eq!(resolved("${env:NO:-}"), "");
    }

    #[test]
    fn what_is_no_reference_is_refused_with_its_place() {
        assert_eq!(refused("a${env:NO}"), (1, "`${env:NO}` is not set".into()));
        assert_eq!(refused("${evn:A}").1, "`${evn…}` is not a reference");
        assert_eq!(refused("ab${env:A"), (2, "`${` is never closed".into()));
        assert_eq!(refused("${file:secret}").1, "`${file:secret}` is not an absolute path");
        assert!(refused("${file:/no/such/file}").1.contains("cannot be read"));
        assert!(refused("${env:}").1.contains("not the name"));
    }

    #[test]
    fn a_file_loses_its_last_line_end_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "pass\nword\r\n").unwrap();
        assert_eq!(resolved(&format!("${{file:{}}}", path.display())), "pass\nword");
    }
}
