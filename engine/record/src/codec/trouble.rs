//! What is wrong with one payload, and where in it.

use std::fmt;

/// Characters of a key that are kept of it; a hostile one may be megabytes.
const NAME_MAX: usize = 60;

/// Why a payload could not be encoded or decoded. The path is gathered while the error travels up, so that a record
/// without one pays nothing for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    reason: String,
    is_not_json: bool,
    /// Innermost first.
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Item(usize),
}

impl Trouble {
    #[cold]
    pub(crate) fn new(reason: impl Into<String>) -> Trouble {
        Trouble { reason: reason.into(), is_not_json: false, steps: Vec::new() }
    }

    #[cold]
    pub(crate) fn not_json(error: impl fmt::Display) -> Trouble {
        Trouble { is_not_json: true, ..Trouble::new(format!("the payload is not JSON: {error}")) }
    }

    /// Whether the payload was not JSON at all, before any schema was asked.
    pub fn is_not_json(&self) -> bool {
        self.is_not_json
    }

    /// Notes that it happened inside a field, or under a key.
    #[cold]
    pub(crate) fn in_field(mut self, name: &str) -> Trouble {
        self.steps.push(Step::Field(name.chars().take(NAME_MAX).collect()));
        self
    }

    /// Notes that it happened inside an element.
    #[cold]
    pub(crate) fn in_item(mut self, index: usize) -> Trouble {
        self.steps.push(Step::Item(index));
        self
    }

    /// Where it happened, such as `order.lines[3].price`; empty for the payload as a whole.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            match step {
                Step::Field(name) if path.is_empty() => path.push_str(name),
                Step::Field(name) => {
                    path.push('.');
                    path.push_str(name);
                }
                Step::Item(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if path.is_empty() {
            out.write_str(&self.reason)
        } else {
            write!(out, "field {}: {}", crate::shorten::shorten(path.as_bytes()), self.reason)
        }
    }
}

impl std::error::Error for Trouble {}

/// An error and its causes in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    text
}
