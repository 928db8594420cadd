//! The live tail: each new record once, for a watcher who may be slow.
//!
//! The queue holds places in logs, not records, so a slow watcher pins no memory. What it missed, because the queue ran
//! over or the log dropped it first, is counted in records.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::record::{Record, Undecodable};
use crate::topic::Topic;

/// What a [`Tail`] shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TailEvent {
    /// A new record.
    Record {
        /// Its topic.
        topic: String,
        /// The record.
        record: Record,
    },
    /// New records that cannot be taken apart.
    Opaque {
        /// Their topic.
        topic: String,
        /// Offset of the first.
        offset: i64,
        /// How many.
        count: u64,
        /// Why not.
        reason: Undecodable,
    },
}

/// A subscription to all records appended after it was made. See [`BrokerHandle::subscribe`](crate::BrokerHandle::subscribe).
#[derive(Debug)]
pub struct Tail {
    places: broadcast::Receiver<Place>,
    ready: VecDeque<TailEvent>,
    announced: u64,
    missed: u64,
}

/// Where new records stand.
#[derive(Debug, Clone)]
struct Place {
    topic: Arc<Topic>,
    base_offset: i64,
    count: u64,
    /// Records announced before these, by which a watcher sees how many it missed.
    before: u64,
}

/// The sending side.
#[derive(Debug)]
pub(crate) struct Announcer {
    state: Mutex<Announced>,
}

#[derive(Debug)]
struct Announced {
    /// `None` once the broker has stopped.
    sender: Option<broadcast::Sender<Place>>,
    records: u64,
}

impl Announcer {
    pub(crate) fn new(places_max: usize) -> Self {
        let sender = Some(broadcast::Sender::new(places_max.max(1)));
        Self { state: Mutex::new(Announced { sender, records: 0 }) }
    }

    /// Tells all tails of new records.
    pub(crate) fn announce(&self, topic: &Arc<Topic>, base_offset: i64, count: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.records;
        state.records += count;
        if let Some(sender) = state.sender.as_ref().filter(|sender| sender.receiver_count() > 0) {
            // The only error is that nobody listens any more.
            let _ = sender.send(Place { topic: topic.clone(), base_offset, count, before });
        }
    }

    pub(crate) fn subscribe(&self) -> Tail {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let places = match &state.sender {
            Some(sender) => sender.subscribe(),
            None => broadcast::Sender::new(1).subscribe(),
        };
        Tail { places, ready: VecDeque::new(), announced: state.records, missed: 0 }
    }

    /// Ends all tails once they have shown what is in their queue.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).sender = None;
    }
}

impl Tail {
    /// The next new record; `None` after the broker has stopped. Cancelling loses nothing.
    pub async fn next(&mut self) -> Option<TailEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            match self.places.recv().await {
                Ok(place) => self.show(&place),
                // The gap is counted when the next place arrives.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Records this tail was too slow to show.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    fn show(&mut self, place: &Place) {
        self.missed += place.before - self.announced;
        self.announced = place.before + place.count;
        let topic = place.topic.name();
        match place.topic.records(place.base_offset, place.count as usize) {
            Err(_) => self.missed += place.count,
            Ok(Ok(records)) => self.ready.extend(
                records.into_iter().map(|record| TailEvent::Record { topic: topic.to_owned(), record }),
            ),
            Ok(Err(bad)) => self.ready.push_back(TailEvent::Opaque {
                topic: topic.to_owned(),
                offset: place.base_offset,
                count: place.count,
                reason: bad.reason,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
