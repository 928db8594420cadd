//! Which deliveries were seen already: the cache behind idempotency and against replays. Pure: time is passed in.
//!
//! A delivery is known by a digest of its path and its name. While it is on its way a repeat waits for the same
//! outcome; once it is safe a repeat is answered at once and makes no second record, until the window has passed or
//! more deliveries than the cache holds came after it.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

/// 96 bits of the SHA-256 of path and name: sixteen characters of base64 in a state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Digest([u8; DIGEST_BYTES]);

const DIGEST_BYTES: usize = 12;

/// Characters of a digest as text.
pub const DIGEST_CHARACTERS: usize = 16;

impl Digest {
    /// Of the delivery that its sender calls `name`, posted to `path`.
    pub fn of(path: &str, name: &str) -> Digest {
        let text = [path.as_bytes(), &[0], name.as_bytes()].concat();
        let mut bytes = [0; DIGEST_BYTES];
        bytes.copy_from_slice(&digest(&SHA256, &text).as_ref()[..DIGEST_BYTES]);
        Digest(bytes)
    }

    /// Appends it as text.
    pub fn write(self, text: &mut String) {
        STANDARD.encode_string(self.0, text);
    }

    /// All digests of a text that [`write`](Digest::write) made; None when it is not such a text.
    pub fn read_all(text: &str) -> Option<Vec<Digest>> {
        let chunks = text.as_bytes().chunks(DIGEST_CHARACTERS);
        chunks.map(|chunk| STANDARD.decode(chunk).ok()?.try_into().ok().map(Digest)).collect()
    }
}

/// What is known of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known<P> {
    /// Nothing.
    No,
    /// It is on its way.
    Pending(P),
    /// It is safe.
    Done,
}

/// The cache. `P` is what a repeat of a pending delivery needs to wait for its outcome.
#[derive(Debug)]
pub struct Replays<P> {
    window: Duration,
    capacity: usize,
    pending: HashMap<Digest, P>,
    done: HashMap<Digest, Finished>,
    order: VecDeque<(Digest, Finished)>,
    finished: u64,
}

/// When, and as which of all: two may finish at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Finished {
    at: Duration,
    number: u64,
}

impl<P: Clone> Replays<P> {
    /// Remembers a delivery for `window` after it was safe, and at most `capacity` of them.
    pub fn new(window: Duration, capacity: usize) -> Replays<P> {
        let (pending, done, order) = (HashMap::new(), HashMap::new(), VecDeque::new());
        Replays { window, capacity, pending, done, order, finished: 0 }
    }

    /// What is known at `now`, a time since any fixed point.
    pub fn look(&self, digest: &Digest, now: Duration) -> Known<P> {
        if let Some(pending) = self.pending.get(digest) {
            return Known::Pending(pending.clone());
        }
        match self.done.get(digest) {
            Some(finished) if now.saturating_sub(finished.at) <= self.window => Known::Done,
            Some(_) | None => Known::No,
        }
    }

    /// It is on its way.
    pub fn begin(&mut self, digest: Digest, pending: P) {
        self.pending.insert(digest, pending);
    }

    /// It was not taken after all.
    pub fn forget(&mut self, digest: &Digest) {
        self.pending.remove(digest);
    }

    /// It is safe since `now`.
    pub fn finish(&mut self, digest: Digest, now: Duration) {
        self.pending.remove(&digest);
        if self.capacity == 0 {
            return;
        }
        self.finished += 1;
        let finished = Finished { at: now, number: self.finished };
        self.done.insert(digest, finished);
        self.order.push_back((digest, finished));
        while let Some((oldest, finished)) = self.order.front().copied() {
            if self.order.len() <= self.capacity && now.saturating_sub(finished.at) <= self.window {
                break;
            }
            self.order.pop_front();
            // Finished again later, it stays for its later time.
            if self.done.get(&oldest) == Some(&finished) {
                self.done.remove(&oldest);
            }
        }
    }

    /// How many safe deliveries are remembered.
    pub fn remembered(&self) -> usize {
        self.done.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(10);

    fn cache(capacity: usize) -> Replays<u32> {
        Replays::new(WINDOW, capacity)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_delivery_is_known_from_its_beginning_to_the_end_of_the_window() {
        let (mut cache, digest) = (cache(10), Digest::of("/a", "1"));
        assert_eq!(cache.look(&digest, seconds(0)), Known::No);
        cache.begin(digest, 7);
        assert_eq!(cache.look(&digest, seconds(99)), Known::Pending(7));
        cache.finish(digest, seconds(100));
        assert_eq!(cache.look(&digest, seconds(110)), Known::Done);
        assert_eq!(cache.look(&digest, seconds(111)), Known::No);
    }

    #[test]
    fn the_same_name_on_another_path_is_another_delivery() {
        let mut cache = cache(10);
        cache.finish(Digest::of("/a", "1"), seconds(0));
        assert_eq!(cache.look(&Digest::of("/b", "1"), seconds(0)), Known::No);
        assert_ne!(Digest::of("/a", "b1"), Digest::of("/ab", "1"));
    }

    #[test]
    fn what_was_not_taken_may_come_again() {
        let (mut cache, digest) = (cache(10), Digest::of("/a", "1"));
        cache.begin(digest, 1);
        cache.forget(&digest);
        assert_eq!(cache.look(&digest, seconds(0)), Known::No);
    }

    #[test]
    fn digests_come_back_from_their_text() {
        let digests: Vec<Digest> = (0..100).map(|number| Digest::of("/a", &number.to_string())).collect();
        let mut text = String::new();
        digests.iter().for_each(|digest| digest.write(&mut text));
        assert_eq!(text.len(), 100 * DIGEST_CHARACTERS);
        assert_eq!(Digest::read_all(&text), Some(digests));
        assert_eq!(Digest::read_all(&text[1..]), None);
        assert_eq!(Digest::read_all(""), Some(Vec::new()));
    }

    proptest! {
        /// Against a plain list: nothing is forgotten early while there is room, nothing is remembered late, and the
        /// cache never holds more than it may.
        #[test]
        fn it_remembers_exactly_the_newest_within_the_window(
            steps in proptest::collection::vec((0..12_u32, 0..4_u64), 1..100),
            capacity in 1..8_usize,
        ) {
            let mut cache = cache(capacity);
            let (mut finished, mut now): (Vec<(u32, u64)>, u64) = (Vec::new(), 0);
            for (name, later) in steps {
                now += later;
                cache.finish(Digest::of("/", &name.to_string()), seconds(now));
                finished.push((name, now));
                prop_assert!(cache.remembered() <= capacity);
                let kept = &finished[finished.len().saturating_sub(capacity)..];
                let mut right: BTreeMap<u32, u64> = BTreeMap::new();
                for (name, at) in kept { right.insert(*name, *at); }
                for name in 0..12 {
                    let is_known = right.get(&name).is_some_and(|at| now - at <= WINDOW.as_secs());
                    let known = cache.look(&Digest::of("/", &name.to_string()), seconds(now));
                    prop_assert_eq!(known, if is_known { Known::Done } else { Known::No });
                }
            }
        }
    }
}
