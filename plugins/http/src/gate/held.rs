//! The posts that are held in memory, by number.

use std::collections::VecDeque;

use picomq_connector_sdk::Batch;

use super::outcome::{Outcome, Told};
use crate::post::Post;
use crate::replays::Digest;
use crate::spool::Room;

/// The queue. The number of a post is that of the front plus its place.
pub(super) struct Held {
    front: u64,
    places: VecDeque<Place>,
    posts: u64,
    bytes: u64,
}

struct Place {
    /// None once it was withdrawn.
    entry: Option<Entry>,
    /// A batch held it: it may be delivered whatever its sender does.
    was_taken: bool,
}

struct Entry {
    post: Post,
    bytes: u64,
    told: Told,
}

impl Drop for Entry {
    /// Whoever still waits then learns that nobody made it safe.
    fn drop(&mut self) {
        let _ = self.told.set(Outcome::Lost);
    }
}

/// What was put into a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The number after the last post.
    pub(crate) next: u64,
    /// The names of those that have one.
    pub(crate) digests: Vec<Digest>,
}

/// Posts taken out together, and those who wait for them.
pub(crate) struct Group(Vec<Entry>);

impl Held {
    pub(super) fn new(front: u64) -> Held {
        Held { front, places: VecDeque::new(), posts: 0, bytes: 0 }
    }

    #[cfg(test)]
    pub(super) fn next(&self) -> u64 {
        self.front + self.places.len() as u64
    }

    pub(super) fn posts(&self) -> u64 {
        self.posts
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a post and answers its number.
    pub(super) fn push(&mut self, post: Post, told: Told) -> u64 {
        let (number, bytes) = (self.front + self.places.len() as u64, post.bytes() as u64);
        self.posts += 1;
        self.bytes += bytes;
        self.places.push_back(Place { entry: Some(Entry { post, bytes, told }), was_taken: false });
        number
    }

    /// Forgets a post that no batch held yet; its name, if it has one, may come again.
    pub(super) fn withdraw(&mut self, number: u64) -> Option<Digest> {
        let place = self.places.get_mut(usize::try_from(number.checked_sub(self.front)?).ok()?)?;
        if place.was_taken {
            return None;
        }
        let entry = place.entry.take()?;
        self.posts -= 1;
        self.bytes -= entry.bytes;
        // Only the end may be cut off: everything before keeps its number.
        while self.places.back().is_some_and(|last| last.entry.is_none() && !last.was_taken) {
            self.places.pop_back();
        }
        entry.post.digest
    }

    /// Writes posts from number `head` on into `batch`, as far as there is room.
    pub(super) fn take(&mut self, head: u64, room: Room, batch: &mut Batch) -> Option<Taken> {
        let skip = usize::try_from(head.checked_sub(self.front)?).ok()?;
        let mut taken = Taken { next: head, digests: Vec::new() };
        for place in self.places.iter_mut().skip(skip) {
            if let Some(entry) = &place.entry {
                let is_full = batch.len() >= room.records || batch.bytes() + entry.post.bytes() > room.bytes;
                if is_full && !batch.is_empty() {
                    break;
                }
                entry.post.write(batch);
                taken.digests.extend(entry.post.digest);
            }
            place.was_taken = true;
            taken.next += 1;
        }
        (!batch.is_empty()).then_some(taken)
    }

    /// Takes out what is below `next`.
    pub(super) fn remove_below(&mut self, next: u64) -> Group {
        let mut entries = Vec::new();
        while self.front < next {
            let Some(place) = self.places.pop_front() else {
                // Numbers of a former life.
                self.front = next;
                break;
            };
            self.front += 1;
            entries.extend(place.entry);
        }
        self.without(entries)
    }

    /// Takes out the oldest posts, up to `bytes_max` together, but one at least.
    pub(super) fn remove_group(&mut self, bytes_max: usize) -> Option<Group> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        while let Some(place) = self.places.front() {
            let more = place.entry.as_ref().map_or(0, |entry| entry.bytes);
            if !entries.is_empty() && bytes + more > bytes_max as u64 {
                break;
            }
            bytes += more;
            self.front += 1;
            entries.extend(self.places.pop_front().and_then(|place| place.entry));
        }
        let group = self.without(entries);
        (!group.0.is_empty()).then_some(group)
    }

    /// Drops everything; whoever waits learns it by that.
    pub(super) fn clear(&mut self) {
        self.front += self.places.len() as u64;
        self.places.clear();
        (self.posts, self.bytes) = (0, 0);
    }

    fn without(&mut self, entries: Vec<Entry>) -> Group {
        self.posts -= entries.len() as u64;
        let group = Group(entries);
        self.bytes -= group.bytes();
        group
    }
}

impl Group {
    /// The posts as the spool writes them.
    pub(crate) fn encoded(&self) -> Vec<Vec<u8>> {
        let encoded = |entry: &Entry| {
            let mut bytes = Vec::with_capacity(entry.post.bytes() + 64);
            entry.post.encode(&mut bytes);
            bytes
        };
        self.0.iter().map(encoded).collect()
    }

    /// Their bytes as records.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|entry| entry.bytes).sum()
    }

    pub(super) fn digests(&self) -> impl Iterator<Item = Digest> {
        self.0.iter().filter_map(|entry| entry.post.digest)
    }

    pub(super) fn tell(self, outcome: Outcome) {
        for entry in self.0 {
            let _ = entry.told.set(outcome);
        }
    }
}
