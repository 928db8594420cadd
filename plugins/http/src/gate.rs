//! One source as its listener sees it: takes posts in, holds them, and tells what became of each.
//!
//! With `ack = "delivered"` the posts wait in memory until their batch is acknowledged. With `ack = "spooled"` they
//! wait only until the spool has synced them. Either way nobody is answered 2xx for what is in memory alone.
//! Handlers and the source meet here under one short lock; the decisions are made by pure functions next door.

mod held;
mod ticket;
mod view;

pub(crate) use held::Group;
pub(crate) use ticket::{Offer, Outcome, Ticket};
pub(crate) use view::{Polling, Reserved};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use picomq_connector_sdk::Batch;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::admission::{Admission, View, admit};
use crate::post::Post;
use crate::replays::{Digest, Known, Replays};
use crate::settings::{Bounds, Durability};
use crate::spool::{Room, Spool};
use held::Held;
use view::Polls;

/// Shared by the source, its handlers and its spool.
pub(crate) struct Gate {
    bounds: Bounds,
    spool: Option<Arc<Spool>>,
    inner: Mutex<Inner>,
    /// Rung when a post came in, and when the spool grew.
    pub(crate) arrived: Notify,
    /// Rung when there is something for the spool to write, and at the end.
    pub(crate) unwritten: Notify,
    /// Bytes of bodies under way.
    reading: Arc<AtomicU64>,
    opened: Instant,
}

struct Inner {
    is_closed: bool,
    polls: Polls,
    nacks: u32,
    nacked_at: Option<Instant>,
    is_broken: bool,
    held: Held,
    replays: Replays<watch::Receiver<Option<Outcome>>>,
}

/// What was put into a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The number after the last post.
    pub(crate) next: u64,
    /// The names of those that have one.
    pub(crate) digests: Vec<Digest>,
}

impl Gate {
    /// A gate whose next post has the number `next`. With a spool it takes posts into that.
    pub(crate) fn new(bounds: Bounds, spool: Option<Arc<Spool>>, next: u64) -> Gate {
        let now = Instant::now();
        let inner = Inner {
            is_closed: false,
            polls: Polls::new(now),
            nacks: 0,
            nacked_at: None,
            is_broken: false,
            held: Held::new(next),
            replays: Replays::new(bounds.dedupe_window, bounds.dedupe_capacity),
        };
        Gate {
            bounds,
            spool,
            inner: Mutex::new(inner),
            arrived: Notify::new(),
            unwritten: Notify::new(),
            reading: Arc::default(),
            opened: now,
        }
    }

    /// What a post of so many bytes would be told now. Asked before its body is read, and again with the whole.
    pub(crate) fn admission(&self, post_bytes: u64) -> Admission {
        admit(&self.view(&self.inner(), post_bytes))
    }

    /// Room for a body under way; none when there is none.
    pub(crate) fn reserve(&self, bytes: u64) -> Option<Reserved> {
        let reserved = Reserved::new(&self.reading, bytes);
        (self.admission(0) != Admission::Full).then_some(reserved)
    }

    /// Takes a post in, or says why not. A repeat of a delivery under way waits for the same outcome.
    pub(crate) fn offer(self: &Arc<Self>, post: Post) -> Offer {
        let mut inner = self.inner();
        if let Some(digest) = &post.digest {
            match inner.replays.look(digest, self.opened.elapsed()) {
                Known::Done => return Offer::Safe,
                Known::Pending(outcome) => return Offer::Wait(Ticket::of_repeat(outcome)),
                Known::No => {}
            }
        }
        match admit(&self.view(&inner, post.bytes() as u64)) {
            Admission::Full => return Offer::Full,
            Admission::Unavailable => return Offer::Unavailable,
            Admission::Admitted => {}
        }
        let (sender, outcome) = watch::channel(None);
        if let Some(digest) = post.digest {
            inner.replays.begin(digest, outcome.clone());
        }
        let number = inner.held.push(post, sender);
        drop(inner);
        match &self.spool {
            Some(_) => {
                self.unwritten.notify_one();
                Offer::Wait(Ticket::of_repeat(outcome))
            }
            None => {
                self.arrived.notify_one();
                Offer::Wait(Ticket::of_first(outcome, Arc::clone(self), number))
            }
        }
    }

    /// Nobody waits for a post any more. If no batch ever held it, it is as if it had never come.
    fn withdraw(&self, number: u64) {
        let mut inner = self.inner();
        let digest = inner.held.withdraw(number);
        if let Some(digest) = digest {
            inner.replays.forget(&digest);
        }
    }

    /// Fills `batch` with posts from number `head` on; none when there is none. The posts stay until they are
    /// acknowledged.
    pub(crate) fn take(&self, head: u64, room: Room, batch: &mut Batch) -> Option<Taken> {
        self.inner().held.take(head, room, batch)
    }

    /// Everything below `next` was delivered and saved.
    pub(crate) fn acked(&self, next: u64) {
        let mut inner = self.inner();
        (inner.nacks, inner.nacked_at) = (0, None);
        if self.spool.is_none() {
            let done = inner.held.remove_below(next);
            self.settle(&mut inner, done);
        }
    }

    /// A batch was not delivered; its posts stay.
    pub(crate) fn nacked(&self) {
        let mut inner = self.inner();
        inner.nacks = inner.nacks.saturating_add(1);
        inner.nacked_at.get_or_insert_with(Instant::now);
    }

    /// A poll begins; it ends when the answer is dropped.
    pub(crate) fn polling(self: &Arc<Self>) -> Polling {
        self.inner().polls.begin();
        Polling(Arc::clone(self))
    }

    /// Posts that the spool should write next, taken out; none when there are none.
    pub(crate) fn group(&self, bytes_max: usize) -> Option<Group> {
        self.inner().held.remove_group(bytes_max)
    }

    /// The spool has synced a group.
    pub(crate) fn spooled(&self, group: Group) {
        let mut inner = self.inner();
        inner.is_broken = false;
        self.settle(&mut inner, group);
        drop(inner);
        self.arrived.notify_one();
    }

    /// The spool could not write a group: its senders are told to come again.
    pub(crate) fn not_spooled(&self, group: Group) {
        let mut inner = self.inner();
        inner.is_broken = true;
        for digest in group.digests() {
            inner.replays.forget(&digest);
        }
        drop(inner);
        group.tell(Outcome::Lost);
    }

    /// The spool may be tried again.
    pub(crate) fn mended(&self) {
        self.inner().is_broken = false;
    }

    /// A delivery that an earlier life made safe.
    pub(crate) fn remember(&self, digest: Digest) {
        self.inner().replays.finish(digest, self.opened.elapsed());
    }

    /// Takes nothing more, and tells everybody who waits that their post is not safe. What is on its way into the
    /// spool is still written.
    pub(crate) fn close(&self) {
        let mut inner = self.inner();
        inner.is_closed = true;
        if self.spool.is_none() {
            inner.held.clear();
        }
        drop(inner);
        self.unwritten.notify_one();
    }

    /// Whether posts can still come.
    pub(crate) fn is_closed(&self) -> bool {
        self.inner().is_closed
    }

    /// Whether it is well: polled within `patience`, and no batch failed for longer than that.
    pub(crate) fn is_healthy(&self, patience: Duration) -> bool {
        let inner = self.inner();
        let is_failing = inner.nacked_at.is_some_and(|at| at.elapsed() >= patience);
        !inner.is_closed && !is_failing && inner.polls.unpolled() < patience
    }

    /// Posts held in memory.
    pub(crate) fn posts(&self) -> u64 {
        self.inner().held.posts()
    }

    /// Bytes that are not delivered: in memory, and in the spool.
    pub(crate) fn bytes(&self) -> u64 {
        self.inner().held.bytes() + self.spool.as_ref().map_or(0, |spool| spool.bytes())
    }

    /// The number that the next post will have.
    #[cfg(test)]
    pub(crate) fn next_number(&self) -> u64 {
        self.inner().held.next()
    }

    fn settle(&self, inner: &mut Inner, group: Group) {
        let now = self.opened.elapsed();
        for digest in group.digests() {
            inner.replays.finish(digest, now);
        }
        group.tell(Outcome::Safe);
    }

    fn view(&self, inner: &Inner, post_bytes: u64) -> View {
        let Bounds { durability, nacks_max, .. } = self.bounds;
        let under_way = inner.held.bytes() + self.reading.load(Ordering::Relaxed);
        let (bytes, bytes_max) = match (&self.spool, durability) {
            // What is in memory is bounded too: it is on its way into the spool.
            (Some(spool), Durability::Spooled { bytes_max, .. })
                if under_way + post_bytes <= self.bounds.bytes_max =>
            {
                (under_way + spool.bytes(), bytes_max)
            }
            _ => (under_way, self.bounds.bytes_max),
        };
        View {
            is_closed: inner.is_closed,
            unpolled: inner.polls.unpolled(),
            nacks: inner.nacks,
            nacks_max,
            takes_while_stalled: matches!(durability, Durability::Spooled { takes_while_stalled: true, .. }),
            is_broken: inner.is_broken,
            posts: inner.held.posts(),
            posts_max: self.bounds.posts_max,
            bytes,
            bytes_max,
            post_bytes,
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
