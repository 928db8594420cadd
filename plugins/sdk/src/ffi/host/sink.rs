//! Logs of plugins as events of the engine's own `tracing`.

use tracing::{Level, event};

use crate::host::{HostSink, LogEvent};
use crate::report::Report;

/// Emits what a source logs as a `tracing` event with the source's key, for engines that want no more. Reports are
/// dropped.
#[derive(Clone, Debug)]
pub struct TracingSink {
    key: String,
}

impl TracingSink {
    /// For the source of this key.
    pub fn new(key: impl Into<String>) -> TracingSink {
        TracingSink { key: key.into() }
    }
}

impl HostSink for TracingSink {
    fn log(&self, event: &LogEvent<'_>) {
        emit(Some(&self.key), event);
    }

    fn report(&self, _: Report) {}
}

/// Emits `event`, under a fixed target: level and target of a `tracing` event are static, so the plugin's own target
/// and fields travel as the fields `module` and `fields`.
pub fn emit(key: Option<&str>, event: &LogEvent<'_>) {
    let module = event.target;
    let fields = joined(event.fields);
    let message = event.message;
    macro_rules! at {
        ($level:expr) => {
            event!(target: "plugin", $level, source = key, module, fields, "{message}")
        };
    }
    match event.level {
        Level::ERROR => at!(Level::ERROR),
        Level::WARN => at!(Level::WARN),
        Level::INFO => at!(Level::INFO),
        Level::DEBUG => at!(Level::DEBUG),
        Level::TRACE => at!(Level::TRACE),
    }
}

/// `name=value name=value`, or nothing.
fn joined(fields: &[(&str, &str)]) -> Option<String> {
    if fields.is_empty() {
        return None;
    }
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Some(fields.join(" "))
}
