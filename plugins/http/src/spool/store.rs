//! What of the spool is synced, and which of its files are done with.

use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use picomq_connector_sdk::Batch;

use super::files::Segment;
use super::reader::{Reader, Room};
use super::{SpoolError, files};

/// The synced part of a spool. The lock on its folder is held as long as this lives.
#[derive(Debug)]
pub(crate) struct Spool {
    _lock: Option<File>,
    index: Mutex<Index>,
    reader: Mutex<Reader>,
}

#[derive(Debug)]
struct Index {
    segments: VecDeque<Segment>,
    next: u64,
}

impl Spool {
    pub(super) fn new(lock: Option<File>, segments: VecDeque<Segment>, next: u64) -> Spool {
        let index = Mutex::new(Index { segments, next });
        Spool { _lock: lock, index, reader: Mutex::default() }
    }

    /// The number after the last synced post.
    pub(crate) fn next(&self) -> u64 {
        self.index().next
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.index().segments.iter().map(|segment| segment.disk_bytes).sum()
    }

    /// A group was synced; `segment` is what its file is now.
    pub(crate) fn grew(&self, segment: Segment) {
        let mut index = self.index();
        index.next = segment.next;
        match index.segments.back_mut().filter(|last| last.first == segment.first) {
            Some(last) => *last = segment,
            None => index.segments.push_back(segment),
        }
    }

    /// Everything below `committed` is delivered: files with nothing else are removed, except the one being written.
    /// One that cannot be removed stays known and is tried again with the next call.
    pub(crate) fn delivered(&self, committed: u64) {
        let done: Vec<PathBuf> = {
            let index = self.index();
            let closed = index.segments.iter().take(index.segments.len().saturating_sub(1));
            closed.take_while(|one| one.next <= committed).map(|one| one.path.clone()).collect()
        };
        for path in done {
            if let Err(error) = files::remove(&path) {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a delivered part of the spool stays"
                );
                return;
            }
            self.index().segments.pop_front();
        }
    }

    /// Adds the posts from number `from` on to `batch` until there are no more or there is no room; answers the number
    /// after the last one added. Blocking.
    pub(crate) fn read(&self, from: u64, room: Room, batch: &mut Batch) -> Result<u64, SpoolError> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = from;
        while let Some(segment) = self.segment_of(next) {
            let before = next;
            reader.read(&segment, &mut next, room, batch)?;
            if next == before || next < segment.next {
                break;
            }
        }
        Ok(next)
    }

    /// The file in which the post `number` is, if it is synced.
    fn segment_of(&self, number: u64) -> Option<Segment> {
        let index = self.index();
        index.segments.iter().find(|one| one.first <= number && number < one.next).cloned()
    }

    /// The number of the oldest post there is.
    pub(crate) fn first(&self) -> u64 {
        let index = self.index();
        index.segments.front().map_or(index.next, |segment| segment.first)
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
