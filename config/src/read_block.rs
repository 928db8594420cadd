//! From a checked `[[topics]]` table to a block.

use std::time::Duration;

use picomq_connector_sdk::Schema;

use crate::block::{AllowedTopics, Replication, TopicBlock};
use crate::checked::{Fields, NamedText};
use crate::context::{Context, Draft, Place};
use crate::expression::Expression;
use crate::properties::{self, Deadline, Table};
use crate::read_registry::read_registry;
use crate::read_rule::read_rule;
use crate::read_schema::read_schema;
use crate::rule::Rule;
use crate::template::Template;

/// Headers that the engine writes itself begin so.
const OWN_HEADERS: &str = "picomq.";

/// A block, and the deadline its properties ask for.
pub(crate) struct ReadBlock {
    pub(crate) block: TopicBlock,
    pub(crate) deadline: Option<Deadline>,
}

/// None when a finding says why not; all findings of the block come in any case.
pub(crate) fn read_block(cx: &mut Context<'_>, fields: &Fields) -> Option<ReadBlock> {
    let rule = fields.get("topic").and_then(|item| read_rule(cx, item));
    let has_value = !matches!(rule, Some(Rule::Static(_)));
    only_one(cx, fields, "partitions");
    only_one(cx, fields, "replication_factor");
    let linger = linger(cx, fields);
    let when = when(cx, fields);
    let allowed_topics = allowed_topics(cx, fields, rule.as_ref());
    let record_key = fields.text("record_key").and_then(|(text, place)| template(cx, text, place, has_value));
    let headers = headers(cx, fields.texts("headers"), has_value);
    let (properties, deadline) = properties::read(cx, fields.texts("properties"), Table::Block);
    let schema = schema(fields);
    let record_schema = read_schema(cx, fields, schema);
    let schema_registry = read_registry(cx, fields, rule.as_ref(), schema);
    let base = TopicBlock::new(rule?);
    let block = TopicBlock {
        when,
        schema,
        record_schema,
        schema_registry,
        batch_length: fields.number_u32("batch_length").unwrap_or(base.batch_length),
        linger,
        create_topics: fields.flag("create_topics").unwrap_or(base.create_topics),
        replication: if fields.number("replication_factor").is_some() {
            Replication::One
        } else {
            base.replication
        },
        topic_config: topic_config(fields.texts("topic_config")),
        max_topics: fields.number_u32("max_topics").unwrap_or(base.max_topics),
        allowed_topics,
        record_key,
        headers,
        provenance: fields.flag("provenance").unwrap_or(base.provenance),
        properties,
        rule: base.rule,
    };
    Some(ReadBlock { block, deadline })
}

/// The `when` of a block or a transform.
pub(crate) fn when(cx: &mut Context<'_>, fields: &Fields) -> Option<Expression> {
    let (text, place) = fields.text("when")?;
    Expression::parse(text).map_err(|error| cx.add(place, Draft::parse("config.bad_expression", error))).ok()
}

fn schema(fields: &Fields) -> Schema {
    match fields.word("schema") {
        Some("raw") => Schema::Raw,
        Some("text") => Schema::Text,
        Some("proto") => Schema::Proto,
        Some("flatbuffer" | "flat_buffer") => Schema::FlatBuffer,
        Some("avro") => Schema::Avro,
        Some(_) | None => Schema::Json,
    }
}

fn only_one(cx: &mut Context<'_>, fields: &Fields, name: &str) {
    let Some(item) = fields.get(name).filter(|_| fields.number(name) != Some(1)) else { return };
    let given = fields.number(name).unwrap_or_default();
    let (code, hint) = if name == "partitions" {
        (
            "config.partitions_unsupported",
            "take the line out, or spread records with topic = { strategy = \"hash\", … }",
        )
    } else {
        ("config.replication_unsupported", "take the line out: the broker's default replication is then used")
    };
    let what =
        if name == "partitions" { "a topic has exactly one partition" } else { "only 1 may be written" };
    cx.add(&item.place, Draft::error(code, format!("`{name}` is {given}: {what}")).hint(hint));
}

fn linger(cx: &mut Context<'_>, fields: &Fields) -> Duration {
    let linger = fields.time("linger_time").unwrap_or_default();
    if let Some(item) = fields.get("linger_time").filter(|_| !linger.subsec_nanos().is_multiple_of(1_000_000))
    {
        let reason =
            format!("`linger_time` must be whole milliseconds, not {}", humantime::format_duration(linger));
        cx.add(&item.place, Draft::error("config.bad_duration", reason));
    }
    linger
}

fn allowed_topics(cx: &mut Context<'_>, fields: &Fields, rule: Option<&Rule>) -> Option<AllowedTopics> {
    let (text, place) = fields.text("allowed_topics")?;
    let allowed = match AllowedTopics::parse(text) {
        Ok(allowed) => allowed,
        Err(error) => {
            cx.add(place, Draft::parse("config.bad_regex", error));
            return None;
        }
    };
    let fixed = match rule {
        Some(Rule::Static(name)) => Some(name),
        Some(Rule::Dynamic { fallback, .. }) => fallback.as_ref(),
        None => None,
    };
    if let Some(name) = fixed.filter(|name| !allowed.allows(name)) {
        let reason = format!("`allowed_topics` does not allow this block's own topic `{name}`");
        cx.add(place, Draft::error("config.topic_not_allowed", reason).hint("it must match the whole name"));
    }
    Some(allowed)
}

fn template(cx: &mut Context<'_>, text: &str, place: &Place, has_value: bool) -> Option<Template> {
    match Template::parse(text) {
        Ok(template) if template.uses_value() && !has_value => {
            let reason = "`{value}` is the value of the topic's rule, and this topic has none";
            cx.add(place, Draft::error("config.bad_template", reason).hint("name the field: {field:PATH}"));
            None
        }
        Ok(template) => Some(template),
        Err(error) => {
            cx.add(place, Draft::parse("config.bad_template", error));
            None
        }
    }
}

fn headers(cx: &mut Context<'_>, texts: &[NamedText], has_value: bool) -> Vec<(String, Template)> {
    let mut headers = Vec::new();
    for entry in texts {
        if entry.name.is_empty() || entry.name.starts_with(OWN_HEADERS) {
            let reason =
                format!("a header cannot be named {:?}: `{OWN_HEADERS}` is the engine's own", entry.name);
            cx.add(&entry.name_place, Draft::error("config.bad_header", reason));
        } else if let Some(template) = template(cx, &entry.text.resolved, &entry.place, has_value) {
            headers.push((entry.name.clone(), template));
        }
    }
    headers
}

fn topic_config(texts: &[NamedText]) -> std::collections::BTreeMap<String, String> {
    texts.iter().map(|entry| (entry.name.clone(), entry.text.resolved.clone())).collect()
}

/// The properties of all blocks ask for one deadline at most.
pub(crate) fn one_deadline(cx: &mut Context<'_>, deadlines: Vec<Deadline>) -> Option<Deadline> {
    let first = deadlines.first().cloned()?;
    for other in deadlines.iter().skip(1).filter(|other| other.time != first.time) {
        let reason = "the message timeouts of two blocks differ, and a source has one batch_deadline";
        let hint = "write batch_deadline under [supervision] and take the properties out";
        cx.add(&other.place, Draft::error("config.batch_deadline", reason).hint(hint));
    }
    Some(first)
}
