//! What the plugin of a source can do while the source is stopped: its commands without an instance, and its look at the
//! system it reads.

use std::sync::Arc;
use std::time::Duration;

use pico_actors::plugin;
use pico_config::{Definition, Limits, Plugins};
use pico_state::{AnyStore, StateError};
use picomq_connector_sdk::ffi::host::{CommandError, Library, Mode, TracingSink};
use serde_json::Value;

use crate::wiring;

/// A plugin that needs longer is not well.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// One stopped source.
pub(crate) struct Maintenance {
    definition: Arc<Definition>,
    plugins: Plugins,
    limits: Limits,
    /// None: nothing was ever saved.
    store: Option<AnyStore>,
}

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwilling {
    /// What is saved cannot be had, or somebody runs the source.
    #[error(transparent)]
    Store(#[from] StateError),
    /// The plugin is not found, or does not fit.
    #[error("{0}")]
    NoPlugin(String),
    /// It has no such command.
    #[error("{0}")]
    Unknown(String),
    /// It said no.
    #[error("{0}")]
    Failed(String),
    /// It did not answer.
    #[error("the plugin did not answer within {} s", ANSWER_WITHIN.as_secs())]
    Silent,
}

impl Unwilling {
    /// Stable and dotted.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Unwilling::Store(StateError::InUse) => "source.not_stopped",
            Unwilling::Store(error) => error.code(),
            Unwilling::NoPlugin(_) => "plugin.not_loaded",
            Unwilling::Unknown(_) => "plugin.unknown_command",
            Unwilling::Failed(_) => "plugin.command_failed",
            Unwilling::Silent => "plugin.silent",
        }
    }
}

impl Maintenance {
    pub(crate) fn new(
        definition: Arc<Definition>,
        plugins: &Plugins,
        limits: Limits,
        store: Option<AnyStore>,
    ) -> Maintenance {
        Maintenance { definition, plugins: plugins.clone(), limits, store }
    }

    /// What the command sees and would do; nothing is changed, and the source may run meanwhile.
    pub(crate) async fn look(&self, name: &str, arguments: &str) -> Result<Value, Unwilling> {
        let state = match &self.store {
            Some(store) => store.read(&self.definition.key).await?.state,
            None => None,
        };
        self.ask(Mode::Inspect, state, (name, arguments)).await
    }

    /// Whether nobody runs the source at this moment.
    pub(crate) async fn check_free(&self) -> Result<(), Unwilling> {
        if let Some(store) = &self.store {
            store.borrow(&self.definition.key).await?;
        }
        Ok(())
    }

    /// Does it, and keeps everybody else from running the source meanwhile.
    pub(crate) async fn carry_out(&self, name: &str, arguments: &str) -> Result<Value, Unwilling> {
        let Some(store) = &self.store else { return self.ask(Mode::Run, None, (name, arguments)).await };
        let (_held, saved) = store.borrow(&self.definition.key).await?;
        self.ask(Mode::Run, saved.state, (name, arguments)).await
    }

    async fn ask(
        &self,
        mode: Mode,
        state: Option<Vec<u8>>,
        (name, arguments): (&str, &str),
    ) -> Result<Value, Unwilling> {
        let (definition, library) = self.library().await?;
        let host = Arc::new(TracingSink::new(definition.key.as_str()));
        let request = plugin::request(&definition, &self.limits, mode, state, host);
        let answer = tokio::time::timeout(ANSWER_WITHIN, library.maintain(request, name, arguments)).await;
        let text = match answer {
            Ok(Ok(text)) => text,
            Ok(Err(CommandError::Unknown(text))) => return Err(Unwilling::Unknown(text)),
            Ok(Err(CommandError::Failed(text) | CommandError::Panicked(text))) => {
                return Err(Unwilling::Failed(text));
            }
            Err(_elapsed) => return Err(Unwilling::Silent),
        };
        serde_json::from_str(&text)
            .map_err(|cause| Unwilling::Failed(format!("it answered what is no JSON: {cause}")))
    }

    async fn library(&self) -> Result<(Arc<Definition>, Arc<Library>), Unwilling> {
        let (definition, plugins) = (self.definition.clone(), self.plugins.clone());
        let finding = tokio::task::spawn_blocking(move || {
            wiring::find(&definition, &plugins).map_err(|failure| failure.cause.message)
        });
        finding.await.map_err(|panic| Unwilling::NoPlugin(panic.to_string()))?.map_err(Unwilling::NoPlugin)
    }
}
