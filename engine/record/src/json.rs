//! Reads a few fields out of a JSON payload in the same pass that checks it to be JSON.
//!
//! serde_json does the parsing; this module only steers it: along the asked paths it descends, everything else it
//! skips while validating. No tree is built. The field paths of all blocks lie in one [`FieldTree`], so a payload is
//! walked once however many blocks ask.
//!
//! What is JSON is what serde_json takes (RFC 8259, UTF-8, nothing after the value). Of a key that stands twice in one
//! object the last one counts. A dotted path descends objects; a segment that is a number also indexes an array. A
//! key that holds a dot itself is not reached by a dotted path.

use std::fmt;
use std::ops::Range;
use std::str::Utf8Error;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Where the value of one asked path is filed; the same path always has the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot(usize);

/// Every field path that is asked of a payload, as a tree of segments.
#[derive(Debug, Default)]
pub(crate) struct FieldTree {
    root: Node,
    slots: usize,
}

#[derive(Debug, Default)]
struct Node {
    segment: Box<str>,
    index: Option<usize>,
    slot: Option<Slot>,
    children: Vec<Node>,
    /// The slots of this node and of all below it: what is forgotten when its key comes a second time.
    slots: Vec<Slot>,
}

/// What stands at the end of an asked path.
#[derive(Clone, Debug)]
enum Found {
    Nothing(Absence),
    /// The text stands in the payload as it is.
    Payload(Range<usize>),
    /// The text had escapes and stands in [`Fields::unescaped`].
    Unescaped(Range<usize>),
}

/// Why an asked path has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// No such key, or the way to it ends early.
    NotThere,
    /// JSON null.
    Null,
    /// An object or an array, which has no text.
    Composite,
    /// A string with half a surrogate pair: valid JSON, but no text.
    NoText,
    /// The payload is not JSON, or is not declared to be.
    NotJson,
    /// The record has no payload.
    Tombstone,
}

/// Why a payload is not JSON.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotJson {
    #[error("{0}")]
    Encoding(#[from] Utf8Error),
    #[error("{0}")]
    Grammar(#[from] serde_json::Error),
}

/// The fields of the payload read last. One value is used for all records, so that its buffers are.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    found: Vec<Found>,
    unescaped: Vec<u8>,
}

impl FieldTree {
    /// The slot of a path, made when it is asked for the first time.
    pub(crate) fn slot(&mut self, path: &[String]) -> Slot {
        let existing = self.root.at(path).slot;
        let slot = existing.unwrap_or(Slot(self.slots));
        if existing.is_none() {
            self.slots += 1;
            self.root.claim(path, slot);
        }
        slot
    }

    /// No path is asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots == 0
    }
}

impl Node {
    fn at(&mut self, path: &[String]) -> &mut Node {
        let Some((segment, rest)) = path.split_first() else { return self };
        let known = self.children.iter().position(|child| *child.segment == **segment);
        let position = known.unwrap_or(self.children.len());
        if known.is_none() {
            let canonical = segment == "0" || !segment.starts_with(['0', '+']);
            let index = if canonical { segment.parse().ok() } else { None };
            self.children.push(Node { segment: segment.as_str().into(), index, ..Node::default() });
        }
        self.children[position].at(rest)
    }

    fn claim(&mut self, path: &[String], slot: Slot) {
        self.slots.push(slot);
        match path.split_first() {
            Some((segment, rest)) => {
                let child = self.children.iter_mut().find(|child| *child.segment == **segment);
                child.expect("`at` has made every node of the path").claim(rest, slot);
            }
            None => self.slot = Some(slot),
        }
    }

    fn child(&self, key: &str) -> Option<&Node> {
        self.children.iter().find(|child| *child.segment == *key)
    }
}

impl Fields {
    /// Checks `payload` to be one JSON text and files what stands at the paths of `tree`. After an error every path
    /// is absent.
    pub(crate) fn read(&mut self, tree: &FieldTree, payload: &[u8]) -> Result<(), NotJson> {
        let outcome = self.walk(tree, payload);
        if outcome.is_err() {
            self.forget(tree, Absence::NotJson);
        }
        outcome
    }

    /// Makes every path of `tree` absent, for a record whose payload is not read.
    pub(crate) fn forget(&mut self, tree: &FieldTree, why: Absence) {
        self.unescaped.clear();
        self.found.clear();
        self.found.resize(tree.slots, Found::Nothing(why));
    }

    /// The text at a path: a string without its quotes and escapes, a number or a boolean as it is written.
    /// `payload` is the one read last.
    pub(crate) fn text<'a>(&'a self, slot: Slot, payload: &'a [u8]) -> Result<&'a [u8], Absence> {
        match &self.found[slot.0] {
            Found::Nothing(why) => Err(*why),
            Found::Payload(range) => Ok(&payload[range.clone()]),
            Found::Unescaped(range) => Ok(&self.unescaped[range.clone()]),
        }
    }

    fn walk(&mut self, tree: &FieldTree, payload: &[u8]) -> Result<(), NotJson> {
        let text = std::str::from_utf8(payload)?;
        if tree.is_empty() {
            serde_json::from_str::<IgnoredAny>(text)?;
            return Ok(());
        }
        if self.descend(tree, text, Care::Swift).is_ok() {
            return Ok(());
        }
        // Beside the asked fields stands something that serde_json validates but cannot hold, such as half a
        // surrogate pair or 1e999; or the text is no JSON, and then this says where.
        serde_json::from_str::<IgnoredAny>(text)?;
        self.descend(tree, text, Care::Raw)?;
        Ok(())
    }

    fn descend(&mut self, tree: &FieldTree, text: &str, care: Care) -> Result<(), serde_json::Error> {
        self.forget(tree, Absence::NotThere);
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let base = text.as_ptr().addr();
        Walk { node: &tree.root, fields: self, base, care }.deserialize(&mut deserializer)?;
        deserializer.end()
    }
}

/// How much of what lies along the paths serde_json may turn into values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Care {
    /// Keys as text, scalars as numbers and strings. Fast, and right for all but odd documents.
    Swift,
    /// Nothing: keys and values are taken as they are written. For documents already known to be JSON.
    Raw,
}

/// One value of the document that lies on an asked path.
struct Walk<'a> {
    node: &'a Node,
    fields: &'a mut Fields,
    /// Address of the first byte of the document; spans are counted from it.
    base: usize,
    care: Care,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.node.slot.is_none() && self.care == Care::Swift {
            return deserializer.deserialize_any(self);
        }
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        if let Some(slot) = self.node.slot {
            let found = self.fields.found_in(raw, self.base);
            self.fields.found[slot.0] = found;
        }
        if raw.starts_with(['{', '[']) && !self.node.children.is_empty() {
            let mut inner = serde_json::Deserializer::from_str(raw);
            return inner.deserialize_any(self).map_err(D::Error::custom);
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(child) = map.next_key_seed(Key { node: self.node, care: self.care })? {
            let Some(node) = child else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            for slot in &node.slots {
                self.fields.found[slot.0] = Found::Nothing(Absence::NotThere);
            }
            let (base, care) = (self.base, self.care);
            map.next_value_seed(Walk { node, fields: &mut *self.fields, base, care })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        for index in 0.. {
            let child = self.node.children.iter().find(|child| child.index == Some(index));
            let (base, care) = (self.base, self.care);
            let element = match child {
                Some(node) => seq.next_element_seed(Walk { node, fields: &mut *self.fields, base, care })?,
                None => seq.next_element::<IgnoredAny>()?.map(drop),
            };
            if element.is_none() {
                break;
            }
        }
        Ok(())
    }

    // A scalar where an object was expected: the paths below it stay absent.
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

impl Fields {
    /// What the value written as `raw` is as text.
    fn found_in(&mut self, raw: &str, base: usize) -> Found {
        let start = raw.as_ptr().addr() - base;
        match raw.as_bytes()[0] {
            b'{' | b'[' => Found::Nothing(Absence::Composite),
            b'n' => Found::Nothing(Absence::Null),
            b'"' if !raw.contains('\\') => Found::Payload(start + 1..start + raw.len() - 1),
            b'"' => match unescape(raw) {
                Ok(text) => {
                    let begin = self.unescaped.len();
                    self.unescaped.extend_from_slice(text.as_bytes());
                    Found::Unescaped(begin..self.unescaped.len())
                }
                Err(_) => Found::Nothing(Absence::NoText),
            },
            _ => Found::Payload(start..start + raw.len()),
        }
    }
}

fn unescape(raw: &str) -> Result<String, serde_json::Error> {
    serde_json::from_str(raw)
}

/// A key of an object on the way; the answer is the node it leads to.
struct Key<'a> {
    node: &'a Node,
    care: Care,
}

impl<'de, 'a> DeserializeSeed<'de> for Key<'a> {
    type Value = Option<&'a Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.care {
            Care::Swift => deserializer.deserialize_str(self),
            Care::Raw => {
                let raw = <&RawValue>::deserialize(deserializer)?.get();
                Ok(unescape(raw).ok().and_then(|key| self.node.child(&key)))
            }
        }
    }
}

impl<'a> Visitor<'_> for Key<'a> {
    type Value = Option<&'a Node>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.node.child(key))
    }
}

#[cfg(test)]
mod tests;
