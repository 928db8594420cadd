//! One source as its listener sees it: takes posts in, holds them, and tells what became of each.
//!
//! With `ack = "delivered"` the posts wait in memory until their batch is acknowledged. With `ack = "spooled"` they
//! wait only until the spool has synced them. Either way nobody is answered 2xx for what is in memory alone.
//! Handlers and the source meet here under one short lock; the decisions are made by pure functions next door.

mod held;
mod outcome;
mod state;
mod ticket;
mod view;

pub(crate) use held::{Group, Taken};
pub(crate) use outcome::Outcome;
pub(crate) use ticket::{Offer, Ticket};
pub(crate) use view::{Polling, Reserved};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, PoisonError};
use std::time::Duration;

use picomq_connector_sdk::Batch;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::admission::{Admission, View, admit};
use crate::post::Post;
use crate::replays::{Digest, Known};
use crate::settings::{Bounds, Durability};
use crate::spool::{Room, Spool};
use outcome::Told;
use state::{Shared, State};
use view::Polls;

/// Shared by the source, its handlers and its spool.
pub(crate) struct Gate {
    bounds: Bounds,
    spool: Option<Arc<Spool>>,
    shared: Arc<Shared>,
    polls: Arc<Polls>,
    /// Rung when a post came in, and when the spool grew.
    pub(crate) arrived: Notify,
    /// Wakes the writer of the spool: there is something to write, or it is the end.
    unwritten: Condvar,
    /// Bytes of bodies under way.
    reading: Arc<AtomicU64>,
}

impl Gate {
    /// A gate whose next post has the number `next`. With a spool it takes posts into that.
    pub(crate) fn new(bounds: Bounds, spool: Option<Arc<Spool>>, next: u64) -> Gate {
        Gate {
            bounds,
            spool,
            shared: Arc::new(Shared::new(&bounds, next)),
            polls: Arc::new(Polls::new(Instant::now())),
            arrived: Notify::new(),
            unwritten: Condvar::new(),
            reading: Arc::default(),
        }
    }

    /// What a post of so many bytes would be told now. Asked before its body is read, and again with the whole.
    pub(crate) fn admission(&self, post_bytes: u64) -> Admission {
        admit(&self.view(&self.shared.lock(), post_bytes))
    }

    /// For the bytes of a body under way.
    pub(crate) fn reserving(&self) -> Reserved {
        Reserved::new(&self.reading)
    }

    /// Takes a post in, or says why not. A repeat of a delivery under way waits for the same outcome.
    pub(crate) fn offer(&self, post: Post) -> Offer {
        let mut state = self.shared.lock();
        if let Some(digest) = &post.digest {
            match state.replays.look(digest, state.age()) {
                Known::Done => return Offer::Safe,
                Known::Pending(told) => return Offer::Wait(Ticket::of_repeat(told)),
                Known::No => {}
            }
        }
        match admit(&self.view(&state, post.bytes() as u64)) {
            Admission::Full => return Offer::Full,
            Admission::Unavailable => return Offer::Unavailable,
            Admission::Admitted => {}
        }
        let told = Told::default();
        if let Some(digest) = post.digest {
            state.replays.begin(digest, Arc::clone(&told));
        }
        let number = state.held.push(post, Arc::clone(&told));
        let must_wake = std::mem::take(&mut state.is_writer_asleep);
        drop(state);
        match &self.spool {
            Some(_) => {
                if must_wake {
                    self.unwritten.notify_one();
                }
                Offer::Wait(Ticket::of_repeat(told))
            }
            None => {
                self.arrived.notify_one();
                Offer::Wait(Ticket::of_first(told, Arc::clone(&self.shared), number))
            }
        }
    }

    /// Fills `batch` with posts from number `head` on; none when there is none. The posts stay until they are
    /// acknowledged.
    pub(crate) fn take(&self, head: u64, room: Room, batch: &mut Batch) -> Option<Taken> {
        self.shared.lock().held.take(head, room, batch)
    }

    /// Everything below `next` was delivered and saved.
    pub(crate) fn acked(&self, next: u64) {
        let mut state = self.shared.lock();
        (state.nacks, state.nacked_at) = (0, None);
        if self.spool.is_none() {
            let done = state.held.remove_below(next);
            state.finish(&done);
            drop(state);
            done.tell(Outcome::Safe);
        }
    }

    /// A batch was not delivered; its posts stay.
    pub(crate) fn nacked(&self) {
        let mut state = self.shared.lock();
        state.nacks = state.nacks.saturating_add(1);
        state.nacked_at.get_or_insert_with(Instant::now);
    }

    /// A poll begins; it ends when the answer is dropped.
    pub(crate) fn polling(&self) -> Polling {
        self.polls.begin()
    }

    /// Takes out the posts that the spool should write next, and waits for some; none once it is closed and everything
    /// is written. Blocking.
    pub(crate) fn next_group(&self, bytes_max: usize) -> Option<Group> {
        let mut state = self.shared.lock();
        loop {
            if let Some(group) = state.held.remove_group(bytes_max) {
                state.writing_bytes = group.bytes();
                return Some(group);
            }
            if state.is_closed {
                return None;
            }
            state.is_writer_asleep = true;
            state = self.unwritten.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.is_writer_asleep = false;
        }
    }

    /// The writer of the spool rests for so long, or until it is closed. Blocking; no post wakes it.
    pub(crate) fn rest(&self, rest: Duration) {
        if rest.is_zero() {
            return;
        }
        let rested = self.unwritten.wait_timeout_while(self.shared.lock(), rest, |state| !state.is_closed);
        drop(rested);
    }

    /// The spool has synced a group.
    pub(crate) fn spooled(&self, group: Group) {
        let mut state = self.shared.lock();
        state.is_broken = false;
        state.writing_bytes = 0;
        state.finish(&group);
        drop(state);
        group.tell(Outcome::Safe);
        self.arrived.notify_one();
    }

    /// The spool could not write a group: its senders are told to come again.
    pub(crate) fn not_spooled(&self, group: Group) {
        let mut state = self.shared.lock();
        state.is_broken = true;
        state.writing_bytes = 0;
        state.forget(&group);
        drop(state);
        group.tell(Outcome::Lost);
    }

    /// The spool may be tried again.
    pub(crate) fn mended(&self) {
        self.shared.lock().is_broken = false;
    }

    /// A delivery that an earlier life made safe.
    pub(crate) fn remember(&self, digest: Digest) {
        let mut state = self.shared.lock();
        let now = state.age();
        state.replays.finish(digest, now);
    }

    /// Takes nothing more, and tells everybody who waits that their post is not safe. What is on its way into the
    /// spool is still written.
    pub(crate) fn close(&self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        if self.spool.is_none() {
            state.held.clear();
        }
        drop(state);
        self.unwritten.notify_one();
    }

    /// Whether it is well: polled within `patience`, and no batch failed for longer than that.
    pub(crate) fn is_healthy(&self, patience: Duration) -> bool {
        let state = self.shared.lock();
        let is_failing = state.nacked_at.is_some_and(|at| at.elapsed() >= patience);
        !state.is_closed && !is_failing && self.polls.unpolled() < patience
    }

    /// Posts held in memory.
    pub(crate) fn posts(&self) -> u64 {
        self.shared.lock().held.posts()
    }

    /// Bytes that are not delivered: in memory, and in the spool.
    pub(crate) fn bytes(&self) -> u64 {
        self.shared.lock().bytes() + self.spool.as_ref().map_or(0, |spool| spool.bytes())
    }

    /// The number that the next post will have.
    #[cfg(test)]
    pub(crate) fn next_number(&self) -> u64 {
        self.shared.lock().held.next()
    }

    fn view(&self, state: &State, post_bytes: u64) -> View {
        let Bounds { durability, nacks_max, .. } = self.bounds;
        let under_way = state.bytes() + self.reading.load(Ordering::Relaxed);
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
            is_closed: state.is_closed,
            unpolled: self.polls.unpolled(),
            nacks: state.nacks,
            nacks_max,
            takes_while_stalled: matches!(durability, Durability::Spooled { takes_while_stalled: true, .. }),
            is_broken: state.is_broken,
            posts: state.held.posts(),
            posts_max: self.bounds.posts_max,
            bytes,
            bytes_max,
            post_bytes,
        }
    }
}

#[cfg(test)]
mod tests;
