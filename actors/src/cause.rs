//! Why something did not go well: a cause, for machines and for people, and what it means for an opening.

/// What went wrong, for machines (`code`, stable and dotted) and for people (`message`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{message}")]
pub struct Cause {
    /// Stable and dotted, such as `broker.silent`.
    pub code: &'static str,
    /// Lower case, names what was refused and what would be right.
    pub message: String,
}

impl Cause {
    /// Joins a code and its message.
    pub fn new(code: &'static str, message: impl Into<String>) -> Cause {
        Cause { code, message: message.into() }
    }
}

/// Why a source did not open: the kind decides whether it is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OpenFailure {
    /// What the caller can do.
    pub kind: OpenKind,
    /// What to tell people.
    pub cause: Cause,
}

/// What can be done about a source that did not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenKind {
    /// The definition is at fault: halted until a person acts.
    Config,
    /// The saved state cannot be read (I8): halted until a person acts.
    State,
    /// The upstream will refuse for ever: halted until a person acts.
    Permanent,
    /// It may pass: tried again, 1 s to 30 s apart, for ever.
    Passing,
    /// The plugin panicked: the instance was destroyed; counts like a lost child.
    Panicked,
    /// The call never came back: the instance is leaked, nothing is opened in this process any more.
    Hung,
}
