//! The documents past the floor that were delivered: what a search that begins at the floor will bring again.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::key::{Key, Point};

/// Most documents remembered. Each is a few bytes of a state that is saved with every batch.
pub(crate) const SEEN_MAX: usize = 4096;

/// Delivered documents, in the order of their keys. Documents of one key stand in different shards, and are told apart by
/// a checksum of index and id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Shared, since a position is copied with every batch.
    entries: Arc<VecDeque<Entry>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: Key,
    name: u32,
}

/// The checksum of a document's name.
pub(crate) fn name(index: &str, id: &str) -> u32 {
    // No index name has a NUL.
    crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(index.as_bytes()), &[0]), id.as_bytes())
}

impl Seen {
    /// Whether this document was delivered.
    pub(crate) fn contains(&self, key: &Key, name: u32) -> bool {
        let first = self.entries.partition_point(|entry| entry.key < *key);
        self.entries.range(first..).take_while(|entry| entry.key == *key).any(|entry| entry.name == name)
    }

    /// Remembers a document.
    pub(crate) fn insert(&mut self, key: Key, name: u32) {
        let entry = Entry { key, name };
        let entries = Arc::make_mut(&mut self.entries);
        if entries.back().is_none_or(|last| *last <= entry) {
            return entries.push_back(entry);
        }
        let place = entries.partition_point(|other| *other < entry);
        entries.insert(place, entry);
    }

    /// Forgets what lies before `from`, and the oldest of what is more than `most`. The answer is the key of the last one
    /// forgotten, and whether it was forgotten for want of room.
    pub(crate) fn forget(&mut self, from: &Point, most: usize) -> Option<(Key, bool)> {
        let outside = self.entries.partition_point(|entry| entry.key.at < *from);
        let excess = self.entries.len().saturating_sub(most);
        if outside.max(excess) == 0 {
            return None;
        }
        let last = Arc::make_mut(&mut self.entries).drain(..outside.max(excess)).next_back()?;
        Some((last.key, excess > outside))
    }

    /// The place of the newest document.
    pub(crate) fn newest(&self) -> Option<&Key> {
        self.entries.back().map(|entry| &entry.key)
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Counts the times in another unit; `change` keeps their order.
    pub(crate) fn map(&mut self, change: impl Fn(&Point) -> Option<Point>) -> Option<()> {
        for entry in Arc::make_mut(&mut self.entries) {
            entry.key.at = change(&entry.key.at)?;
        }
        Some(())
    }

    /// As few bytes as it takes: numbers as differences from the entry before.
    fn pack(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.entries.len() * 10);
        let mut before = (0, 0);
        for Entry { key, name } in self.entries.iter() {
            pack_point(&key.at, &mut before.0, &mut out);
            pack_point(&key.tie, &mut before.1, &mut out);
            out.extend(name.to_le_bytes());
        }
        out
    }

    fn unpack(mut bytes: &[u8]) -> Option<Seen> {
        let mut entries = VecDeque::new();
        let mut before = (0, 0);
        while !bytes.is_empty() {
            let at = unpack_point(&mut before.0, &mut bytes)?;
            let tie = unpack_point(&mut before.1, &mut bytes)?;
            let (name, rest) = bytes.split_first_chunk::<4>()?;
            bytes = rest;
            entries.push_back(Entry { key: Key { at, tie }, name: u32::from_le_bytes(*name) });
        }
        entries.iter().is_sorted().then(|| Seen { entries: Arc::new(entries) })
    }
}

const NONE: u8 = 0;
const INT: u8 = 1;
const TEXT: u8 = 2;

fn pack_point(point: &Point, before: &mut i64, out: &mut Vec<u8>) {
    match point {
        Point::None => out.push(NONE),
        Point::Int(number) => {
            out.push(INT);
            let step = number.wrapping_sub(*before);
            pack_number(((step << 1) ^ (step >> 63)) as u64, out);
            *before = *number;
        }
        Point::Text(text) => {
            out.push(TEXT);
            pack_number(text.len() as u64, out);
            out.extend(text.as_bytes());
        }
    }
}

fn unpack_point(before: &mut i64, bytes: &mut &[u8]) -> Option<Point> {
    let (kind, rest) = bytes.split_first()?;
    *bytes = rest;
    match *kind {
        NONE => Some(Point::None),
        INT => {
            let packed = unpack_number(bytes)?;
            let step = (packed >> 1) as i64 ^ -((packed & 1) as i64);
            *before = before.wrapping_add(step);
            Some(Point::Int(*before))
        }
        TEXT => {
            let length = usize::try_from(unpack_number(bytes)?).ok()?;
            let (text, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            Some(Point::Text(std::str::from_utf8(text).ok()?.into()))
        }
        _ => None,
    }
}

/// Seven bits a byte, the lowest first.
fn pack_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn unpack_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

impl Serialize for Seen {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.pack())
    }
}

impl<'de> Deserialize<'de> for Seen {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Seen, D::Error> {
        from.deserialize_bytes(PackedVisitor)
    }
}

struct PackedVisitor;

impl<'de> Visitor<'de> for PackedVisitor {
    type Value = Seen;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("documents in packed form")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Seen, E> {
        Seen::unpack(bytes).ok_or_else(|| E::custom("the remembered documents are damaged"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Seen, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = items.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}

/// A key, or none, as it is saved: `#[serde(with = "packed_key")]`.
pub(crate) mod packed_key {
    use super::{Arc, Deserialize, Deserializer, Entry, Key, Seen, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(key: &Option<Key>, to: S) -> Result<S::Ok, S::Error> {
        let entries = key.iter().map(|key| Entry { key: key.clone(), name: 0 }).collect();
        Seen { entries: Arc::new(entries) }.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Key>, D::Error> {
        Ok(Seen::deserialize(from)?.newest().cloned())
    }
}

#[cfg(test)]
mod tests;
