//! Tables that name their shape themselves, in the list form or in the table form: which shape each of them has.

use crate::context::{Context, Draft, Place};
use crate::scalar::{text, wrong_table, wrong_type};
use crate::shape::{Kind, Shape, Tagged, quoted};
use crate::suggest::closest;
use crate::tree::{Entry, Node, Raw};

/// A table and the shape it names; its entries are those the shape is about.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) shape: &'static Shape,
    pub(crate) entries: Vec<Entry>,
    pub(crate) place: Place,
}

/// The tables, to be checked against their shapes; those that name none are left out, with a finding.
pub(crate) fn named_tables(
    cx: &mut Context<'_>,
    node: &Node,
    tagged: &'static Tagged,
    place: &Place,
) -> Option<Vec<Named>> {
    let mut tables = Vec::new();
    match &node.value {
        Raw::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let place = place.item(index, &item.origin);
                let Some(entries) = entries(cx, item, &place) else { continue };
                tables.extend(named(cx, entries, tagged, place));
            }
        }
        Raw::Table(members) => {
            for member in members {
                let place = place.member(&member.name, &member.node.origin);
                let Some(entries) = entries(cx, &member.node, &place) else { continue };
                let name_place = Place { origin: member.name_origin.clone(), ..place.clone() };
                let Some(name) = known(cx, &member.name, tagged, &name_place) else { continue };
                same_name(cx, entries, tagged, name, &place);
                tables.extend(of_shape(entries, tagged, name, place));
            }
        }
        Raw::Text(_) | Raw::Exact(_) | Raw::Untyped(_) | Raw::Null | Raw::Integer(_) | Raw::Float(_) => {
            return wrong_type(cx, node, &Kind::Tagged(tagged), place);
        }
        Raw::Bool(_) | Raw::Datetime(_) => return wrong_type(cx, node, &Kind::Tagged(tagged), place),
    }
    Some(tables)
}

fn entries<'n>(cx: &mut Context<'_>, node: &'n Node, place: &Place) -> Option<&'n [Entry]> {
    if let Raw::Table(entries) = &node.value {
        return Some(entries);
    }
    wrong_table(cx, node, place);
    None
}

/// A table of the list form.
fn named(cx: &mut Context<'_>, entries: &[Entry], tagged: &'static Tagged, place: Place) -> Option<Named> {
    let Some(tag) = entries.iter().find(|entry| entry.name == tagged.tag) else {
        let reason = format!("`{}` is missing", tagged.tag);
        let hint = format!("write one of {}", quoted(&tagged.names()));
        cx.add(&place, Draft::error("config.missing_field", reason).hint(hint));
        return None;
    };
    let tag_place = place.member(tagged.tag, &tag.node.origin);
    let name = text(cx, &tag.node, &Kind::Text, &tag_place)?.resolved;
    let name = known(cx, &name, tagged, &tag_place)?;
    of_shape(entries, tagged, name, place)
}

fn known(cx: &mut Context<'_>, name: &str, tagged: &'static Tagged, place: &Place) -> Option<&'static str> {
    if let Some(name) = tagged.names().into_iter().find(|known| *known == name) {
        return Some(name);
    }
    if let Some((later, instead)) = tagged.later.iter().find(|(later, _)| *later == name) {
        cx.add(place, Draft::error("config.not_yet", format!("`{later}` is not built yet")).hint(*instead));
        return None;
    }
    let reason = format!("there is no {} `{}`", tagged.tag, crate::scalar::cut(name));
    let near = closest(name, &tagged.names()).map(|near| format!("did you mean `{near}`?"));
    let all = || Some(format!("known here: {}", tagged.names().join(", ")));
    cx.add(place, Draft::error("config.unknown_value", reason).maybe_hint(near.or_else(all)));
    None
}

/// A table under the name of one shape cannot name another.
fn same_name(
    cx: &mut Context<'_>,
    entries: &[Entry],
    tagged: &'static Tagged,
    name: &'static str,
    place: &Place,
) {
    let tag = entries.iter().find(|entry| entry.name == tagged.tag);
    if let Some(other) = tag.filter(|tag| tag.node.as_text() != Some(name)) {
        let place = place.member(tagged.tag, &other.node.origin);
        let hint = "take the line out: the name of the table says it";
        let reason = format!("the table is named `{name}`");
        cx.add(&place, Draft::error("config.unknown_value", reason).hint(hint));
    }
}

fn of_shape(entries: &[Entry], tagged: &'static Tagged, name: &'static str, place: Place) -> Option<Named> {
    let shape = tagged.shape(name)?;
    let entries: Vec<Entry> = entries.iter().filter(|entry| entry.name != tagged.tag).cloned().collect();
    Some(Named { name, shape, entries, place })
}
