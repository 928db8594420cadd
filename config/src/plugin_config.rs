//! The plugin's own configuration: opaque to the engine, JSON for the plugin, never printed.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::finding::{Finding, Location, Severity};
use crate::plugin_refusal;
use crate::plugin_schema::{self, TableInFile};
use crate::secret::{Secret, has_password, is_secret_name};
use crate::tree::to_json;

/// `[plugin_config]` in two forms: *resolved* for the plugin, *as written* (references unexpanded) for people.
#[derive(Clone)]
pub struct PluginConfig {
    resolved: Secret,
    written: Map<String, Value>,
    table: Option<Arc<TableInFile>>,
}

impl PluginConfig {
    /// Both forms of one table.
    pub fn new(resolved: &Map<String, Value>, written: Map<String, Value>) -> PluginConfig {
        PluginConfig { resolved: printed(resolved), written, table: None }
    }

    /// A table of a file. None: it holds a number JSON has not, which has its finding.
    pub(crate) fn read(table: TableInFile, written: Map<String, Value>) -> Option<PluginConfig> {
        let Some(Value::Object(resolved)) = to_json(&table.tree) else { return None };
        Some(PluginConfig { resolved: printed(&resolved), written, table: Some(Arc::new(table)) })
    }

    /// Holds the table against the plugin's own JSON Schema: values out of variables get the types it names, and what
    /// does not fit is found with its line. To be called once the library is loaded, before the plugin is opened and
    /// before two definitions are compared; findings that are errors mean the plugin would refuse the table too.
    pub fn fit(&mut self, schema: &Value) -> Vec<Finding> {
        let Some(table) = &self.table else { return Vec::new() };
        let (tree, findings) = plugin_schema::fit(table, schema);
        if let Some(Value::Object(resolved)) = to_json(&tree) {
            self.resolved = printed(&resolved);
        }
        findings
    }

    /// What the plugin itself says against its settings in `file`: at the line of the setting that it names, else at
    /// the table.
    pub fn refused(&self, file: &Path, reason: &str) -> Finding {
        match &self.table {
            Some(table) => plugin_refusal::finding(table, reason),
            None => {
                let location = Location::File(file.to_owned());
                Finding::new(plugin_refusal::CODE, Severity::Error, location, reason)
                    .with_path("plugin_config")
            }
        }
    }

    /// A table without references.
    pub fn from_json(table: Map<String, Value>) -> PluginConfig {
        PluginConfig::new(&table, table.clone())
    }

    /// The JSON text for the plugin's open, secrets included. For nothing else.
    pub fn expose_json(&self) -> &str {
        self.resolved.expose()
    }

    /// The table for people: references stay references, values of secret-sounding names and URLs with a password
    /// are replaced by `***`. `is_secret` adds what the plugin's own schema says, by the dotted path of a value.
    pub fn shown(&self, is_secret: &dyn Fn(&str) -> bool) -> Map<String, Value> {
        shown_map(&self.written, "", is_secret)
    }
}

impl PartialEq for PluginConfig {
    fn eq(&self, other: &PluginConfig) -> bool {
        self.resolved == other.resolved
    }
}

impl fmt::Debug for PluginConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PluginConfig({} keys, values redacted)", self.written.len())
    }
}

fn printed(table: &Map<String, Value>) -> Secret {
    Secret::new(serde_json::to_string(table).expect("a JSON map with text keys always prints"))
}

/// Stands for a value that is not shown.
pub(crate) const HIDDEN: &str = "***";

pub(crate) fn shown_map(
    map: &Map<String, Value>,
    path: &str,
    is_secret: &dyn Fn(&str) -> bool,
) -> Map<String, Value> {
    map.iter()
        .map(|(name, value)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let hidden = is_secret_name(name) || is_secret(&path);
            (name.clone(), shown_value(value, &path, hidden, is_secret))
        })
        .collect()
}

fn shown_value(value: &Value, path: &str, hidden: bool, is_secret: &dyn Fn(&str) -> bool) -> Value {
    match value {
        Value::Object(map) if !hidden => Value::Object(shown_map(map, path, is_secret)),
        Value::Array(items) if !hidden => {
            Value::Array(items.iter().map(|item| shown_value(item, path, hidden, is_secret)).collect())
        }
        Value::String(text) if is_reference(text) => value.clone(),
        Value::String(text) if has_password(text) => Value::String(HIDDEN.to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) if !hidden => value.clone(),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => Value::String(HIDDEN.to_owned()),
    }
}

/// Whether the whole text is one reference, which tells nothing but a name. A default is a value, not a name.
fn is_reference(text: &str) -> bool {
    let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| !inner.contains(['$', '}']) && !inner.contains(":-"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn debug_shows_no_value() {
        let config = PluginConfig::from_json(map(json!({"password": "hunter2", "mode": "cdc"})));
        assert_eq!(format!("{config:?}"), "PluginConfig(2 keys, values redacted)");
    }

    #[test]
    fn what_is_shown_keeps_references_and_hides_secrets() {
        let config = PluginConfig::from_json(map(json!({
            "password": "hunter2", "token": "${env:TOKEN}", "api_key": "${env:A:-hunter2}", "mode": "cdc",
            "url": "postgres://u:hunter2@db/app", "dsn": "host=db password=hunter2", "pin": 1234,
            "nested": {"client_secret": ["hunter2"], "tables": ["a"]},
        })));
        assert_eq!(
            Value::Object(config.shown(&|path| path == "pin")),
            json!({
                "password": "***", "token": "${env:TOKEN}", "api_key": "***", "mode": "cdc",
                "url": "***", "dsn": "***", "pin": "***",
                "nested": {"client_secret": "***", "tables": ["a"]},
            })
        );
    }

    #[test]
    fn equality_is_over_what_the_plugin_gets() {
        let one = PluginConfig::new(&map(json!({"a": "x"})), map(json!({"a": "${env:A}"})));
        let two = PluginConfig::new(&map(json!({"a": "x"})), map(json!({"a": "x"})));
        let three = PluginConfig::new(&map(json!({"a": "y"})), map(json!({"a": "${env:A}"})));
        assert_eq!(one, two);
        assert_ne!(one, three);
    }
}
