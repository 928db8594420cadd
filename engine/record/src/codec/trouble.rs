//! What is wrong with one payload, and where in it.

use std::fmt;

/// Why a payload could not be encoded or decoded. The path is gathered while the error travels up, so that a record
/// without one pays nothing for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    reason: String,
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
        Trouble { reason: reason.into(), steps: Vec::new() }
    }

    /// Notes that it happened inside a field, or under a key.
    #[cold]
    pub(crate) fn in_field(mut self, name: &str) -> Trouble {
        self.steps.push(Step::Field(crate::shorten::shorten(name.as_bytes())));
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
        if path.is_empty() { out.write_str(&self.reason) } else { write!(out, "field {path}: {}", self.reason) }
    }
}

impl std::error::Error for Trouble {}
