//! A tree taken as it is: with its references replaced, for the program, or kept, for people.

use crate::context::{Context, Draft, Place};
use crate::scalar::resolved;
use crate::tree::{Entry, Node, Origin, Raw, to_json};

/// Every reference replaced. A number that JSON cannot hold is reported and becomes null.
pub(crate) fn resolve_tree(cx: &mut Context<'_>, node: &Node, place: &Place) -> Node {
    let value = match &node.value {
        Raw::Text(written) => Raw::Exact(resolved(cx, written, place).unwrap_or_default()),
        Raw::List(items) => {
            let items = items.iter().enumerate();
            Raw::List(items.map(|(i, item)| resolve_tree(cx, item, &place.item(i, &item.origin))).collect())
        }
        Raw::Table(entries) => {
            let member = |cx: &mut Context<'_>, entry: &Entry| {
                let place = place.member(&entry.name, &entry.node.origin);
                Entry { node: resolve_tree(cx, &entry.node, &place), ..entry.clone() }
            };
            Raw::Table(entries.iter().map(|entry| member(cx, entry)).collect())
        }
        Raw::Integer(_) | Raw::Float(_) if to_json(node).is_none() => {
            let reason = format!("`{}` cannot be handed on: JSON has no such number", place.name());
            cx.add(place, Draft::error("config.bad_number", reason));
            Raw::Null
        }
        Raw::Exact(_)
        | Raw::Untyped(_)
        | Raw::Null
        | Raw::Integer(_)
        | Raw::Float(_)
        | Raw::Bool(_)
        | Raw::Datetime(_) => node.value.clone(),
    };
    Node { value, origin: node.origin.clone() }
}

/// The tree for people: what came from a variable is a reference to it.
pub(crate) fn as_written(node: &Node) -> Node {
    let value = match &node.value {
        Raw::List(items) => Raw::List(items.iter().map(as_written).collect()),
        Raw::Table(entries) => {
            let member = |entry: &Entry| Entry { node: as_written(&entry.node), ..entry.clone() };
            Raw::Table(entries.iter().map(member).collect())
        }
        Raw::Integer(_) | Raw::Float(_) if to_json(node).is_none() => Raw::Null,
        Raw::Text(_)
        | Raw::Exact(_)
        | Raw::Untyped(_)
        | Raw::Null
        | Raw::Integer(_)
        | Raw::Float(_)
        | Raw::Bool(_)
        | Raw::Datetime(_) => match &node.origin {
            Origin::Variable(name) => Raw::Exact(format!("${{env:{name}}}")),
            Origin::Span(_) => node.value.clone(),
        },
    };
    Node { value, origin: node.origin.clone() }
}
