//! What a plugin answers when it is asked to look at its upstream (`doctor KEY`), through [`Source::maintain`](crate::Source::maintain).

use serde::Serialize;
use serde_json::{Value, json};

/// The name under which the engine asks.
pub const COMMAND: &str = "doctor";

/// How a look came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// As it should be.
    Ok,
    /// Works, or may be meant so, but needs a look.
    Warning,
    /// Keeps the source from running.
    Error,
}

/// One look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Look {
    /// Stable, in `snake_case`.
    pub name: &'static str,
    /// How it came out.
    pub status: Grade,
    /// What was seen.
    pub detail: String,
    /// What to do.
    pub advice: Option<String>,
}

impl Look {
    /// All is well.
    pub fn ok(name: &'static str, detail: impl Into<String>) -> Look {
        Look { name, status: Grade::Ok, detail: detail.into(), advice: None }
    }

    /// A person should look at it.
    pub fn warning(name: &'static str, detail: impl Into<String>) -> Look {
        Look { status: Grade::Warning, ..Look::ok(name, detail) }
    }

    /// It does not work.
    pub fn error(name: &'static str, detail: impl Into<String>) -> Look {
        Look { status: Grade::Error, ..Look::ok(name, detail) }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn advice(self, advice: impl Into<String>) -> Look {
        Look { advice: Some(advice.into()), ..self }
    }
}

/// All looks, as the engine shows them.
#[must_use]
pub fn answer(looks: &[Look]) -> Value {
    json!({ "checks": looks })
}
