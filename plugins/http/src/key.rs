//! The record key: a template over the post.
//!
//! `{header:NAME}`, `{field:a.b}` of a JSON body, `{id}` and `{path}`; `{{` and `}}` are braces. A value that is not
//! there leaves the record without a key.

use hyper::HeaderMap;

use crate::body;

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyTemplate(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Header(String),
    Field(Vec<String>),
    Id,
    Path,
}

/// What a key is made of.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    pub(crate) id: Option<&'a str>,
    pub(crate) path: &'a str,
}

impl KeyTemplate {
    /// Reads a template; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<KeyTemplate, String> {
        let (mut parts, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let from = &rest[at..];
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                literal.push_str(&from[..1]);
                rest = after;
                continue;
            }
            let inside = from.strip_prefix('{').and_then(|after| after.split_once('}'));
            let (name, after) = inside.ok_or_else(|| format!("a single `{}`; write it twice", &from[..1]))?;
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal)));
            }
            parts.push(part(name)?);
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        if parts.is_empty() { Err("it is empty".to_owned()) } else { Ok(KeyTemplate(parts)) }
    }

    /// The key of a post, or none.
    pub(crate) fn key(&self, subject: &Subject<'_>) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        for part in &self.0 {
            match part {
                Part::Literal(text) => key.extend_from_slice(text.as_bytes()),
                Part::Header(name) => key.extend_from_slice(subject.headers.get(name)?.as_bytes()),
                Part::Field(path) => {
                    let path: Vec<&str> = path.iter().map(String::as_str).collect();
                    key.extend_from_slice(body::at(subject.body, &path)?.as_bytes());
                }
                Part::Id => key.extend_from_slice(subject.id?.as_bytes()),
                Part::Path => key.extend_from_slice(subject.path.as_bytes()),
            }
        }
        Some(key)
    }
}

fn part(name: &str) -> Result<Part, String> {
    match name.split_once(':') {
        None if name == "id" => Ok(Part::Id),
        None if name == "path" => Ok(Part::Path),
        Some(("header", header)) if is_header_name(header) => Ok(Part::Header(header.to_ascii_lowercase())),
        Some(("field", path)) if path.split('.').all(|segment| !segment.is_empty()) => {
            Ok(Part::Field(path.split('.').map(str::to_owned).collect()))
        }
        _ => Err(format!("`{{{name}}}` is none of {{header:NAME}}, {{field:a.b}}, {{id}}, {{path}}")),
    }
}

/// Whether `name` can be the name of an HTTP header.
pub(crate) fn is_header_name(name: &str) -> bool {
    hyper::header::HeaderName::from_bytes(name.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(template: &str, body: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert("x-shop", "s1".parse().unwrap());
        let subject =
            Subject { headers: &headers, body: body.as_bytes(), id: Some("d-1"), path: "/topics/a" };
        KeyTemplate::parse(template).unwrap().key(&subject).map(|key| String::from_utf8(key).unwrap())
    }

    #[test]
    fn every_placeholder_is_filled() {
        let template = "{{{header:X-Shop}}}/{field:order.id}/{id}{path}";
        assert_eq!(key(template, r#"{"order": {"id": 7}}"#).as_deref(), Some("{s1}/7/d-1/topics/a"));
    }

    #[test]
    fn a_value_that_is_not_there_leaves_no_key() {
        assert_eq!(key("a-{field:order.id}", "{}"), None);
        assert_eq!(key("{field:id}", "no json"), None);
        assert_eq!(key("{header:x-other}", "{}"), None);
    }

    #[test]
    fn what_is_no_template_is_refused_with_the_reason() {
        for bad in ["", "{", "a}b", "{value}", "{header:}", "{header:a b}", "{field:a..b}", "{field:}"] {
            assert!(KeyTemplate::parse(bad).is_err(), "{bad}");
        }
    }
}
