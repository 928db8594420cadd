//! The process as the handlers of the API see it.

use std::path::PathBuf;

use pico_actors::handle::Engine;
use pico_config::{Limits, Plugins};
use pico_state::AnyStore;
use serde::Serialize;

use super::readiness::Readiness;
use super::streams::Streams;
use crate::events::Events;
use crate::plugins::Catalog;
use crate::process::{Meter, Started};
use crate::reload::Reloads;
use crate::telemetry::Metrics;

/// What the handlers look at.
pub(crate) struct Api {
    /// The sources.
    pub(crate) engine: Engine,
    /// Where checkpoints are kept.
    pub(crate) store: AnyStore,
    /// Where the plugin of a state is found.
    pub(crate) plugin_folders: Plugins,
    /// What an instance that looks at a state is opened with.
    pub(crate) limits: Limits,
    /// Whether the process may be sent work.
    pub(crate) readiness: Readiness,
    /// None: metrics are switched off.
    pub(crate) metrics: Option<Metrics>,
    /// Path of the metrics.
    pub(crate) metrics_endpoint: String,
    /// When the process began.
    pub(crate) started: Started,
    /// CPU shares between two looks.
    pub(crate) meter: Meter,
    /// Where the process reads and writes.
    pub(crate) paths: Paths,
    /// What libraries can be found.
    pub(crate) plugins: Catalog,
    /// None: definitions are not taken up again.
    pub(crate) reloads: Option<Reloads>,
    /// What happened lately.
    pub(crate) events: Events,
    /// Places of clients that listen.
    pub(crate) streams: Streams,
    /// What is unsafe about the configuration, for `/stats`.
    pub(crate) warnings: Vec<String>,
}

/// Absolute paths, so that nobody has to guess which folder a daemon means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Paths {
    /// The configuration; null when built-in defaults are used.
    pub(crate) config: Option<PathBuf>,
    /// Folder of the definitions.
    pub(crate) definitions: PathBuf,
    /// Folder of the checkpoints, or origin of the server that keeps them.
    pub(crate) state: String,
    /// Folders in which plugins are looked for, in this order.
    pub(crate) plugins: Vec<PathBuf>,
}
