//! A checked source definition: what one file says, with environment overrides and references applied.

use std::path::PathBuf;

use crate::block::TopicBlock;
use crate::error_policy::ErrorPolicy;
use crate::expectation::RecordTest;
use crate::finding::Location;
use crate::key::SourceKey;
use crate::plugin_config::PluginConfig;
use crate::supervision::Supervision;
use crate::transform::Transform;
use crate::written::Written;

/// One source. Equality is over resolved values and leaves out file, line and tests, so that a moved or touched file without
/// a change of what runs restarts nothing.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Identity; names the state file.
    pub key: SourceKey,
    /// False: listed as stopped, never opened (true).
    pub enabled: bool,
    /// Version as the file counts it (0).
    pub version: u64,
    /// Name for people (the key).
    pub name: String,
    /// Library as written; `find_plugin` resolves it.
    pub path: String,
    /// Where `path` stands, for findings about the library.
    pub path_location: Location,
    /// Batches in flight, 1 to 64 (1); above 1 only for a plugin that declares `pipelined`.
    pub max_in_flight: u32,
    /// How the API renders the plugin's configuration (toml).
    pub plugin_config_format: PluginConfigFormat,
    /// Per-batch log lines at info instead of debug (false).
    pub verbose: bool,
    /// A timing event per batch on the target `picomq_connectors::benchmark` (false).
    pub benchmark: bool,
    /// At least one; every record goes to every block.
    pub topics: Vec<TopicBlock>,
    /// In the order written.
    pub transforms: Vec<Transform>,
    /// For the plugin, unread by the engine.
    pub plugin_config: PluginConfig,
    /// Merged over the engine's.
    pub supervision: Supervision,
    /// What happens to a record that cannot go on.
    pub errors: ErrorPolicy,
    /// What `pico-connectors test` runs; nothing else looks at them.
    pub tests: Vec<RecordTest>,
    /// The file it was read from.
    pub file: PathBuf,
    /// As the file writes it: without variables, references unexpanded.
    pub written: Written,
}

impl PartialEq for Definition {
    fn eq(&self, other: &Definition) -> bool {
        // Taken apart without `..`, so that a new field cannot be forgotten here.
        let Definition {
            key,
            enabled,
            version,
            name,
            path,
            max_in_flight,
            plugin_config_format,
            verbose,
            benchmark,
            topics,
            transforms,
            plugin_config,
            supervision,
            errors,
            tests: _,
            path_location: _,
            file: _,
            written: _,
        } = self;
        *key == other.key
            && *enabled == other.enabled
            && *version == other.version
            && *name == other.name
            && *path == other.path
            && *max_in_flight == other.max_in_flight
            && *plugin_config_format == other.plugin_config_format
            && *verbose == other.verbose
            && *benchmark == other.benchmark
            && *topics == other.topics
            && *transforms == other.transforms
            && *plugin_config == other.plugin_config
            && *supervision == other.supervision
            && *errors == other.errors
    }
}

/// How the API shows `plugin_config`; the plugin gets JSON whatever stands here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the words of the file")]
pub enum PluginConfigFormat {
    Json,
    Yaml,
    Toml,
    Text,
}
