//! What can be in the way of somebody who looks at a state or changes it.

use pico_state::StateError;

/// Why a state was not shown or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StateError),
    /// The plugin does not go on from this state.
    #[error("the plugin does not take this state: {0}")]
    Plugin(String),
    /// What was given is no exported state.
    #[error("{0}")]
    Document(String),
    /// The source runs, or might.
    #[error("the source is {0}; its state is written only while it is stopped")]
    NotStopped(&'static str),
}

impl Trouble {
    /// Stable and dotted.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Trouble::Store(StateError::InUse) => "state.not_stopped",
            Trouble::Store(error) => error.code(),
            Trouble::Plugin(_) => "state.not_taken",
            Trouble::Document(_) => "state.bad_document",
            Trouble::NotStopped(_) => "state.not_stopped",
        }
    }
}
