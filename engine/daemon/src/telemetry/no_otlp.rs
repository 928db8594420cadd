//! In place of `otlp` in a build without the feature `otel`: says so to whoever asks for telemetry.

use std::path::PathBuf;

use pico_config::{Engine, Finding, Location, Severity};
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::Registry;

use crate::error::Error;

/// Nothing of this type is ever made.
pub(crate) enum Otlp {}

impl Otlp {
    /// None while it is switched off.
    ///
    /// # Errors
    /// It is switched on.
    pub(crate) fn start(engine: &Engine) -> Result<Option<Otlp>, Error> {
        if !engine.telemetry.enabled {
            return Ok(None);
        }
        let reason = "this build sends no telemetry".to_owned();
        let location = Location::File(engine.file.clone().unwrap_or_else(|| PathBuf::from("config.toml")));
        let finding = Finding::new("config.not_in_this_build", Severity::Error, location, reason)
            .with_path("telemetry.enabled")
            .with_hint("build with `--features pico-connectors/otel`, or take it out: metrics are served at http.metrics.endpoint");
        Err(Error::Config(vec![finding]))
    }

    pub(crate) fn layers(&self, _: EnvFilter) -> Vec<Box<dyn Layer<Registry> + Send + Sync>> {
        match *self {}
    }

    pub(crate) fn flush(&self) {
        match *self {}
    }
}
