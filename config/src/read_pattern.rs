//! From checked tables to the patterns of filters.

use serde_json::{Number, Value};

use crate::checked::{Checked, Fields, Item};
use crate::context::{Context, Draft, Place};
use crate::resolved_tree::resolve_tree;
use crate::suggest::closest;
use crate::transform::{KeyPattern, SearchPattern, ValuePattern, ValueType};
use crate::transform_shape::TYPE_PATTERNS;
use crate::tree::{Node, to_json};

/// The only key of a table that says one thing.
pub(crate) fn only(cx: &mut Context<'_>, fields: &Fields, names: &[&'static str]) -> Option<&'static str> {
    let written: Vec<&'static str> =
        names.iter().copied().filter(|name| fields.get(name).is_some()).collect();
    match written[..] {
        [name] => return Some(name),
        [] if names.iter().any(|name| fields.has_failed(name)) => {}
        [] => {
            let reason = format!("`{}` says nothing", fields.place.name());
            let hint = format!("write one of {}", crate::shape::quoted(names));
            cx.add(&fields.place, Draft::error("config.missing_field", reason).hint(hint));
        }
        [_, second, ..] => {
            let place = fields.get(second).map_or(&fields.place, |item| &item.place);
            let reason =
                format!("`{}` says two things: {}", fields.place.name(), crate::shape::quoted(&written));
            cx.add(place, Draft::error("config.conflict", reason).hint("write one of them"));
        }
    }
    None
}

pub(crate) fn key_pattern(cx: &mut Context<'_>, fields: &Fields) -> Option<KeyPattern> {
    let name = only(cx, fields, &["exact", "starts_with", "ends_with", "contains", "regex"])?;
    let (text, place) = fields.text(name)?;
    let owned = text.to_owned();
    Some(match name {
        "exact" => KeyPattern::Exact(owned),
        "starts_with" => KeyPattern::StartsWith(owned),
        "ends_with" => KeyPattern::EndsWith(owned),
        "contains" => KeyPattern::Contains(owned),
        _ => KeyPattern::Regex(search_pattern(cx, text, place)?),
    })
}

pub(crate) fn value_pattern(cx: &mut Context<'_>, item: &Item) -> Option<ValuePattern> {
    if let Checked::Text(word) = &item.value {
        return type_pattern(&word.resolved).or_else(|| {
            let reason = format!("`{}` is no pattern", crate::scalar::cut(&word.resolved));
            let near = closest(&word.resolved, TYPE_PATTERNS).map(|near| format!("did you mean `{near}`?"));
            let all = || {
                Some(format!(
                    "write one of {}, or a table such as {{ equals = … }}",
                    crate::shape::quoted(TYPE_PATTERNS)
                ))
            };
            cx.add(&item.place, Draft::error("config.unknown_value", reason).maybe_hint(near.or_else(all)));
            None
        });
    }
    let Checked::Table(fields) = &item.value else { return None };
    let own = ["equals", "contains", "regex", "greater_than", "less_than", "between"];
    let name = only(cx, fields, &[&own, TYPE_PATTERNS].concat())?;
    let found = fields.get(name)?;
    match name {
        "equals" => any_value(cx, found).map(ValuePattern::Equals),
        "contains" => fields.text(name).map(|(text, _)| ValuePattern::Contains(text.to_owned())),
        "regex" => {
            let (text, place) = fields.text(name)?;
            search_pattern(cx, text, place).map(ValuePattern::Regex)
        }
        "greater_than" => number(found).map(ValuePattern::GreaterThan),
        "less_than" => number(found).map(ValuePattern::LessThan),
        "between" => between(cx, fields, &found.place),
        name if fields.flag(name) == Some(true) => type_pattern(name),
        name => {
            let hint = "write the pattern for what is meant, or include_matching = false";
            let reason = format!("`{name}` can only be true");
            cx.add(&found.place, Draft::error("config.unknown_value", reason).hint(hint));
            None
        }
    }
}

fn type_pattern(word: &str) -> Option<ValuePattern> {
    Some(match word {
        "is_null" => ValuePattern::Is(ValueType::Null),
        "is_not_null" => ValuePattern::IsNotNull,
        "is_string" => ValuePattern::Is(ValueType::String),
        "is_number" => ValuePattern::Is(ValueType::Number),
        "is_boolean" => ValuePattern::Is(ValueType::Boolean),
        "is_object" => ValuePattern::Is(ValueType::Object),
        "is_array" => ValuePattern::Is(ValueType::Array),
        _ => return None,
    })
}

fn search_pattern(cx: &mut Context<'_>, text: &str, place: &Place) -> Option<SearchPattern> {
    SearchPattern::parse(text).map_err(|error| cx.add(place, Draft::parse("config.bad_regex", error))).ok()
}

fn number(item: &Item) -> Option<Number> {
    if let Checked::Decimal(number) = &item.value { Some(number.clone()) } else { None }
}

fn between(cx: &mut Context<'_>, fields: &Fields, place: &Place) -> Option<ValuePattern> {
    let numbers: Vec<Number> = fields.list("between").iter().filter_map(number).collect();
    let refused = match <[Number; 2]>::try_from(numbers) {
        Ok([from, to]) if from.as_f64() <= to.as_f64() => return Some(ValuePattern::Between(from, to)),
        Ok(_) => "`between` begins above its end",
        Err(_) => "`between` needs two numbers",
    };
    let hint = "write between = [LEAST, MOST]; both are included";
    cx.add(place, Draft::error("config.unknown_value", refused).hint(hint));
    None
}

/// A value as JSON, its references replaced.
pub(crate) fn any_value(cx: &mut Context<'_>, item: &Item) -> Option<Value> {
    let Checked::Any(node) = &item.value else { return None };
    let before = cx.findings.len();
    let node: Node = resolve_tree(cx, node, &item.place);
    to_json(&node).filter(|_| cx.findings.len() == before)
}
