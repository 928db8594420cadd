//! What every step of loading one file shares: the file, the environment, and the findings so far.

use std::ops::Range;

use crate::env::Env;
use crate::file_text::FileText;
use crate::finding::{Finding, Location, Severity};
use crate::parse_error::ParseError;
use crate::tree::Origin;

/// Code of findings about a reference, which never hold what it stands for.
pub(crate) const BAD_REFERENCE: &str = "config.bad_reference";

/// Where a value stands, in the file and in the file's own terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) origin: Origin,
    /// Whether the value came out of a reference: then no message may show it.
    pub(crate) is_referenced: bool,
}

impl Place {
    pub(crate) fn root(origin: Origin) -> Place {
        Place { path: String::new(), origin, is_referenced: false }
    }

    /// The key itself, without the tables around it.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }

    pub(crate) fn member(&self, name: &str, origin: &Origin) -> Place {
        let is_bare =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let name = if is_bare { name.to_owned() } else { format!("{name:?}") };
        let path = if self.path.is_empty() { name } else { format!("{}.{name}", self.path) };
        Place { path, origin: origin.clone(), is_referenced: false }
    }

    pub(crate) fn item(&self, index: usize, origin: &Origin) -> Place {
        Place { path: format!("{}[{index}]", self.path), origin: origin.clone(), is_referenced: false }
    }
}

/// A finding before its line is known.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) code: &'static str,
    pub(crate) severity: Severity,
    pub(crate) reason: String,
    pub(crate) hint: Option<String>,
    /// Byte inside the text of the value at which it stops being right.
    pub(crate) at: Option<usize>,
}

impl Draft {
    pub(crate) fn error(code: &'static str, reason: impl Into<String>) -> Draft {
        Draft { code, severity: Severity::Error, reason: reason.into(), hint: None, at: None }
    }

    pub(crate) fn warning(code: &'static str, reason: impl Into<String>) -> Draft {
        Draft { severity: Severity::Warning, ..Draft::error(code, reason) }
    }

    pub(crate) fn info(code: &'static str, reason: impl Into<String>) -> Draft {
        Draft { severity: Severity::Info, ..Draft::error(code, reason) }
    }

    pub(crate) fn parse(code: &'static str, error: ParseError) -> Draft {
        Draft { hint: error.hint, at: Some(error.at), ..Draft::error(code, error.reason) }
    }

    /// What remains to be said when the value is not to be shown. A finding about the reference itself shows none.
    fn without_value(self, name: &str) -> Draft {
        if self.severity != Severity::Error || self.code == BAD_REFERENCE {
            return self;
        }
        let reason = format!("what the reference of `{name}` stands for does not fit");
        Draft { hint: None, at: None, reason, ..self }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Draft {
        Draft { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn maybe_hint(self, hint: Option<String>) -> Draft {
        Draft { hint: hint.or(self.hint), ..self }
    }
}

/// The file under load.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) text: &'a FileText,
    pub(crate) env: &'a Env,
    pub(crate) findings: Vec<Finding>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(text: &'a FileText, env: &'a Env) -> Context<'a> {
        Context { text, env, findings: Vec::new() }
    }

    /// Files the finding under its place.
    pub(crate) fn add(&mut self, place: &Place, draft: Draft) {
        let draft = if place.is_referenced { draft.without_value(place.name()) } else { draft };
        let finding = match &place.origin {
            Origin::Span(span) => {
                let span = self.narrowed(span, draft.at);
                self.text.finding(draft.code, draft.severity, span, draft.reason)
            }
            Origin::Variable(name) => {
                Finding::new(draft.code, draft.severity, Location::Variable(name.clone()), draft.reason)
            }
        };
        let finding = finding.with_path(place.path.clone());
        self.findings.push(match draft.hint {
            Some(hint) => finding.with_hint(hint),
            None => finding,
        });
    }

    /// Where a place is, for findings of others that come later.
    pub(crate) fn location(&self, place: &Place) -> Location {
        match &place.origin {
            Origin::Span(span) => self.text.location(span.start),
            Origin::Variable(name) => Location::Variable(name.clone()),
        }
    }

    /// From the offending byte to the end of the value, if the value stands in the file as a plain quoted string.
    fn narrowed(&self, span: &Range<usize>, at: Option<usize>) -> Range<usize> {
        let inner = span.start + 1..span.end.saturating_sub(1).max(span.start + 1);
        let is_plain = self.text.slice(span.clone()).is_some_and(|written| {
            written.starts_with(['"', '\''])
                && !written.contains('\\')
                && !written.starts_with("\"\"\"")
                && !written.starts_with("'''")
        });
        match at {
            Some(at) if is_plain && inner.start + at < inner.end => inner.start + at..inner.end,
            Some(_) | None => span.clone(),
        }
    }
}
