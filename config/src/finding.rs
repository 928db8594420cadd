//! What the loader has to say about a file or a variable: the crate's one error type towards its users.
//!
//! A finding carries its own excerpt of the file, with every secret already masked, so that it can be printed
//! anywhere. `code` is stable and dotted; programs match on it, people read the rest.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something was understood in a way worth saying.
    Info,
    /// The file is used, but something in it has no effect or needs a look.
    Warning,
    /// The file is not used.
    Error,
}

/// Where a finding points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A place in a file; line and column count from 1, the column in characters.
    Place {
        /// The file.
        file: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// A file as a whole, or one without lines (a folder, a library).
    File(PathBuf),
    /// An environment variable.
    Variable(String),
}

impl Location {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Location::Place { file, .. } | Location::File(file) => Some(file),
            Location::Variable(_) => None,
        }
    }

    /// The line, if there is one.
    pub fn line(&self) -> Option<usize> {
        match self {
            Location::Place { line, .. } => Some(*line),
            Location::File(_) | Location::Variable(_) => None,
        }
    }

    /// The column, if there is one.
    pub fn column(&self) -> Option<usize> {
        match self {
            Location::Place { column, .. } => Some(*column),
            Location::File(_) | Location::Variable(_) => None,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Place { file, line, column } => write!(f, "{}:{line}:{column}", file.display()),
            Location::File(file) => write!(f, "{}", file.display()),
            Location::Variable(name) => write!(f, "environment variable {name}"),
        }
    }
}

/// One finding. Displayed it is its reason alone; `summary` is the whole of it on one line.
#[derive(Clone)]
pub struct Finding {
    /// Stable, dotted: `config.unknown_field`.
    pub code: &'static str,
    /// Whether the file is still used.
    pub severity: Severity,
    /// Lower case, no full stop; names the key and the value refused.
    pub reason: String,
    /// Where.
    pub location: Location,
    /// The key in the file's own terms: `topics[0].batch_lenght`. Empty for a file as a whole.
    pub toml_path: String,
    /// What would be right.
    pub hint: Option<String>,
    excerpt: Option<Excerpt>,
}

#[derive(Clone)]
struct Excerpt {
    text: Arc<NamedSource<String>>,
    span: Range<usize>,
}

impl Finding {
    /// A finding about a place outside any text of ours: a folder, a library, a variable.
    pub fn new(
        code: &'static str,
        severity: Severity,
        location: Location,
        reason: impl Into<String>,
    ) -> Finding {
        let (reason, toml_path) = (reason.into(), String::new());
        Finding { code, severity, reason, location, toml_path, hint: None, excerpt: None }
    }

    /// The same finding at another place: a library's, at the line of the definition that names it.
    pub fn at(self, location: Location) -> Finding {
        Finding { location, ..self }
    }

    /// Adds what would be right.
    pub fn with_hint(self, hint: impl Into<String>) -> Finding {
        Finding { hint: Some(hint.into()), ..self }
    }

    /// Names the key.
    pub fn with_path(self, toml_path: impl Into<String>) -> Finding {
        Finding { toml_path: toml_path.into(), ..self }
    }

    /// Adds the text it points into; `text` must already be masked.
    pub(crate) fn with_excerpt(self, text: Arc<NamedSource<String>>, span: Range<usize>) -> Finding {
        Finding { excerpt: Some(Excerpt { text, span }), ..self }
    }

    /// In the order of the file; what stands in no file comes last.
    pub(crate) fn place_order(&self) -> (usize, usize) {
        (self.location.line().unwrap_or(usize::MAX), self.location.column().unwrap_or(usize::MAX))
    }

    /// Whether the file is refused because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Everything on one line, for a log or `last_error`.
    pub fn summary(&self) -> String {
        let path = if self.toml_path.is_empty() { String::new() } else { format!(" {}", self.toml_path) };
        let hint = self.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}{path}: {}{hint}", self.location, self.reason)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} {}", self.severity, self.code, self.summary())
    }
}

impl PartialEq for Finding {
    fn eq(&self, other: &Finding) -> bool {
        self.code == other.code
            && self.severity == other.severity
            && self.reason == other.reason
            && self.location == other.location
            && self.toml_path == other.toml_path
            && self.hint == other.hint
    }
}

impl std::error::Error for Finding {}

impl Diagnostic for Finding {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Info => miette::Severity::Advice,
            Severity::Warning => miette::Severity::Warning,
            Severity::Error => miette::Severity::Error,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_ref().map(|excerpt| &*excerpt.text as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let excerpt = self.excerpt.as_ref()?;
        let label = Some(self.toml_path.clone()).filter(|path| !path.is_empty());
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(label, excerpt.span.clone()))))
    }
}
