//! Single values: each function gives the typed value, or reports why not and gives none.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Number;

use crate::checked::Text;
use crate::context::{BAD_REFERENCE, Context, Draft, Place};
use crate::reference::resolve;
use crate::shape::Kind;
use crate::size::parse_size;
use crate::suggest::closest;
use crate::tree::{Node, Origin, Raw};

pub(crate) fn resolved(cx: &mut Context<'_>, written: &str, place: &Place) -> Option<String> {
    match resolve(written, cx.env) {
        Ok(text) => Some(text),
        Err(error) => {
            cx.add(place, Draft::parse(BAD_REFERENCE, error));
            None
        }
    }
}

pub(crate) fn text(cx: &mut Context<'_>, node: &Node, kind: &Kind, place: &Place) -> Option<Text> {
    if let Raw::Text(written) = &node.value {
        let resolved = resolved(cx, written, place)?;
        return Some(Text { resolved, written: written.clone() });
    }
    match any_text(node) {
        Some(exact) => Some(Text { resolved: exact.to_owned(), written: shown(exact, node) }),
        None => wrong_type(cx, node, kind, place),
    }
}

/// A text out of a variable is shown as a reference to it.
fn shown(exact: &str, node: &Node) -> String {
    match &node.origin {
        Origin::Variable(name) => format!("${{env:{name}}}"),
        Origin::Span(_) => exact.to_owned(),
    }
}

/// An element of a list that must be a table.
pub(crate) fn wrong_table(cx: &mut Context<'_>, item: &Node, place: &Place) {
    let reason = format!("`{}` must be a table, not {}", place.path, item.type_name());
    cx.add(place, Draft::error("config.wrong_type", reason));
}

fn any_text(node: &Node) -> Option<&str> {
    match &node.value {
        Raw::Text(text) | Raw::Exact(text) | Raw::Untyped(text) => Some(text),
        Raw::Null | Raw::Integer(_) | Raw::Float(_) | Raw::Bool(_) | Raw::Datetime(_) => None,
        Raw::List(_) | Raw::Table(_) => None,
    }
}

pub(crate) fn word(
    cx: &mut Context<'_>,
    node: &Node,
    kind: &'static Kind,
    place: &Place,
) -> Option<&'static str> {
    let Kind::Word { words, later } = kind else { return None };
    let Some(given) = any_text(node) else { return wrong_type(cx, node, kind, place) };
    if let Some(word) = words.iter().find(|word| **word == given) {
        return Some(word);
    }
    let name = place.name();
    if let Some((word, instead)) = later.iter().find(|(word, _)| *word == given) {
        let reason = format!("{name} = \"{word}\" is not built yet");
        cx.add(place, Draft::error("config.not_yet", reason).hint(*instead));
        return None;
    }
    let reason = format!("`{name}` must be {}, not `{}`", kind.needed(), cut(given));
    let near = closest(given, words).map(|near| format!("did you mean `{near}`?"));
    cx.add(place, Draft::error("config.unknown_value", reason).maybe_hint(near));
    None
}

pub(crate) fn flag(cx: &mut Context<'_>, node: &Node, kind: &Kind, place: &Place) -> Option<bool> {
    if let Raw::Bool(flag) = node.value {
        return Some(flag);
    }
    if let Raw::Untyped(text) = &node.value
        && let Ok(flag) = text.parse()
    {
        return Some(flag);
    }
    wrong_type(cx, node, kind, place)
}

pub(crate) fn integer(cx: &mut Context<'_>, node: &Node, kind: &Kind, place: &Place) -> Option<u64> {
    if let Raw::Integer(integer) = node.value {
        return in_range(cx, integer, kind, place);
    }
    if let Raw::Untyped(text) = &node.value
        && let Ok(integer) = text.parse()
    {
        return in_range(cx, integer, kind, place);
    }
    wrong_type(cx, node, kind, place)
}

/// A number as it will be printed; JSON has neither `nan` nor `inf`.
pub(crate) fn number(cx: &mut Context<'_>, node: &Node, kind: &Kind, place: &Place) -> Option<Number> {
    let number = match &node.value {
        Raw::Integer(integer) => Number::from_i128(*integer),
        Raw::Float(float) => Number::from_f64(*float),
        Raw::Untyped(text) => text.parse().ok(),
        Raw::Text(_) | Raw::Exact(_) | Raw::Null | Raw::Bool(_) | Raw::Datetime(_) => None,
        Raw::List(_) | Raw::Table(_) => None,
    };
    number.or_else(|| wrong_type(cx, node, kind, place))
}

pub(crate) fn size(cx: &mut Context<'_>, node: &Node, kind: &Kind, place: &Place) -> Option<u64> {
    let Some(text) = any_text(node) else { return integer(cx, node, kind, place) };
    match parse_size(text) {
        Ok(bytes) => in_range(cx, i128::from(bytes), kind, place),
        Err(error) => {
            cx.add(place, Draft::parse("config.bad_size", error));
            None
        }
    }
}

fn in_range(cx: &mut Context<'_>, number: i128, kind: &Kind, place: &Place) -> Option<u64> {
    let (Kind::Integer { min, max } | Kind::Size { min, max }) = kind else { return None };
    let range: RangeInclusive<u64> = *min..=*max;
    let found = u64::try_from(number).ok().filter(|number| range.contains(number));
    if found.is_none() {
        let reason = format!("`{}` is {number}, allowed is {min} to {max}", place.name());
        cx.add(place, Draft::error("config.out_of_range", reason));
    }
    found
}

/// The outer None: a finding says why not; the inner one: `off`.
pub(crate) fn time(
    cx: &mut Context<'_>,
    node: &Node,
    kind: &Kind,
    place: &Place,
) -> Option<Option<Duration>> {
    let Kind::Time { min, max, can_be_off } = kind else { return None };
    let Some(given) = any_text(node) else { return wrong_type(cx, node, kind, place) };
    if *can_be_off && given == "off" {
        return Some(None);
    }
    let name = place.name();
    let Ok(time) = humantime::parse_duration(given) else {
        let reason = format!("`{name}` must be {}, not `{}`", kind.needed(), cut(given));
        let hint = "a duration is a number with a unit: \"5ms\", \"30s\", \"1m\", \"1h 30m\"";
        cx.add(place, Draft::error("config.bad_duration", reason).hint(hint));
        return None;
    };
    if time < *min || time > *max {
        let (min, max) = (humantime::format_duration(*min), humantime::format_duration(*max));
        let reason = format!("`{name}` is {}, allowed is {min} to {max}", humantime::format_duration(time));
        cx.add(place, Draft::error("config.out_of_range", reason));
        return None;
    }
    Some(Some(time))
}

/// Reports, and is always None so that callers can end with it.
pub(crate) fn wrong_type<T>(cx: &mut Context<'_>, node: &Node, kind: &Kind, place: &Place) -> Option<T> {
    let name = place.name();
    let given = match &node.value {
        Raw::Untyped(text) if !matches!(kind, Kind::Secret) => format!("`{}`", cut(text)),
        Raw::Untyped(_)
        | Raw::Text(_)
        | Raw::Exact(_)
        | Raw::Null
        | Raw::Integer(_)
        | Raw::Float(_)
        | Raw::Bool(_)
        | Raw::Datetime(_)
        | Raw::List(_)
        | Raw::Table(_) => node.type_name().to_owned(),
    };
    let reason = format!("`{name}` must be {}, not {given}", kind.needed());
    cx.add(place, Draft::error("config.wrong_type", reason).maybe_hint(type_hint(node, kind, name)));
    None
}

fn type_hint(node: &Node, kind: &Kind, name: &str) -> Option<String> {
    if let (Raw::Text(text), Kind::Integer { .. } | Kind::Bool) = (&node.value, kind) {
        let fits = text.parse::<bool>().is_ok() || text.parse::<i64>().is_ok();
        return fits.then(|| format!("write {name} = {text}, without quotes"));
    }
    if let (Raw::Integer(number), Kind::Time { .. }) = (&node.value, kind) {
        return Some(format!("write a unit: {name} = \"{number}ms\" or {name} = \"{number}s\""));
    }
    if let (Raw::Table(_), Kind::Tables(_)) = (&node.value, kind) {
        return Some(format!("write [[{name}]], with two brackets"));
    }
    if let (Raw::Text(_) | Raw::Integer(_) | Raw::Float(_) | Raw::Bool(_), Kind::Table(shape)) =
        (&node.value, kind)
        && shape.field("static").is_some()
    {
        return Some(format!("write {name} = {{ static = … }}"));
    }
    if let (Raw::Text(_), Kind::List(_)) = (&node.value, kind) {
        return Some(format!("write {name} = [\"…\"]"));
    }
    None
}

/// A value short enough for a message.
pub(crate) fn cut(text: &str) -> String {
    const SHOWN_MAX: usize = 60;
    match text.char_indices().nth(SHOWN_MAX) {
        Some((at, _)) => format!("{}…", text[..at].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}
