//! The walk along the asked paths: serde's seeds and visitors, which serde_json calls as it parses.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::fields::{Absence, Fields, Found, Node};

/// How much of what lies along the paths serde_json may turn into values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// Keys as text, scalars as numbers and strings. Fast, and right for all but odd documents.
    Swift,
    /// Nothing: keys and values are taken as they are written. For documents already known to be JSON.
    Raw,
}

/// One value of the document that lies on an asked path.
pub(super) struct Walk<'a> {
    pub(super) node: &'a Node,
    pub(super) fields: &'a mut Fields,
    /// Address of the first byte of the document; spans are counted from it.
    pub(super) base: usize,
    pub(super) care: Care,
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
