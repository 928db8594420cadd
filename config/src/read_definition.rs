//! From a checked file to a definition.

use std::path::Path;

use serde_json::Value;

use crate::block::TopicBlock;
use crate::checked::{Checked, Fields, Item};
use crate::context::{Context, Draft, Place};
use crate::definition::{Definition, PluginConfigFormat};
use crate::error_policy::read_errors;
use crate::finding::Location;
use crate::key::SourceKey;
use crate::plugin_config::PluginConfig;
use crate::plugin_schema::TableInFile;
use crate::read_block::{one_deadline, read_block};
use crate::read_expectations::read_tests;
use crate::read_supervision::read_supervision;
use crate::read_transform::read_transforms;
use crate::resolved_tree::{as_written, resolve_tree};
use crate::supervision::Supervision;
use crate::tree::{Node, Raw, to_json};
use crate::written::Written;

/// None when a finding says why not.
pub(crate) fn read_definition(
    cx: &mut Context<'_>,
    fields: &Fields,
    defaults: &Supervision,
) -> Option<Definition> {
    let key = read_key(cx, fields);
    let path = read_path(cx, fields);
    let (topics, deadline) = read_topics(cx, fields);
    let transforms = read_transforms(cx, fields);
    let mut supervision = read_supervision(cx, fields, defaults);
    if let Some((deadline, place)) = deadline {
        let written = fields.table("supervision").and_then(|table| table.time("batch_deadline"));
        if written.is_some_and(|written| written != deadline) {
            let reason = "the message timeout of a block and [supervision] batch_deadline differ";
            cx.add(&place, Draft::error("config.batch_deadline", reason).hint("take the property out"));
        }
        supervision.batch_deadline = deadline;
    }
    let plugin_config = read_plugin_config(cx, fields);
    let errors = read_errors(cx, fields, &topics);
    let tests = read_tests(cx, fields, fields.list("topics").len());
    let (key, (path, path_location)) = (key?, path?);
    Some(Definition {
        enabled: fields.flag("enabled").unwrap_or(true),
        version: fields.number("version").unwrap_or(0),
        name: fields.text("name").map_or(key.as_str(), |(name, _)| name).to_owned(),
        path,
        path_location,
        max_in_flight: fields.number_u32("max_in_flight").unwrap_or(1),
        plugin_config_format: plugin_config_format(fields),
        verbose: fields.flag("verbose").unwrap_or(false),
        benchmark: fields.flag("benchmark").unwrap_or(false),
        topics,
        transforms,
        plugin_config: plugin_config?,
        supervision,
        errors,
        tests,
        file: cx.text.file().to_owned(),
        written: Written::default(),
        key,
    })
}

fn read_key(cx: &mut Context<'_>, fields: &Fields) -> Option<SourceKey> {
    let (text, place) = fields.text("key")?;
    SourceKey::parse(text).map_err(|error| cx.add(place, Draft::parse("config.bad_key", error))).ok()
}

fn read_path(cx: &mut Context<'_>, fields: &Fields) -> Option<(String, Location)> {
    let (text, place) = fields.text("path")?;
    let leaves = Path::new(text).components().any(|part| part == std::path::Component::ParentDir);
    let reason = if text.is_empty() {
        "`path` is empty"
    } else if leaves {
        "`path` must not contain `..`"
    } else if text.contains('\0') {
        "`path` must not contain a NUL character"
    } else {
        return Some((text.to_owned(), cx.location(place)));
    };
    let hint = "write the name of the library, and its folder into [plugins] directories of config.toml";
    cx.add(place, Draft::error("config.bad_path", reason).hint(hint));
    None
}

type FoundDeadline = (std::time::Duration, Place);

fn read_topics(cx: &mut Context<'_>, fields: &Fields) -> (Vec<TopicBlock>, Option<FoundDeadline>) {
    let blocks = fields.list("topics");
    let (mut topics, mut deadlines) = (Vec::with_capacity(blocks.len()), Vec::new());
    for item in blocks {
        if let Checked::Table(block) = &item.value
            && let Some(read) = read_block(cx, block)
        {
            topics.push(read.block);
            deadlines.extend(read.deadline);
        }
    }
    if let Some(item) = fields.get("topics").filter(|_| fields.list("topics").is_empty()) {
        let hint = "write a [[topics]] block with a topic";
        cx.add(&item.place, Draft::error("config.no_topics", "the source has no topics").hint(hint));
    }
    let deadline = one_deadline(cx, deadlines).map(|deadline| (deadline.time, deadline.place));
    (topics, deadline)
}

fn plugin_config_format(fields: &Fields) -> PluginConfigFormat {
    match fields.word("plugin_config_format") {
        Some("json") => PluginConfigFormat::Json,
        Some("yaml") => PluginConfigFormat::Yaml,
        Some("text") => PluginConfigFormat::Text,
        Some(_) | None => PluginConfigFormat::Toml,
    }
}

/// Without a table of its own the plugin gets an empty one, and findings point to the file as a whole.
fn read_plugin_config(cx: &mut Context<'_>, fields: &Fields) -> Option<PluginConfig> {
    let empty = Node { value: Raw::Table(Vec::new()), origin: fields.place.origin.clone() };
    let (node, place) = match fields.get("plugin_config") {
        Some(Item { value: Checked::Free(node), place }) => (node, place.clone()),
        Some(_) => return None,
        None if fields.has_failed("plugin_config") => return None,
        None => (&empty, fields.place.member("plugin_config", &empty.origin)),
    };
    let tree = resolve_tree(cx, node, &place);
    let Some(Value::Object(written)) = to_json(&as_written(node)) else { return None };
    PluginConfig::read(TableInFile { tree, place, text: cx.text.clone() }, written)
}
