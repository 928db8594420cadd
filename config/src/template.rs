//! Templates of topics, record keys and headers, and the paths they name. Parsing is total and happens once, at
//! load; filling one in is the record crate's. Substitution is single pass: a value is never parsed again.

use std::fmt;

use crate::parse_error::ParseError;

/// Deepest path into a payload, in segments.
const PATH_SEGMENTS_MAX: usize = 64;
/// Longest template, in bytes.
const TEMPLATE_BYTES_MAX: usize = 4096;

/// A path into a JSON payload. A segment names a member of an object; one of digits also indexes an array.
/// Members whose own name holds a dot cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// Splits at dots. Refuses an empty path, empty segments and more than 64 of them.
    pub fn parse(text: &str) -> Result<FieldPath, ParseError> {
        let mut at = 0;
        let mut segments = Vec::new();
        for segment in text.split('.') {
            if segment.is_empty() {
                let reason = format!("the path {text:?} has an empty part");
                return Err(
                    ParseError::new(at, reason).hint("write the names of fields with one dot between them")
                );
            }
            at += segment.len() + 1;
            segments.push(segment.to_owned());
        }
        if segments.len() > PATH_SEGMENTS_MAX {
            return Err(ParseError::new(0, format!("the path has more than {PATH_SEGMENTS_MAX} parts")));
        }
        Ok(FieldPath(segments))
    }

    /// The segments from the outside in; at least one.
    pub fn segments(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// A parsed template. Neighbouring literals are one part, none is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Template {
    /// In the order of the text; at least one.
    pub parts: Vec<Part>,
}

/// One piece of a template.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part {
    /// Text taken over as it is, braces already unescaped.
    Literal(String),
    /// `{value}`: the value of the block's rule; the bucket number for `hash`.
    Value,
    /// `{field:a.b}`: a scalar of the JSON payload as text.
    Field(FieldPath),
    /// `{header:x}`: the last header of that name, as text.
    Header(String),
    /// `{key}`: the record's key as text.
    Key,
}

impl Template {
    /// Accepts literal text, `{value}`, `{key}`, `{field:PATH}`, `{header:NAME}`, `{{` and `}}`; refuses everything
    /// else, an empty text and more than 4096 bytes.
    pub fn parse(text: &str) -> Result<Template, ParseError> {
        if text.is_empty() {
            return Err(ParseError::new(0, "the template is empty"));
        }
        if text.len() > TEMPLATE_BYTES_MAX {
            return Err(ParseError::new(
                0,
                format!("the template is longer than {TEMPLATE_BYTES_MAX} bytes"),
            ));
        }
        let mut parser = Parser { text, at: 0, literal: String::new(), parts: Vec::new() };
        while parser.step()? {}
        parser.flush();
        Ok(Template { parts: parser.parts })
    }

    /// The template `{value}`, which a rule has when it names none.
    pub fn value() -> Template {
        Template { parts: vec![Part::Value] }
    }

    /// Whether `{value}` stands in it.
    pub fn uses_value(&self) -> bool {
        self.parts.contains(&Part::Value)
    }

    /// All the literal text, in order.
    pub(crate) fn literals(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(text) => Some(text.as_str()),
            Part::Value | Part::Field(_) | Part::Header(_) | Part::Key => None,
        })
    }
}

/// The text a template would be parsed from again: `Template::parse(&t.to_string()) == Ok(t)`.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Literal(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}"))?,
                Part::Value => f.write_str("{value}")?,
                Part::Field(path) => write!(f, "{{field:{path}}}")?,
                Part::Header(name) => write!(f, "{{header:{name}}}")?,
                Part::Key => f.write_str("{key}")?,
            }
        }
        Ok(())
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    literal: String,
    parts: Vec<Part>,
}

impl Parser<'_> {
    /// Takes one character or one placeholder; false at the end.
    fn step(&mut self) -> Result<bool, ParseError> {
        let rest = &self.text[self.at..];
        let Some(next) = rest.chars().next() else {
            return Ok(false);
        };
        if rest.starts_with("{{") || rest.starts_with("}}") {
            self.literal.push(next);
            self.at += 2;
        } else if next == '}' {
            return Err(ParseError::new(self.at, "`}` closes nothing").hint("write `}}` for a brace"));
        } else if next == '{' {
            self.placeholder()?;
        } else {
            self.literal.push(next);
            self.at += next.len_utf8();
        }
        Ok(true)
    }

    fn placeholder(&mut self) -> Result<(), ParseError> {
        let rest = &self.text[self.at + 1..];
        let end = rest.find(['{', '}']).filter(|end| rest[*end..].starts_with('}'));
        let Some(end) = end else {
            return Err(ParseError::new(self.at, "`{` is never closed").hint("write `{{` for a brace"));
        };
        let part = placeholder_part(&rest[..end], self.at)?;
        self.flush();
        self.parts.push(part);
        self.at += end + 2;
        Ok(())
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            self.parts.push(Part::Literal(std::mem::take(&mut self.literal)));
        }
    }
}

/// `at` is where the brace stands, so that a refused path points into its own text.
fn placeholder_part(name: &str, at: usize) -> Result<Part, ParseError> {
    match name.split_once(':') {
        None if name == "value" => Ok(Part::Value),
        None if name == "key" => Ok(Part::Key),
        Some(("field", path)) => FieldPath::parse(path)
            .map(Part::Field)
            .map_err(|error| ParseError { at: at + "{field:".len() + error.at, ..error }),
        Some(("header", "")) => Err(ParseError::new(at, "`{header:}` names no header")),
        Some(("header", header)) => Ok(Part::Header(header.to_owned())),
        Some(_) | None => Err(unknown_placeholder(name, at)),
    }
}

fn unknown_placeholder(name: &str, at: usize) -> ParseError {
    let error = ParseError::new(at, format!("unknown placeholder `{{{name}}}`"));
    match crate::suggest::closest(name, &["value", "key", "field:", "header:"]) {
        Some(near) if near.ends_with(':') => error.hint(format!("did you mean `{{{near}NAME}}`?")),
        Some(near) => error.hint(format!("did you mean `{{{near}}}`?")),
        None => error.hint(format!(
            "placeholders are {{value}}, {{key}}, {{field:PATH}} and {{header:NAME}}; a field is {{field:{name}}}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn literal(text: &str) -> Part {
        Part::Literal(text.to_owned())
    }

    fn refused(text: &str) -> (usize, String) {
        let error = Template::parse(text).unwrap_err();
        (error.at, error.reason)
    }

    #[test]
    fn unknown_and_unbalanced_placeholders_are_refused_with_their_place_b078() {
        assert_eq!(refused("orders.{valeu}"), (7, "unknown placeholder `{valeu}`".into()));
        assert_eq!(refused("{data.tenant}"), (0, "unknown placeholder `{data.tenant}`".into()));
        assert_eq!(refused("{value"), (0, "`{` is never closed".into()));
        assert_eq!(refused("}"), (0, "`}` closes nothing".into()));
        assert_eq!(refused(""), (0, "the template is empty".into()));
        assert_eq!(refused("a{b{value}"), (1, "`{` is never closed".into()));
        assert_eq!(refused("x{field:a..b}"), (10, "the path \"a..b\" has an empty part".into()));
        assert_eq!(refused("{header:}").0, 0);
        assert_eq!(refused("{}").0, 0);
    }

    #[test]
    fn one_placeholder_may_stand_twice_b078() {
        let template = Template::parse("x{value}y{value}").unwrap();
        assert_eq!(template.parts, [literal("x"), Part::Value, literal("y"), Part::Value]);
    }

    #[test]
    fn a_misspelt_placeholder_gets_the_near_one_as_hint_b078() {
        let hint = |text| Template::parse(text).unwrap_err().hint.unwrap();
        assert_eq!(hint("{valeu}"), "did you mean `{value}`?");
        assert!(hint("{data.tenant}").contains("{field:data.tenant}"));
    }

    #[test]
    fn doubled_braces_are_braces() {
        assert_eq!(Template::parse("{{{value}}}").unwrap().parts, [literal("{"), Part::Value, literal("}")]);
        assert_eq!(Template::parse("{{value}}").unwrap().parts, [literal("{value}")]);
    }

    #[test]
    fn every_placeholder_is_read() {
        let template = Template::parse("{field:a.0.b}-{header:x y}-{key}").unwrap();
        let path = FieldPath::parse("a.0.b").unwrap();
        let header = Part::Header("x y".into());
        assert_eq!(template.parts, [Part::Field(path), literal("-"), header, literal("-"), Part::Key]);
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_what_is_accepted_prints_back(text in "[a-z{}:.é]{0,24}|\\PC{0,24}") {
            if let Ok(template) = Template::parse(&text) {
                prop_assert_eq!(Template::parse(&template.to_string()).unwrap(), template);
            }
        }
    }
}
