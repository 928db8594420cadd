//! The documents past the floor that were delivered: what a search that begins at the floor will bring again.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

use crate::key::{Key, Point};

/// Most entries of a part.
const PART_MAX: usize = 512;

/// Delivered documents, in the order of their keys. Documents of one key stand in different shards, and are told apart by
/// a checksum of index and id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// None is empty. A position is copied with every batch, and copies share the parts that neither of them changes.
    parts: VecDeque<Arc<Vec<Entry>>>,
    len: usize,
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
        let (part, within) = self.place(|entry| entry.key < *key);
        let parts = self.parts.range(part..).map(|part| &part[..]).enumerate();
        parts
            .flat_map(|(turn, part)| if turn == 0 { &part[within..] } else { part })
            .take_while(|entry| entry.key == *key)
            .any(|entry| entry.name == name)
    }

    /// Remembers a document.
    pub(crate) fn insert(&mut self, key: Key, name: u32) {
        let entry = Entry { key, name };
        self.len += 1;
        let (part, within) = match self.place(|other| *other <= entry) {
            // Behind all others: most come in order.
            (past, _) if past == self.parts.len() => match self.parts.back() {
                Some(last) => (past - 1, last.len()),
                None => return self.parts.push_back(Arc::new(vec![entry])),
            },
            inside => inside,
        };
        let entries = Arc::make_mut(&mut self.parts[part]);
        entries.insert(within, entry);
        if entries.len() > PART_MAX {
            let behind = entries.split_off(within.max(PART_MAX / 2));
            self.parts.insert(part + 1, Arc::new(behind));
        }
    }

    /// How many lie before `key`.
    pub(crate) fn before(&self, key: &Key) -> usize {
        self.count(|entry| entry.key < *key)
    }

    /// How many lie before the time `at`.
    pub(crate) fn before_time(&self, at: &Point) -> usize {
        self.count(|entry| entry.key.at < *at)
    }

    /// How many lie before the time `at` or at it.
    pub(crate) fn up_to_time(&self, at: &Point) -> usize {
        self.count(|entry| entry.key.at <= *at)
    }

    /// Forgets the oldest `count`. The answer is the key of the last one of them.
    pub(crate) fn forget(&mut self, count: usize) -> Option<Key> {
        let mut left = count.min(self.len);
        self.len -= left;
        let mut last = None;
        while let Some(part) = self.parts.front_mut().filter(|_| left > 0) {
            if part.len() > left {
                return Arc::make_mut(part).drain(..left).next_back().map(|entry| entry.key);
            }
            left -= part.len();
            last = part.last().map(|entry| entry.key.clone());
            self.parts.pop_front();
        }
        last
    }

    /// The place of the newest document.
    pub(crate) fn newest(&self) -> Option<&Key> {
        self.parts.back().and_then(|part| part.last()).map(|entry| &entry.key)
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Counts the times in another unit; `change` keeps their order.
    pub(crate) fn map(&mut self, change: impl Fn(&Point) -> Option<Point>) -> Option<()> {
        for part in &mut self.parts {
            for entry in Arc::make_mut(part) {
                entry.key.at = change(&entry.key.at)?;
            }
        }
        Some(())
    }

    /// The part, and the place in it, of the first entry of which `is_before` is not true.
    fn place(&self, is_before: impl Fn(&Entry) -> bool) -> (usize, usize) {
        let part = self.parts.partition_point(|part| part.last().is_some_and(&is_before));
        (part, self.parts.get(part).map_or(0, |part| part.partition_point(&is_before)))
    }

    fn count(&self, is_before: impl Fn(&Entry) -> bool) -> usize {
        let (part, within) = self.place(is_before);
        self.parts.range(..part).map(|part| part.len()).sum::<usize>() + within
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.parts.iter().flat_map(|part| part.iter())
    }

    /// As few bytes as it takes: numbers as differences from the entry before.
    fn pack(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len * 10);
        let mut before = (0, 0);
        for Entry { key, name } in self.entries() {
            pack_point(&key.at, &mut before.0, &mut out);
            pack_point(&key.tie, &mut before.1, &mut out);
            out.extend(name.to_le_bytes());
        }
        out
    }

    fn unpack(mut bytes: &[u8]) -> Option<Seen> {
        let mut entries = Vec::new();
        let mut before = (0, 0);
        while !bytes.is_empty() {
            let at = unpack_point(&mut before.0, &mut bytes)?;
            let tie = unpack_point(&mut before.1, &mut bytes)?;
            let (name, rest) = bytes.split_first_chunk::<4>()?;
            bytes = rest;
            entries.push(Entry { key: Key { at, tie }, name: u32::from_le_bytes(*name) });
        }
        entries.is_sorted().then(|| Seen {
            len: entries.len(),
            parts: entries.chunks(PART_MAX).map(|part| Arc::new(part.to_vec())).collect(),
        })
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

impl PartialEq for Seen {
    fn eq(&self, other: &Seen) -> bool {
        self.len == other.len && self.entries().eq(other.entries())
    }
}

impl Eq for Seen {}

impl Serialize for Seen {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.pack())
    }
}

impl<'de> Deserialize<'de> for Seen {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Seen, D::Error> {
        let bytes = serde_bytes::ByteBuf::deserialize(from)?;
        Seen::unpack(&bytes).ok_or_else(|| D::Error::custom("the remembered documents are damaged"))
    }
}

/// A key, or none, as it is saved: `#[serde(with = "packed_key")]`.
pub(crate) mod packed_key {
    use super::{Deserialize, Deserializer, Key, Seen, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(key: &Option<Key>, to: S) -> Result<S::Ok, S::Error> {
        let mut one = Seen::default();
        key.iter().for_each(|key| one.insert(key.clone(), 0));
        one.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Key>, D::Error> {
        Ok(Seen::deserialize(from)?.newest().cloned())
    }
}

#[cfg(test)]
mod tests;
