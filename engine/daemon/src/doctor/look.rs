//! One look of the doctor and what it showed.

use serde::Serialize;

use crate::leave::Exit;

/// What a look showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Grade {
    Ok,
    /// Nothing is known, and nothing need be.
    Skipped,
    Warning,
    Error,
}

/// One look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Look {
    /// Such as `config.toml`, `orders: broker_reachable`.
    pub(super) name: String,
    pub(super) status: Grade,
    /// What was seen.
    pub(super) detail: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
    #[serde(skip)]
    pub(super) exit: Exit,
}

impl Look {
    pub(super) fn ok(name: impl Into<String>, detail: impl Into<String>) -> Look {
        Look { name: name.into(), status: Grade::Ok, detail: detail.into(), advice: None, exit: Exit::Ok }
    }

    pub(super) fn warning(name: impl Into<String>, detail: impl Into<String>) -> Look {
        Look { status: Grade::Warning, ..Look::ok(name, detail) }
    }

    pub(super) fn skipped(name: impl Into<String>, detail: impl Into<String>) -> Look {
        Look { status: Grade::Skipped, ..Look::ok(name, detail) }
    }

    pub(super) fn error(name: impl Into<String>, detail: impl Into<String>, exit: Exit) -> Look {
        Look { status: Grade::Error, exit, ..Look::ok(name, detail) }
    }

    pub(super) fn advice(self, advice: impl Into<String>) -> Look {
        Look { advice: Some(advice.into()), ..self }
    }

    pub(super) fn maybe_advice(self, advice: Option<String>) -> Look {
        Look { advice, ..self }
    }
}
