//! The points that were read near the end, so that a look back knows them again.
//!
//! They lie in slots of neighbouring times, and in its slot each is forty bits: so one takes five bytes of a state that is
//! saved with every batch. A point that was never read is taken for a known one with the chance *points of its slot* ÷ 2^40,
//! which is below 10^-9.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

use crate::mark::Mark;

/// A slot holds so many points at most, unless they have one time.
const SLOT_POINTS: usize = 256;
/// What is kept of a name, and what that takes.
const NAME_BITS: u32 = 40;
const NAME_BYTES: usize = 5;
/// First and last time, and the count.
const HEAD_BYTES: usize = 20;

/// A point that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) time: i64,
    name: u64,
}

impl Seen {
    /// Equal rows of one time count by their occurrence.
    pub(crate) fn new(time: i64, mark: Mark) -> Seen {
        let occurrence = u64::from(mark.occurrence).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // A payload need not hold the time, and a slot holds many.
        let name = mixed(mark.digest.0 ^ occurrence ^ mixed(time as u64));
        Seen { time, name: name >> (64 - NAME_BITS) }
    }
}

/// The last step of SplitMix64: every bit of the answer hangs on every bit of `word`.
fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Of the points from `floor` on that were read, all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    floor: i64,
    /// In the order of time. Shared: a window is copied with every batch.
    slots: VecDeque<Arc<Slot>>,
    points: usize,
}

/// Its times are those from `first` to before the next slot's.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slot {
    first: i64,
    last: i64,
    /// Sorted.
    names: Vec<u64>,
}

impl Window {
    /// Nothing is remembered, and only from here on it will be.
    pub(crate) fn from(floor: i64) -> Window {
        Window { floor, slots: VecDeque::new(), points: 0 }
    }

    pub(crate) fn floor(&self) -> i64 {
        self.floor
    }

    pub(crate) fn len(&self) -> usize {
        self.points
    }

    /// Whether a point was read before.
    pub(crate) fn has(&self, seen: &Seen) -> bool {
        let after = self.slots.partition_point(|slot| slot.first <= seen.time);
        let slot = after.checked_sub(1).and_then(|index| self.slots.get(index));
        slot.is_some_and(|slot| slot.names.binary_search(&seen.name).is_ok())
    }

    /// Remembers points, which are in the order of time. `most` is how many the window is to hold: the fewer, the finer its
    /// slots, since they are forgotten whole.
    pub(crate) fn remember(&mut self, mut read: &[Seen], most: usize) {
        let full = (most / 16).clamp(1, SLOT_POINTS);
        while let Some(first) = read.first() {
            let index = self.place(first.time, full);
            let count = match self.slots.get(index + 1) {
                Some(next) => read.partition_point(|seen| seen.time < next.first),
                None => fitting(read, full.saturating_sub(self.slots[index].names.len())),
            };
            let (now, later) = read.split_at(count.max(1));
            Arc::make_mut(&mut self.slots[index]).insert(now);
            self.points += now.len();
            read = later;
        }
    }

    /// The slot for this time; a new one when the last is full.
    fn place(&mut self, time: i64, full: usize) -> usize {
        let is_open = |slot: &Arc<Slot>| slot.names.len() < full || time <= slot.last;
        if !self.slots.back().is_some_and(is_open) {
            self.slots.push_back(Arc::new(Slot { first: time, last: time, names: Vec::new() }));
        }
        self.slots.partition_point(|slot| slot.first <= time).saturating_sub(1)
    }

    /// Forgets what lies before `floor`.
    pub(crate) fn raise(&mut self, floor: i64) {
        self.floor = self.floor.max(floor);
        while self.slots.front().is_some_and(|slot| slot.last < self.floor) {
            self.forget_oldest();
        }
    }

    /// Forgets the oldest until there are no more than `most`. Answers whether it had to.
    pub(crate) fn shorten(&mut self, most: usize) -> bool {
        let is_long = self.points > most;
        while self.points > most
            && let Some(slot) = self.forget_oldest()
        {
            self.floor = self.floor.max(slot.last.saturating_add(1));
        }
        is_long
    }

    fn forget_oldest(&mut self) -> Option<Arc<Slot>> {
        let slot = self.slots.pop_front()?;
        self.points -= slot.names.len();
        Some(slot)
    }

    /// How many lie in slots that have times from `low` to before `high`.
    pub(crate) fn count(&self, low: i64, high: i64) -> usize {
        let slots = self.slots.iter().filter(|slot| slot.last >= low && slot.first < high);
        slots.map(|slot| slot.names.len()).sum()
    }

    /// The time before which there are `points` of them at most from `low` on; `None` when there are no more.
    pub(crate) fn reach(&self, low: i64, points: usize) -> Option<i64> {
        let first = self.slots.partition_point(|slot| slot.last < low);
        let mut sum = 0;
        let mut slots = self.slots.range(first..);
        let over = slots.find(|slot| {
            let is_over = sum > 0 && sum + slot.names.len() > points;
            sum += slot.names.len();
            is_over
        });
        over.map(|slot| slot.first)
    }

    fn pack(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 + self.slots.len() * HEAD_BYTES + self.points * NAME_BYTES);
        out.extend(self.floor.to_le_bytes());
        for slot in &self.slots {
            out.extend(slot.first.to_le_bytes());
            out.extend(slot.last.to_le_bytes());
            // At most as many as `overlap_points`, and a group that is larger is forgotten.
            out.extend((slot.names.len() as u32).to_le_bytes());
            slot.names.iter().for_each(|name| out.extend_from_slice(&name.to_le_bytes()[..NAME_BYTES]));
        }
        out
    }

    fn unpack(mut bytes: &[u8]) -> Option<Window> {
        let mut window = Window::from(i64::from_le_bytes(*take(&mut bytes)?));
        while !bytes.is_empty() {
            let first = i64::from_le_bytes(*take(&mut bytes)?);
            let last = i64::from_le_bytes(*take(&mut bytes)?);
            let count = u32::from_le_bytes(*take(&mut bytes)?) as usize;
            let (names, rest) = bytes.split_at_checked(count.checked_mul(NAME_BYTES)?)?;
            bytes = rest;
            let names: Vec<u64> = names.chunks_exact(NAME_BYTES).map(name).collect();
            let is_after = window.slots.back().is_none_or(|before| before.last < first);
            if first > last || !is_after || !names.is_sorted() {
                return None;
            }
            window.points += names.len();
            window.slots.push_back(Arc::new(Slot { first, last, names }));
        }
        Some(window)
    }
}

impl Slot {
    fn insert(&mut self, read: &[Seen]) {
        if let (Some(first), Some(last)) = (read.first(), read.last()) {
            (self.first, self.last) = (self.first.min(first.time), self.last.max(last.time));
        }
        self.names.extend(read.iter().map(|seen| seen.name));
        self.names.sort_unstable();
    }
}

/// How many of them go into a slot that has room for so many: whole times.
fn fitting(read: &[Seen], room: usize) -> usize {
    let is_out = |index: &usize| read[*index].time > read[*index - 1].time;
    (room.max(1)..read.len()).find(is_out).unwrap_or(read.len())
}

fn take<'a, const COUNT: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; COUNT]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(head)
}

fn name(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.pack())
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Window, D::Error> {
        let bytes = serde_bytes::ByteBuf::deserialize(from)?;
        Window::unpack(&bytes).ok_or_else(|| D::Error::custom("the remembered points are damaged"))
    }
}

#[cfg(test)]
mod tests;
