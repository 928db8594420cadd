//! One pass over a tree that holds it against its shape and reports everything that does not fit: unknown and
//! missing keys, wrong types, values out of range, words and durations that are none. What fits comes out typed.

use serde_json::Value;

use crate::checked::{Checked, Fields, Item, NamedText, Text};
use crate::context::{Context, Draft, Place};
use crate::reference::has_reference;
use crate::scalar::{flag, integer, number, resolved, size, text, time, word, wrong_table, wrong_type};
use crate::shape::{Field, Kind, Shape};
use crate::suggest::closest;
use crate::tagged::{Named, named_tables};
use crate::tree::{Entry, Node, Raw};

/// Checks a table member by member.
pub(crate) fn check_table(
    cx: &mut Context<'_>,
    entries: &[Entry],
    shape: &'static Shape,
    place: Place,
) -> Fields {
    let mut fields = Fields::new(place.clone());
    for entry in entries {
        match shape.field(&entry.name) {
            Some(field) => {
                let member = place.member(&entry.name, &entry.node.origin);
                fields.put(field.name, check_field(cx, entry, field, member));
            }
            None => unknown(cx, entry, shape, &place),
        }
    }
    for field in shape.fields.iter().filter(|field| field.is_required) {
        if !entries.iter().any(|entry| entry.name == field.name) {
            let draft = Draft::error("config.missing_field", format!("`{}` is missing", field.name));
            cx.add(&place, draft.hint(format!("`{}`: {}", field.name, field.doc.trim_end_matches('.'))));
        }
    }
    fields
}

fn unknown(cx: &mut Context<'_>, entry: &Entry, shape: &Shape, place: &Place) {
    let draft = Draft::error("config.unknown_field", format!("unknown field `{}`", entry.name));
    let foreign =
        shape.foreign.iter().find(|(name, _)| *name == entry.name).map(|(_, hint)| (*hint).to_owned());
    let near = || closest(&entry.name, &shape.names()).map(|near| format!("did you mean `{near}`?"));
    let all = || Some(format!("known here: {}", shape.names().join(", ")));
    cx.add(
        &place.member(&entry.name, &entry.name_origin),
        draft.maybe_hint(foreign.or_else(near).or_else(all)),
    );
}

fn check_field(cx: &mut Context<'_>, entry: &Entry, field: &'static Field, place: Place) -> Option<Item> {
    if let Kind::NotYet(instead) = field.kind {
        if !is_empty(&entry.node) {
            let place = Place { origin: entry.name_origin.clone(), ..place };
            let draft = Draft::error("config.not_yet", format!("`{}` is not built yet", entry.name));
            cx.add(&place, draft.hint(instead));
        }
        return None;
    }
    check_value(cx, &entry.node, &field.kind, place)
}

/// An empty setting of something not built asks for nothing.
fn is_empty(node: &Node) -> bool {
    match &node.value {
        Raw::List(items) => items.is_empty(),
        Raw::Table(entries) => entries.is_empty(),
        Raw::Text(text) | Raw::Exact(text) | Raw::Untyped(text) => text.is_empty(),
        Raw::Null | Raw::Integer(_) | Raw::Float(_) | Raw::Bool(_) | Raw::Datetime(_) => false,
    }
}

/// Checks one value; None when a finding says why not.
pub(crate) fn check_value(
    cx: &mut Context<'_>,
    node: &Node,
    kind: &'static Kind,
    place: Place,
) -> Option<Item> {
    let place = Place { is_referenced: is_reference(node), ..place };
    let node = &settled(cx, node, kind, &place)?;
    let value = match kind {
        Kind::Text | Kind::Secret => text(cx, node, kind, &place).map(Checked::Text),
        Kind::Word { .. } => word(cx, node, kind, &place).map(Checked::Word),
        Kind::Bool => flag(cx, node, kind, &place).map(Checked::Bool),
        Kind::Integer { .. } => integer(cx, node, kind, &place).map(Checked::Number),
        Kind::Size { .. } => size(cx, node, kind, &place).map(Checked::Number),
        Kind::Time { .. } => time(cx, node, kind, &place).map(Checked::Time),
        Kind::List(of) => list(cx, node, kind, &place).map(|items| {
            let items = items.iter().enumerate();
            Checked::List(
                items
                    .filter_map(|(i, item)| check_value(cx, item, of, place.item(i, &item.origin)))
                    .collect(),
            )
        }),
        Kind::Tables(shape) => list(cx, node, kind, &place).map(|items| tables(cx, items, shape, &place)),
        Kind::TextOrTable(_) if !matches!(node.value, Raw::Table(_)) => {
            text(cx, node, kind, &place).map(Checked::Text)
        }
        Kind::Table(shape) | Kind::TextOrTable(shape) => table(cx, node, kind, &place)
            .map(|entries| Checked::Table(check_table(cx, entries, shape, place.clone()))),
        Kind::Texts { .. } => table(cx, node, kind, &place).map(|entries| texts(cx, entries, &place)),
        Kind::Free => table(cx, node, kind, &place).map(|_| Checked::Free(node.clone())),
        Kind::Any => Some(Checked::Any(node.clone())),
        Kind::Number => number(cx, node, kind, &place).map(Checked::Decimal),
        Kind::Tagged(tagged) => named_tables(cx, node, tagged, &place)
            .map(|tables| Checked::Tagged(tables.into_iter().map(|table| check_named(cx, table)).collect())),
        Kind::NotYet(_) => None,
    };
    value.map(|value| Item { place, value })
}

fn check_named(cx: &mut Context<'_>, table: Named) -> (&'static str, Fields) {
    (table.name, check_table(cx, &table.entries, table.shape, table.place))
}

fn is_reference(node: &Node) -> bool {
    node.as_text().is_some_and(has_reference)
}

/// A reference for a field that is no plain text becomes the text it stands for, a variable for a table or list its JSON.
fn settled(cx: &mut Context<'_>, node: &Node, kind: &Kind, place: &Place) -> Option<Node> {
    if let Raw::Text(written) = &node.value
        && kind.is_scalar()
        && has_reference(written)
    {
        let text = resolved(cx, written, place)?;
        return Some(Node { value: Raw::Untyped(text), origin: node.origin.clone() });
    }
    let Raw::Untyped(text) = &node.value else { return Some(node.clone()) };
    let is_json = match kind {
        Kind::List(_) | Kind::Tables(_) | Kind::Table(_) | Kind::Texts { .. } | Kind::Free => true,
        Kind::Tagged(_) => true,
        Kind::TextOrTable(_) => text.trim_start().starts_with('{'),
        Kind::Text | Kind::Secret | Kind::Word { .. } | Kind::Bool | Kind::Integer { .. } => false,
        Kind::Size { .. } | Kind::Time { .. } | Kind::Number | Kind::Any | Kind::NotYet(_) => false,
    };
    if !is_json {
        return Some(node.clone());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value) => Some(Node::from_json(value, &node.origin)),
        Err(error) => {
            let end = format!("it stops being JSON at line {} column {}", error.line(), error.column());
            let reason = format!("`{}` must be {} in JSON; {end}", place.path, kind.needed());
            cx.add(place, Draft::error("config.wrong_type", reason));
            None
        }
    }
}

fn list<'n>(cx: &mut Context<'_>, node: &'n Node, kind: &Kind, place: &Place) -> Option<&'n [Node]> {
    if let Raw::List(items) = &node.value { Some(items) } else { wrong_type(cx, node, kind, place) }
}

fn table<'n>(cx: &mut Context<'_>, node: &'n Node, kind: &Kind, place: &Place) -> Option<&'n [Entry]> {
    if let Raw::Table(entries) = &node.value { Some(entries) } else { wrong_type(cx, node, kind, place) }
}

fn tables(cx: &mut Context<'_>, items: &[Node], shape: &'static Shape, place: &Place) -> Checked {
    let mut checked = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let place = place.item(index, &item.origin);
        if let Raw::Table(entries) = &item.value {
            let fields = check_table(cx, entries, shape, place.clone());
            checked.push(Item { place, value: Checked::Table(fields) });
        } else {
            wrong_table(cx, item, &place);
        }
    }
    Checked::List(checked)
}

fn texts(cx: &mut Context<'_>, entries: &[Entry], place: &Place) -> Checked {
    let mut texts = Vec::new();
    for entry in entries {
        let member = place.member(&entry.name, &entry.node.origin);
        let name_place = Place { origin: entry.name_origin.clone(), ..member.clone() };
        let member = Place { is_referenced: is_reference(&entry.node), ..member };
        if let Some(text) = scalar_text(cx, &entry.node, &member) {
            texts.push(NamedText { name: entry.name.clone(), name_place, place: member, text });
        }
    }
    Checked::Texts(texts)
}

/// `5` and `true` are taken as the texts they print as.
fn scalar_text(cx: &mut Context<'_>, node: &Node, place: &Place) -> Option<Text> {
    let printed = match &node.value {
        Raw::Integer(integer) => integer.to_string(),
        Raw::Float(float) => float.to_string(),
        Raw::Bool(flag) => flag.to_string(),
        Raw::Text(_)
        | Raw::Exact(_)
        | Raw::Untyped(_)
        | Raw::Null
        | Raw::Datetime(_)
        | Raw::List(_)
        | Raw::Table(_) => return text(cx, node, &Kind::Text, place),
    };
    Some(Text { written: printed.clone(), resolved: printed })
}
