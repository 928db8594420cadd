//! What a plugin says about a state: what it means, and whether it goes on from it. Nothing is delivered for that.

use std::sync::Arc;
use std::time::Duration;

use pico_actors::plugin;
use pico_config::{Definition, Limits, Plugins};
use picomq_connector_sdk::ffi::host::{CommandError, Library, Mode, OpenError, TracingSink};
use serde_json::Value;

use crate::wiring;

/// Describing a state needs no network, so this is long.
const DESCRIBED_WITHIN: Duration = Duration::from_secs(10);

/// The plugin of one definition, found when it is asked.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    definition: Arc<Definition>,
    plugins: Plugins,
    limits: Limits,
}

impl Reader {
    pub(crate) fn new(definition: Arc<Definition>, plugins: &Plugins, limits: Limits) -> Reader {
        Reader { definition, plugins: plugins.clone(), limits }
    }

    /// What the bytes mean, as JSON; the error says why nobody can tell.
    pub(crate) async fn describe(&self, state: &[u8]) -> Result<Value, String> {
        let (_, library) = self.library().await?;
        let described = tokio::time::timeout(DESCRIBED_WITHIN, library.describe_state(state)).await;
        match described {
            Ok(Ok(text)) => {
                serde_json::from_str(&text).map_err(|error| format!("it answered no JSON: {error}"))
            }
            Ok(Err(
                CommandError::Unknown(text) | CommandError::Failed(text) | CommandError::Panicked(text),
            )) => Err(text),
            Err(_elapsed) => Err(format!("no answer within {} s", DESCRIBED_WITHIN.as_secs())),
        }
    }

    /// Opens an instance on `state` that only looks, and ends it: it creates, drops and owes nothing.
    pub(crate) async fn accepts(&self, state: Vec<u8>) -> Result<(), String> {
        let (definition, library) = self.library().await?;
        // An instance that only looks has nothing to report.
        let host = Arc::new(TracingSink::new(definition.key.as_str()));
        let request = plugin::request(&definition, &self.limits, Mode::Inspect, Some(state), host);
        match library.open(request).await {
            Ok(instance) => {
                instance.close().await;
                Ok(())
            }
            Err(error) => Err(said(error)),
        }
    }

    async fn library(&self) -> Result<(Arc<Definition>, Arc<Library>), String> {
        let (definition, plugins) = (self.definition.clone(), self.plugins.clone());
        let finding = tokio::task::spawn_blocking(move || {
            wiring::find(&definition, &plugins).map_err(|failure| failure.cause.message)
        });
        finding.await.map_err(|panic| panic.to_string())?
    }
}

fn said(error: OpenError) -> String {
    match error {
        OpenError::Config(text)
        | OpenError::State(text)
        | OpenError::Permanent(text)
        | OpenError::Transient(text)
        | OpenError::Panicked(text)
        | OpenError::Hung(text) => text,
    }
}
