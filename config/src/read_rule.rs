//! From a checked `topic` to a routing rule.

use std::num::NonZeroU32;

use crate::checked::{Checked, Fields, Item};
use crate::context::{Context, Draft, Place};
use crate::parse_error::ParseError;
use crate::rule::{HashOf, Illegal, Rule, TOPIC_NAME_MAX, Value};
use crate::rule::{check_topic_name, is_topic_char};
use crate::template::{FieldPath, Template};

/// None when a finding says why not.
pub(crate) fn read_rule(cx: &mut Context<'_>, item: &Item) -> Option<Rule> {
    if let Checked::Text(text) = &item.value {
        return literal(cx, &text.resolved, &item.place);
    }
    let Checked::Table(fields) = &item.value else { return None };
    // A strategy that is no strategy has its finding; guessing `static` would only add wrong ones.
    let strategy = match fields.get("strategy") {
        Some(_) => fields.word("strategy")?,
        None if fields.has_failed("strategy") => return None,
        None => "static",
    };
    warn_unused(cx, fields, strategy);
    if strategy == "static" {
        let (name, place) = needed(cx, fields, strategy, "name")?;
        return literal(cx, &name, &place);
    }
    let (from, template) = (value(cx, fields, strategy), template(cx, fields));
    let fallback = fallback(cx, fields);
    let illegal = if fields.word("illegal") == Some("replace") { Illegal::Replace } else { Illegal::Missing };
    Some(Rule::Dynamic { from: from?, template: template?, fallback, illegal })
}

fn literal(cx: &mut Context<'_>, name: &str, place: &Place) -> Option<Rule> {
    match check_topic_name(name) {
        Ok(()) => Some(Rule::Static(name.to_owned())),
        Err(error) if name.contains('{') => {
            let hint = "a topic that depends on the record is a rule: \
                        topic = { strategy = \"field\", path = \"tenant\", template = \"orders.{value}\" }";
            cx.add(place, Draft::parse("config.bad_topic", error.hint(hint)));
            None
        }
        Err(error) => {
            cx.add(place, Draft::parse("config.bad_topic", error));
            None
        }
    }
}

/// Keys that this strategy does not read are said, not refused: the file does what its strategy says.
fn warn_unused(cx: &mut Context<'_>, fields: &Fields, strategy: &str) {
    let unused: &[&str] = match strategy {
        "static" => &["path", "header", "buckets", "template", "fallback", "illegal"],
        "field" => &["name", "header", "buckets"],
        "header" => &["name", "path", "buckets"],
        "key" => &["name", "path", "header", "buckets"],
        _ if fields.get("path").is_some() => &["name", "header"],
        _ => &["name"],
    };
    for name in unused {
        if let Some(item) = fields.get(name) {
            let reason = format!("`{name}` has no effect with strategy = \"{strategy}\"");
            cx.add(&item.place, Draft::warning("config.no_effect", reason).hint("take it out"));
        }
    }
}

fn needed(cx: &mut Context<'_>, fields: &Fields, strategy: &str, name: &str) -> Option<(String, Place)> {
    let found = fields.text(name).map(|(text, place)| (text.to_owned(), place.clone()));
    if found.is_none() && !fields.has_failed(name) {
        let reason = format!("`{name}` is missing: strategy = \"{strategy}\" needs it");
        cx.add(&fields.place, Draft::error("config.missing_field", reason));
    }
    found
}

fn value(cx: &mut Context<'_>, fields: &Fields, strategy: &str) -> Option<Value> {
    match strategy {
        "field" => {
            let (path, place) = needed(cx, fields, strategy, "path")?;
            field_path(cx, &path, &place).map(Value::Field)
        }
        "header" => {
            let (header, place) = needed(cx, fields, strategy, "header")?;
            header_name(cx, &header, &place).map(Value::Header)
        }
        "hash" => hash(cx, fields),
        _ => Some(Value::Key),
    }
}

fn hash(cx: &mut Context<'_>, fields: &Fields) -> Option<Value> {
    let buckets = fields.number_u32("buckets").and_then(NonZeroU32::new);
    if buckets.is_none() && !fields.has_failed("buckets") {
        let reason = "`buckets` is missing: strategy = \"hash\" needs it";
        let hint = "choose it with room: changing it later moves most keys";
        cx.add(&fields.place, Draft::error("config.missing_field", reason).hint(hint));
    }
    let of = if let Some((path, place)) = fields.text("path") {
        HashOf::Field(field_path(cx, path, place)?)
    } else if let Some((header, place)) = fields.text("header") {
        HashOf::Header(header_name(cx, header, place)?)
    } else {
        HashOf::Key
    };
    Some(Value::Hash { of, buckets: buckets? })
}

pub(crate) fn field_path(cx: &mut Context<'_>, text: &str, place: &Place) -> Option<FieldPath> {
    FieldPath::parse(text).map_err(|error| cx.add(place, Draft::parse("config.bad_path", error))).ok()
}

fn header_name(cx: &mut Context<'_>, text: &str, place: &Place) -> Option<String> {
    if text.is_empty() {
        cx.add(place, Draft::error("config.bad_header", "the header name is empty"));
        return None;
    }
    Some(text.to_owned())
}

fn template(cx: &mut Context<'_>, fields: &Fields) -> Option<Template> {
    let Some((text, place)) = fields.text("template") else {
        return (!fields.has_failed("template")).then(Template::value);
    };
    let checked = Template::parse(text).and_then(check_topic_template);
    checked.map_err(|error| cx.add(place, Draft::parse("config.bad_template", error))).ok()
}

/// What a template must be to give topic names at all, whatever the values are.
fn check_topic_template(template: Template) -> Result<Template, ParseError> {
    if !template.uses_value() {
        let error = ParseError::new(0, "the template of a rule needs `{value}`");
        return Err(error.hint("for one topic write topic = \"NAME\""));
    }
    if let Some(bad) = template.literals().flat_map(str::chars).find(|c| !is_topic_char(*c)) {
        let error = ParseError::new(0, format!("the template cannot give a topic name, it contains {bad:?}"));
        return Err(error.hint("topic names are made of A-Z a-z 0-9 . _ -"));
    }
    if template.literals().map(str::len).sum::<usize>() >= TOPIC_NAME_MAX {
        let reason = format!("the template leaves no room for a value in {TOPIC_NAME_MAX} characters");
        return Err(ParseError::new(0, reason));
    }
    if template.to_string().starts_with("__") {
        return Err(ParseError::new(0, "names that begin with `__` are the broker's own"));
    }
    Ok(template)
}

fn fallback(cx: &mut Context<'_>, fields: &Fields) -> Option<String> {
    let (name, place) = fields.text("fallback")?;
    match check_topic_name(name) {
        Ok(()) => Some(name.to_owned()),
        Err(error) => {
            cx.add(place, Draft::parse("config.bad_topic", error));
            None
        }
    }
}
