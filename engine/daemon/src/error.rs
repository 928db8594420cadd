//! The one error type of the binary: variants by the exit code they lead to.

use pico_config::Finding;

use crate::cli::Format;
use crate::findings;
use crate::leave::Exit;
use crate::output;

/// Why a verb ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Files, variables or arguments that cannot be used: all findings, warnings among them.
    #[error("{}", one_line(.0))]
    Config(Vec<Finding>),
    /// Something outside is not as needed; a person can change it.
    #[error("{reason}")]
    Environment {
        /// Stable and dotted.
        code: &'static str,
        /// What is in the way, named.
        reason: String,
        /// What to do.
        hint: Option<String>,
        /// What the system said.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// A daemon said no, in its own words.
    #[error("{reason}")]
    Refused {
        /// Stable and dotted, the daemon's.
        code: String,
        /// What was refused and why.
        reason: String,
        /// What to do.
        hint: Option<String>,
        /// Whether the way there is at fault (key, address) and not what was asked for.
        is_environment: bool,
    },
    /// It failed while running.
    #[error("{reason}")]
    Runtime {
        /// Stable and dotted.
        code: &'static str,
        /// What failed.
        reason: String,
        /// What the part that failed said.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

impl Error {
    /// An obstacle outside the process.
    pub(crate) fn environment(code: &'static str, reason: impl Into<String>) -> Error {
        Error::Environment { code, reason: reason.into(), hint: None, source: None }
    }

    /// A failure while running.
    pub(crate) fn runtime(code: &'static str, reason: impl Into<String>) -> Error {
        Error::Runtime { code, reason: reason.into(), source: None }
    }

    /// Adds what to do.
    pub(crate) fn with_hint(mut self, text: impl Into<String>) -> Error {
        if let Error::Environment { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// Adds what was said below.
    pub(crate) fn because(mut self, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
        match &mut self {
            Error::Environment { source, .. } | Error::Runtime { source, .. } => {
                *source = Some(Box::new(cause))
            }
            Error::Config(_) | Error::Refused { .. } => {}
        }
        self
    }

    /// The exit code this leads to.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Error::Config(_) => Exit::Config,
            Error::Environment { .. } | Error::Refused { is_environment: true, .. } => Exit::Environment,
            Error::Runtime { .. } | Error::Refused { is_environment: false, .. } => Exit::Runtime,
        }
    }

    /// Stable and dotted.
    pub(crate) fn code(&self) -> &str {
        match self {
            Error::Config(_) => "config.refused",
            Error::Refused { code, .. } => code,
            Error::Environment { code, .. } | Error::Runtime { code, .. } => code,
        }
    }

    /// What to do.
    pub(crate) fn hint(&self) -> Option<&str> {
        match self {
            Error::Environment { hint, .. } | Error::Refused { hint, .. } => hint.as_deref(),
            Error::Config(_) | Error::Runtime { .. } => None,
        }
    }
}

/// The error with everything below it, as one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// Prints the error to standard error in the format asked for and gives the exit code it leads to.
pub(crate) fn report(error: &Error, format: Format) -> Exit {
    let text = match (error, format) {
        (Error::Config(list), _) => findings::render(list, format, output::Stream::Stderr),
        (Error::Environment { .. } | Error::Refused { .. } | Error::Runtime { .. }, Format::Json) => {
            let body =
                serde_json::json!({ "code": error.code(), "reason": chain(error), "hint": error.hint() });
            format!("{body}\n")
        }
        (
            Error::Environment { .. } | Error::Refused { .. } | Error::Runtime { .. },
            Format::Human | Format::Github,
        ) => {
            let hint = error.hint().map(|hint| format!("  hint: {hint}\n")).unwrap_or_default();
            format!("{}\n  {}\n{hint}", error.code(), chain(error))
        }
    };
    output::write(output::Stream::Stderr, &text);
    error.exit()
}

fn one_line(findings: &[Finding]) -> String {
    findings.iter().map(Finding::summary).collect::<Vec<_>>().join("; ")
}
