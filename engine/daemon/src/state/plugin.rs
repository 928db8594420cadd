//! What a plugin says about a state: what it means, and whether it goes on from it. Nothing is delivered for that.

use std::sync::Arc;
use std::time::Duration;

use pico_config::{Definition, Limits, Plugins};
use picomq_connector_sdk::ffi::host::{
    CommandError, HostSink, Library, LogEvent, Mode, OpenError, OpenRequest, Report, emit,
};
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
        match library.open(self.request(&definition, state)).await {
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
            let (definition, path) = wiring::find(definition, &plugins).map_err(|cause| cause.message)?;
            let library = Library::load(&path).map_err(|error| error.to_string())?;
            Ok::<_, String>((definition, library))
        });
        finding.await.map_err(|panic| panic.to_string())?
    }

    fn request(&self, definition: &Definition, state: Vec<u8>) -> OpenRequest {
        OpenRequest {
            key: definition.key.as_str().to_owned(),
            config_json: definition.plugin_config.expose_json().to_owned(),
            state: Some(state),
            mode: Mode::Inspect,
            limits: picomq_connector_sdk::Limits {
                batch_records: self.limits.batch_records,
                batch_bytes: self.limits.batch_bytes,
            },
            record_bytes: self.limits.record_bytes,
            open_timeout: definition.supervision.open_timeout,
            verdict_timeout: definition.supervision.verdict_timeout,
            host: Arc::new(LogOnly { key: definition.key.as_str().to_owned() }),
        }
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

/// An instance that only looks has nothing to report.
struct LogOnly {
    key: String,
}

impl HostSink for LogOnly {
    fn log(&self, event: &LogEvent<'_>) {
        emit(Some(&self.key), event);
    }

    fn report(&self, _: Report) {}
}
