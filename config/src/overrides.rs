//! Environment overrides: the part of a variable's name after its prefix finds a field by the shape, and the text
//! goes into the tree as that field's value. Types are settled by the check that follows, like everything else.

use serde_json::Value;

use crate::key::variable_form;
use crate::properties::known;
use crate::shape::{Kind, Names, Shape, Tagged};
use crate::tree::{Entry, Node, Origin, Raw};

/// Separates levels in the name of a variable.
pub(crate) const LEVEL: &str = "__";

/// Deepest level a variable may name.
const LEVELS_MAX: usize = 64;

/// A variable that names no field: what was looked for, and the near name if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfit {
    pub(crate) reason: String,
    pub(crate) near: Option<String>,
}

/// One variable, ready to be put into a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'a> {
    /// Its whole name.
    pub(crate) variable: &'a str,
    /// The levels after the prefix, outermost first.
    pub(crate) levels: &'a [&'a str],
    pub(crate) text: &'a str,
}

impl Setting<'_> {
    fn origin(&self) -> Origin {
        Origin::Variable(self.variable.to_owned())
    }

    fn inner(self) -> Self {
        Setting { levels: &self.levels[1..], ..self }
    }
}

/// Sets a field of the table; the tree is untouched when nothing fits.
pub(crate) fn set(
    entries: &mut Vec<Entry>,
    shape: &'static Shape,
    setting: Setting<'_>,
) -> Result<(), Unfit> {
    let Some(level) = setting.levels.first() else {
        return Err(unfit("the variable names no field".to_owned()));
    };
    if setting.levels.len() > LEVELS_MAX {
        return Err(unfit(format!("it has more than {LEVELS_MAX} levels")));
    }
    let Some(field) = shape.fields.iter().find(|field| variable_form(field.name) == *level) else {
        let names = shape.names();
        // One underscore where two were meant.
        let split = names.iter().find_map(|name| {
            let form = variable_form(name);
            let rest = level.strip_prefix(&form)?.strip_prefix('_')?;
            Some(format!("{form}{LEVEL}{rest}"))
        });
        let near = split.or_else(|| crate::suggest::closest(level, &names).map(variable_form));
        return Err(Unfit { reason: format!("there is no field `{}`", level.to_ascii_lowercase()), near });
    };
    set_member(entries, field.name, |node| set_value(node, &field.kind, setting.inner()), setting)
}

/// Changes a copy of the member, and puts it back when the change succeeded.
fn set_member(
    entries: &mut Vec<Entry>,
    name: &str,
    change: impl FnOnce(&mut Node) -> Result<(), Unfit>,
    setting: Setting<'_>,
) -> Result<(), Unfit> {
    let found = entries.iter().position(|entry| entry.name == name);
    let fresh = || Node { value: Raw::Table(Vec::new()), origin: setting.origin() };
    let mut node = found.map_or_else(fresh, |index| entries[index].node.clone());
    change(&mut node)?;
    match found {
        Some(index) => entries[index].node = node,
        None => entries.push(Entry { name: name.to_owned(), name_origin: setting.origin(), node }),
    }
    Ok(())
}

fn set_value(node: &mut Node, kind: &'static Kind, setting: Setting<'_>) -> Result<(), Unfit> {
    let Some(level) = setting.levels.first() else {
        *node = whole(kind, setting);
        return Ok(());
    };
    match kind {
        Kind::Table(shape) | Kind::TextOrTable(shape) => set(members(node, level)?, shape, setting),
        Kind::Texts { names } => {
            let entries = members(node, level)?;
            if setting.levels.len() > 1 {
                return Err(unfit(format!("`{}` has no parts", level.to_ascii_lowercase())));
            }
            let name = entry_name(entries, level, *names);
            let exact = Node { value: Raw::Exact(setting.text.to_owned()), origin: setting.origin() };
            let put = |node: &mut Node| {
                *node = exact;
                Ok(())
            };
            set_member(entries, &name, put, setting)
        }
        Kind::Tables(shape) => set_item(node, setting, |item, setting| set_table(item, shape, setting)),
        Kind::List(of) => set_item(node, setting, |item, setting| set_value(item, of, setting)),
        Kind::Free | Kind::Any => set_free(node, setting),
        Kind::Tagged(shapes) => set_tagged(node, shapes, setting),
        Kind::Text
        | Kind::Secret
        | Kind::Word { .. }
        | Kind::Bool
        | Kind::Integer { .. }
        | Kind::Size { .. }
        | Kind::Time { .. }
        | Kind::Number
        | Kind::NotYet(_) => {
            Err(unfit(format!("the field before `{}` has no parts", level.to_ascii_lowercase())))
        }
    }
}

/// The whole value: JSON where the field is made of parts, so that later variables find these; what is no JSON is left
/// for the check to report.
fn whole(kind: &Kind, setting: Setting<'_>) -> Node {
    let has_parts = !kind.is_text() && !kind.is_scalar();
    match serde_json::from_str::<Value>(setting.text) {
        Ok(value @ (Value::Array(_) | Value::Object(_))) if has_parts => {
            Node::from_json(value, &setting.origin())
        }
        Ok(_) | Err(_) => Node { value: Raw::Untyped(setting.text.to_owned()), origin: setting.origin() },
    }
}

/// A table as an element of a list: as JSON, or one of its fields.
fn set_table(item: &mut Node, shape: &'static Shape, setting: Setting<'_>) -> Result<(), Unfit> {
    let Some(level) = setting.levels.first() else {
        let value = serde_json::from_str(setting.text);
        let value = value.map_err(|error| unfit(format!("a table in JSON is needed: {error}")))?;
        *item = Node::from_json(value, &setting.origin());
        return Ok(());
    };
    set(members(item, level)?, shape, setting)
}

/// A field of one of the tables: by its index in the list form, by its name in the table form.
fn set_tagged(node: &mut Node, tagged: &'static Tagged, setting: Setting<'_>) -> Result<(), Unfit> {
    if matches!(node.value, Raw::List(_)) || setting.levels[0].parse::<usize>().is_ok() {
        return set_item(node, setting, |item, setting| {
            let name = item.get(tagged.tag).and_then(written);
            if let Some(shape) = name.as_deref().and_then(|name| tagged.shape(name)) {
                return set_table(item, shape, setting);
            }
            // The name may come with a later variable; the check holds everything against its shape then.
            let fits = |(_, shape): &(_, &'static Shape)| {
                let mut changed = item.clone();
                set_table(&mut changed, shape, setting).ok().map(|()| changed)
            };
            let fitting = tagged.shapes.iter().find_map(fits);
            *item = fitting.ok_or_else(|| unfit(format!("no {} has such a field", tagged.tag)))?;
            Ok(())
        });
    }
    let level = setting.levels[0];
    let Some((name, shape)) = tagged.shapes.iter().find(|(name, _)| variable_form(name) == level) else {
        let near = crate::suggest::closest(level, &tagged.names()).map(variable_form);
        return Err(Unfit { reason: format!("there is no `{}`", level.to_ascii_lowercase()), near });
    };
    let change = |node: &mut Node| set_table(node, shape, setting.inner());
    set_member(members(node, level)?, name, change, setting)
}

fn written(node: &Node) -> Option<String> {
    match &node.value {
        Raw::Text(text) | Raw::Exact(text) | Raw::Untyped(text) => Some(text.clone()),
        Raw::Null | Raw::Integer(_) | Raw::Float(_) | Raw::Bool(_) | Raw::Datetime(_) => None,
        Raw::List(_) | Raw::Table(_) => None,
    }
}

fn members<'n>(node: &'n mut Node, level: &str) -> Result<&'n mut Vec<Entry>, Unfit> {
    let what = node.type_name();
    if let Raw::Table(entries) = &mut node.value {
        return Ok(entries);
    }
    Err(unfit(format!("`{}` is looked for inside {what}", level.to_ascii_lowercase())))
}

/// An element of a list by its index; the index after the last one adds an element.
fn set_item(
    node: &mut Node,
    setting: Setting<'_>,
    change: impl FnOnce(&mut Node, Setting<'_>) -> Result<(), Unfit>,
) -> Result<(), Unfit> {
    if matches!(&node.value, Raw::Table(entries) if entries.is_empty()) {
        node.value = Raw::List(Vec::new());
    }
    let (level, what) = (setting.levels[0], node.type_name());
    let Raw::List(items) = &mut node.value else {
        return Err(unfit(format!("`{level}` is looked for inside {what}")));
    };
    let index = level.parse::<usize>().ok().filter(|index| *index <= items.len());
    let Some(index) = index else {
        let reason = format!("`{level}` is no index of a list of {}", items.len());
        return Err(unfit(reason));
    };
    if index < items.len() {
        return change(&mut items[index], setting.inner());
    }
    let mut fresh = Node { value: Raw::Table(Vec::new()), origin: setting.origin() };
    change(&mut fresh, setting.inner())?;
    items.push(fresh);
    Ok(())
}

/// Inside a plugin's table nothing is declared: an entry that looks like the level is meant, else a new one in lower
/// case. A text of the file keeps its type.
fn set_free(node: &mut Node, setting: Setting<'_>) -> Result<(), Unfit> {
    let Some(level) = setting.levels.first() else {
        let is_text = matches!(node.value, Raw::Text(_) | Raw::Exact(_));
        let text = setting.text.to_owned();
        node.value = if is_text { Raw::Exact(text) } else { Raw::Untyped(text) };
        node.origin = setting.origin();
        return Ok(());
    };
    if matches!(node.value, Raw::List(_)) {
        return set_item(node, setting, set_free);
    }
    let entries = members(node, level)?;
    let name = entry_name(entries, level, Names::Plain);
    set_member(entries, &name, |node| set_free(node, setting.inner()), setting)
}

fn entry_name(entries: &[Entry], level: &str, names: Names) -> String {
    if let Some(entry) = entries.iter().find(|entry| variable_form(&entry.name) == level) {
        return entry.name.clone();
    }
    match names {
        Names::Plain => level.to_ascii_lowercase(),
        Names::Dotted => level.to_ascii_lowercase().replace('_', "."),
        Names::Properties => {
            let known = known::PROPERTIES.iter().find(|property| variable_form(property.name) == level);
            known.map_or_else(|| level.to_ascii_lowercase().replace('_', "."), |known| known.name.to_owned())
        }
    }
}

fn unfit(reason: String) -> Unfit {
    Unfit { reason, near: None }
}

/// Variables outermost level first and list elements by number, so that an index is there before what follows it.
pub(crate) fn in_order<'e>(
    variables: impl Iterator<Item = (&'e str, &'e str)>,
    prefix_length: usize,
) -> Vec<(&'e str, &'e str)> {
    let mut variables: Vec<(&str, &str)> = variables.collect();
    variables.sort_by_cached_key(|(name, _)| {
        let levels = name[prefix_length..].split(LEVEL);
        let key = levels.map(|level| (level.parse::<usize>().unwrap_or(usize::MAX), level.to_owned()));
        key.collect::<Vec<_>>()
    });
    variables
}
