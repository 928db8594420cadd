//! Values that fit their shape, for the readers that turn them into the public types.

use std::time::Duration;

use crate::context::Place;
use crate::tree::Node;

/// A value that fits its field, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) place: Place,
    pub(crate) value: Checked,
}

/// A typed value; the variants follow `Kind`.
#[derive(Debug, Clone)]
pub(crate) enum Checked {
    Text(Text),
    Word(&'static str),
    Bool(bool),
    /// Of `Integer` and `Size`.
    Number(u64),
    /// None: `off`.
    Time(Option<Duration>),
    List(Vec<Item>),
    Table(Fields),
    Texts(Vec<NamedText>),
    Free(Node),
    Any(Node),
    Decimal(serde_json::Number),
    /// The name of the shape of each, and its fields.
    Tagged(Vec<(&'static str, Fields)>),
}

/// A string with its references resolved, and as a person may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) resolved: String,
    pub(crate) written: String,
}

/// An entry of a table whose names we do not know.
#[derive(Debug, Clone)]
pub(crate) struct NamedText {
    pub(crate) name: String,
    /// Of the name.
    pub(crate) name_place: Place,
    /// Of the value.
    pub(crate) place: Place,
    pub(crate) text: Text,
}

/// The keys of a table that fit.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) place: Place,
    items: Vec<(&'static str, Item)>,
    failed: Vec<&'static str>,
}

impl Fields {
    pub(crate) fn new(place: Place) -> Fields {
        Fields { place, items: Vec::new(), failed: Vec::new() }
    }

    /// None: the key stands there and does not fit, which has its finding.
    pub(crate) fn put(&mut self, name: &'static str, item: Option<Item>) {
        match item {
            Some(item) => self.items.push((name, item)),
            None => self.failed.push(name),
        }
    }

    /// Whether the key stands there and does not fit; saying that it is missing would be wrong.
    pub(crate) fn has_failed(&self, name: &str) -> bool {
        self.failed.contains(&name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|(known, _)| *known == name).map(|(_, item)| item)
    }

    pub(crate) fn text(&self, name: &str) -> Option<(&str, &Place)> {
        let item = self.get(name)?;
        if let Checked::Text(text) = &item.value { Some((&text.resolved, &item.place)) } else { None }
    }

    pub(crate) fn word(&self, name: &str) -> Option<&'static str> {
        if let Checked::Word(word) = self.get(name)?.value { Some(word) } else { None }
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        if let Checked::Bool(flag) = self.get(name)?.value { Some(flag) } else { None }
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        if let Checked::Number(number) = self.get(name)?.value { Some(number) } else { None }
    }

    /// The bounds of the shape keep it in range.
    pub(crate) fn number_u32(&self, name: &str) -> Option<u32> {
        self.number(name).and_then(|number| u32::try_from(number).ok())
    }

    pub(crate) fn time(&self, name: &str) -> Option<Duration> {
        self.time_or_off(name).flatten()
    }

    pub(crate) fn time_or_off(&self, name: &str) -> Option<Option<Duration>> {
        if let Checked::Time(time) = self.get(name)?.value { Some(time) } else { None }
    }

    pub(crate) fn list(&self, name: &str) -> &[Item] {
        match self.get(name) {
            Some(Item { value: Checked::List(items), .. }) => items,
            Some(_) | None => &[],
        }
    }

    pub(crate) fn tables(&self, name: &str) -> impl Iterator<Item = &Fields> {
        self.list(name).iter().filter_map(|item| match &item.value {
            Checked::Table(fields) => Some(fields),
            Checked::Text(_) | Checked::Word(_) | Checked::Bool(_) | Checked::Number(_) => None,
            Checked::Time(_) | Checked::List(_) | Checked::Texts(_) | Checked::Free(_) => None,
            Checked::Any(_) | Checked::Decimal(_) | Checked::Tagged(_) => None,
        })
    }

    pub(crate) fn tagged(&self, name: &str) -> &[(&'static str, Fields)] {
        match self.get(name) {
            Some(Item { value: Checked::Tagged(tables), .. }) => tables,
            Some(_) | None => &[],
        }
    }

    pub(crate) fn table(&self, name: &str) -> Option<&Fields> {
        if let Checked::Table(fields) = &self.get(name)?.value { Some(fields) } else { None }
    }

    pub(crate) fn texts(&self, name: &str) -> &[NamedText] {
        match self.get(name) {
            Some(Item { value: Checked::Texts(texts), .. }) => texts,
            Some(_) | None => &[],
        }
    }
}
