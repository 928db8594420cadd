//! The error of the small texts of a definition: keys, templates, paths, names, durations, sizes.
//! It knows the byte inside the text, not the file; the loader turns it into a `Finding` with file and line.

/// Why a small text was refused, and where in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ParseError {
    /// Byte offset into the text at which it stops being right.
    pub at: usize,
    /// Lower case, no full stop; names the part refused.
    pub reason: String,
    /// What would be right, when there is one clear answer.
    pub hint: Option<String>,
}

impl ParseError {
    pub(crate) fn new(at: usize, reason: impl Into<String>) -> ParseError {
        ParseError { at, reason: reason.into(), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> ParseError {
        ParseError { hint: Some(hint.into()), ..self }
    }
}
