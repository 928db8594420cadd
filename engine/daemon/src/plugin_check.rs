//! What a plugin says of its settings before anything is opened.

use std::sync::Arc;

use pico_actors::plugin;
use pico_config::{Definition, Finding, Limits};
use picomq_connector_sdk::ffi::host::{Library, Mode, TracingSink};

/// Why the plugin would not open with these settings, whatever the system it reads says. Nothing for a plugin that does not
/// say. Blocks; on a thread of its own, so that it may be called from within a runtime too.
pub(crate) fn refusal(definition: &Definition, library: &Arc<Library>, limits: &Limits) -> Option<Finding> {
    let asked = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().ok()?;
            let host = Arc::new(TracingSink::new(definition.key.as_str()));
            let request = plugin::request(definition, limits, Mode::Inspect, None, host);
            // What it would do about a panic or a hang of the plugin, an opening does.
            runtime.block_on(library.check(request)).err()
        });
        asking.join().ok().flatten()
    });
    asked.map(|error| definition.plugin_config.refused(&definition.file, &error.to_string()))
}
