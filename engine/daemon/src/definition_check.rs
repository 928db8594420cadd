//! What can be said against a checked definition once its library and the Kafka client are at hand, but nothing runs.

use std::path::Path;
use std::sync::Arc;

use pico_config::{Action, Definition, Engine, Finding, Limits, Location, Plugins, RecordSchema, Severity};
use pico_record::codec::{Codec, SchemaError, registered};
use pico_record::{RecordPath, RuleError};
use picomq_connector_sdk::ffi::host::{LOADED_WITHIN, Library, PluginInfo};
use serde_json::Value;

use crate::error::chain;
use crate::library;
use crate::plugin_check;
use crate::plugins::executable_folder;

/// Everything that would keep this definition from running, and what its plugin would ignore. Loads its library.
pub(crate) fn findings(definition: &Definition, engine: &Engine) -> Vec<Finding> {
    let mut all = properties(definition, engine);
    all.extend(schemas(definition, engine));
    match fitted(definition, &engine.plugins) {
        Ok((fitted, library, findings)) => {
            all.extend(findings);
            all.extend(plugin_check::refusal(&fitted, &library, &engine.limits));
        }
        Err(unfit) => all.extend(unfit.findings()),
    }
    all
}

/// Why a definition does not run with the library that it names.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// Another time it may.
    NotYet(Box<Finding>),
    /// Not until somebody changes something: everything that was found.
    Refused(Vec<Finding>),
}

impl Unfit {
    /// What is wrong.
    pub(crate) fn findings(self) -> Vec<Finding> {
        match self {
            Unfit::NotYet(finding) => vec![*finding],
            Unfit::Refused(findings) => findings,
        }
    }
}

/// The library that a definition names, the definition fitted to what it declares, and what is worth a look. Blocks until the
/// library is loaded, a minute at most.
///
/// # Errors
/// There is no such library, or the definition does not fit it: everything that was found.
pub(crate) fn fitted(
    definition: &Definition,
    plugins: &Plugins,
) -> Result<(Definition, Arc<Library>, Vec<Finding>), Unfit> {
    let library = library(definition, plugins)?;
    let mut fitted = definition.clone();
    let findings = fit(&mut fitted, library.info());
    match findings.iter().any(Finding::is_error) {
        true => Err(Unfit::Refused(findings)),
        false => Ok((fitted, library, findings)),
    }
}

fn library(definition: &Definition, plugins: &Plugins) -> Result<Arc<Library>, Unfit> {
    let path = pico_config::find_plugin(&definition.path, plugins, &executable_folder());
    let path = path.map_err(|mut finding| {
        finding.location = definition.path_location.clone();
        Unfit::Refused(vec![*finding])
    })?;
    library::load(&path, LOADED_WITHIN).map_err(|error| {
        let location = definition.path_location.clone();
        let finding = Finding::new("plugin.not_loaded", Severity::Error, location, chain(&error));
        let finding = finding.with_path("path");
        if error.may_pass() { Unfit::NotYet(Box::new(finding)) } else { Unfit::Refused(vec![finding]) }
    })
}

/// The schema of the settings of this definition's plugin, if its library was loaded in this process.
pub(crate) fn known_schema(definition: &Definition) -> Option<Value> {
    let name = Path::new(&definition.path).file_stem()?.to_str()?.trim_start_matches("lib").to_owned();
    let is_it = |library: &Arc<Library>| {
        let stem = library.path().file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        stem.trim_start_matches("lib") == name
    };
    Library::all().into_iter().find(is_it).map(|library| library.info().config_schema.clone())
}

/// Whether a plugin's schema says of the value at this dotted path that it is not to be shown.
pub(crate) fn is_secret(schema: &Value, path: &str) -> bool {
    let mut at = schema;
    for name in path.split('.') {
        let name = name.split('[').next().unwrap_or(name);
        let below = at.get("properties").and_then(|properties| properties.get(name));
        let Some(below) = below.or_else(|| at.get("additionalProperties")) else { return false };
        at = below.get("items").unwrap_or(below);
        if at.get("writeOnly") == Some(&Value::Bool(true))
            || at.get("format") == Some(&Value::from("password"))
        {
            return true;
        }
    }
    false
}

/// Holds the definition against what its plugin declares. Values of `plugin_config` that came out of variables get
/// the types that the plugin names, so this comes before every opening.
pub(crate) fn fit(definition: &mut Definition, info: &PluginInfo) -> Vec<Finding> {
    let mut all = definition.plugin_config.fit(&info.config_schema);
    if definition.max_in_flight > 1 && !info.capabilities.pipelined {
        let reason = format!(
            "max_in_flight = {} is refused: the plugin {} takes one batch at a time",
            definition.max_in_flight, info.name
        );
        let location = place(&definition.file, "max_in_flight");
        let finding = Finding::new("config.not_pipelined", Severity::Error, location, reason);
        all.push(finding.with_path("max_in_flight").with_hint("remove the line, or set max_in_flight = 1"));
    }
    all
}

/// Why a schema cannot be used, or does not go with another.
fn schemas(definition: &Definition, engine: &Engine) -> Vec<Finding> {
    let of_blocks = definition.topics.iter().filter_map(|block| {
        let schema = block.record_schema.as_ref()?;
        let unknown = block.schema_registry.as_ref().and_then(|_| registered(&schema.source).err());
        bad_schema(schema).or_else(|| Some(finding_of(schema, &unknown?)))
    });
    let of_transforms = definition.transforms.iter().filter_map(|transform| match &transform.action {
        Action::Convert(conversion) => bad_schema(&conversion.schema),
        Action::AddFields(_)
        | Action::UpdateFields(_)
        | Action::DeleteFields(_)
        | Action::RenameFields(_) => None,
        Action::FilterFields(_) | Action::FilterRecords(_) | Action::MaskFields(_) => None,
        Action::UnwrapEnvelope(_) | Action::Jq(_) => None,
    });
    let all: Vec<Finding> = of_blocks.chain(of_transforms).collect();
    if !all.is_empty() {
        return all;
    }
    let refused = record_path(definition, &engine.limits, None).err();
    refused.map(|error| rule(definition, &error)).into_iter().collect()
}

fn bad_schema(schema: &RecordSchema) -> Option<Finding> {
    Codec::compile(&schema.source).err().map(|error| finding_of(schema, &error))
}

fn finding_of(schema: &RecordSchema, error: &SchemaError) -> Finding {
    let file = schema.file.as_ref().map_or(String::new(), |file| format!(" of {}", file.display()));
    let reason = format!("the {} schema{file} cannot be used: {error}", schema.source.schema());
    Finding::new("config.bad_schema", Severity::Error, schema.location.clone(), reason)
        .with_path(&schema.path)
}

/// Today's way of a source's records, as an opening makes it but for `[errors]`, which the caller adds. Without `ids` no
/// registry is asked, and schemas have the id 0.
pub(crate) fn record_path(
    definition: &Definition,
    limits: &Limits,
    ids: Option<&[Option<u32>]>,
) -> Result<RecordPath, RuleError> {
    let none = vec![Some(0); definition.topics.len()];
    let path = RecordPath::new(&definition.topics, limits)?;
    let mut path = path.with_transforms(&definition.transforms)?;
    path.set_schema_ids(&definition.topics, ids.unwrap_or(&none))?;
    Ok(path)
}

/// Rules that are right each by itself and make no record path together.
pub(crate) fn rule(definition: &Definition, error: &RuleError) -> Finding {
    let location = Location::File(definition.file.clone());
    Finding::new("config.rule", Severity::Error, location, error.to_string())
}

/// What librdkafka itself says of the settings; it is asked without a broker.
fn properties(definition: &Definition, engine: &Engine) -> Vec<Finding> {
    let refused = pico_broker::check(&engine.kafka, &engine.limits, &definition.topics);
    let finding = |found: pico_broker::Finding| {
        let name = found.name.unwrap_or_default();
        let reason = match name.is_empty() {
            true => found.reason,
            false => format!("librdkafka refuses {name}: {}", found.reason),
        };
        let (file, path) = match (found.block, &engine.file) {
            (Some(block), _) => (&definition.file, format!("topics[{block}].properties")),
            (None, Some(file)) => (file, "kafka".to_owned()),
            (None, None) => (&definition.file, "kafka".to_owned()),
        };
        let location = Location::File(file.clone());
        Finding::new("config.kafka_property", Severity::Error, location, reason).with_path(path)
    };
    refused.into_iter().map(finding).collect()
}

/// The line above the first table that sets `key`; the file as a whole when none does in that plain way. The loader has
/// read the file by now, so this is only a guide for the eye.
fn place(file: &Path, key: &str) -> Location {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let above_tables = text.lines().take_while(|line| !line.trim_start().starts_with('['));
    for (index, line) in above_tables.enumerate() {
        let trimmed = line.trim_start();
        if trimmed.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')) {
            let column = line.chars().count() - trimmed.chars().count() + 1;
            return Location::Place { file: file.to_owned(), line: index + 1, column };
        }
    }
    Location::File(file.to_owned())
}

#[cfg(test)]
mod tests {
    use pico_config::Env;
    use picomq_connector_sdk::Capabilities;
    use serde_json::json;

    use super::*;

    const TEXT: &str = "type = \"source\"\nkey = \"a\"\npath = \"lib\"\n  max_in_flight = 4\n[[topics]]\ntopic = \"x\"\n\
                        [plugin_config]\nsize = \"five\"\n";

    fn info(pipelined: bool) -> PluginInfo {
        PluginInfo {
            name: "counter".to_owned(),
            version: "1.0.0".to_owned(),
            abi: 1,
            capabilities: Capabilities { pipelined, ..Capabilities::default() },
            unwinds: true,
            config_schema: json!({ "type": "object", "properties": { "size": { "type": "integer" } } }),
        }
    }

    #[test]
    fn a_definition_is_held_against_what_its_plugin_declares_at_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        std::fs::write(&file, TEXT).unwrap();
        let engine = Engine::defaults(folder.path());
        let (definition, findings) = pico_config::check_definition(&file, TEXT, &engine, &Env::default());
        let mut definition = definition.unwrap_or_else(|| panic!("{findings:?}"));

        let codes = |findings: Vec<Finding>| -> Vec<_> {
            findings
                .iter()
                .map(|finding| (finding.code, finding.location.line(), finding.location.column()))
                .collect()
        };

        let wrong_type = ("config.wrong_type", Some(8), Some(8));
        assert_eq!(codes(fit(&mut definition, &info(true))), [wrong_type]);
        assert_eq!(
            codes(fit(&mut definition, &info(false))),
            [wrong_type, ("config.not_pipelined", Some(4), Some(3))]
        );
    }
}
