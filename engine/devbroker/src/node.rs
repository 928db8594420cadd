//! What all connections of one broker share.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use kafka_protocol::ResponseError;
use tokio::sync::watch;

use crate::batch::Batch;
use crate::config::Config;
use crate::error::Error;
use crate::faults::FaultKnobs;
use crate::group_words::Committed;
use crate::groups::Groups;
use crate::offsets::{Entry, OffsetFile};
use crate::tail::Announcer;
use crate::topic::{Appended, Topic};
use crate::topics::Topics;

/// The only node of the cluster.
pub(crate) const NODE_ID: i32 = 1;
/// Its cluster id.
pub(crate) const CLUSTER_ID: &str = "pico-devbroker";

/// The state of a broker.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) config: Config,
    pub(crate) topics: Topics,
    pub(crate) faults: FaultKnobs,
    pub(crate) announcer: Announcer,
    groups: Mutex<Groups>,
    /// On disk only. Locked before the groups, so that the file has their changes in order.
    offsets: Mutex<Option<OffsetFile>>,
    advertised: Mutex<Option<SocketAddr>>,
    next_producer: AtomicI64,
    changes: watch::Sender<u64>,
    stopping: watch::Sender<bool>,
}

impl Node {
    /// Opens the data folder, if there is one. Blocking.
    pub(crate) fn open(config: Config) -> Result<Self, Error> {
        let topics = Topics::open(&config)?;
        let highest = topics.highest_producer().unwrap_or(-1);
        let mut groups = Groups::new(config.groups_max, config.group_members_max);
        let offsets = match &config.data {
            None => None,
            Some(data) => {
                restore(&mut groups, OffsetFile::read(data)?);
                Some(OffsetFile::create(data, &entries(&groups))?)
            }
        };
        Ok(Self {
            topics,
            faults: FaultKnobs::none(),
            announcer: Announcer::new(config.tail_batches_max),
            groups: Mutex::new(groups),
            offsets: Mutex::new(offsets),
            advertised: Mutex::new(config.advertised),
            next_producer: AtomicI64::new(first_producer(highest)),
            changes: watch::Sender::new(0),
            stopping: watch::Sender::new(false),
            config,
        })
    }

    /// A producer id that no client has.
    pub(crate) fn next_producer(&self) -> i64 {
        self.next_producer.fetch_add(1, Ordering::Relaxed)
    }

    /// Where clients that came in at `local` are told to go.
    pub(crate) fn advertised(&self, local: SocketAddr) -> SocketAddr {
        let advertised = *self.advertised.lock().unwrap_or_else(PoisonError::into_inner);
        advertised.unwrap_or(local)
    }

    pub(crate) fn advertise(&self, address: Option<SocketAddr>) {
        *self.advertised.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    pub(crate) fn groups(&self) -> MutexGuard<'_, Groups> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs what may touch files: on a blocking thread if there are files, else at once.
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        if !self.topics.is_on_disk() {
            return work(self);
        }
        let node = self.clone();
        match tokio::task::spawn_blocking(move || work(&node)).await {
            Ok(done) => done,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Appends and tells everybody who waits. Blocking if on disk.
    pub(crate) fn append(&self, topic: &Arc<Topic>, batch: Batch) -> Result<Appended, ResponseError> {
        let count = batch.count as u64;
        let announce = |base_offset| self.announcer.announce(topic, base_offset, count);
        let appended = topic.append(batch, &self.faults, announce)?;
        if appended.is_new {
            self.announce_change();
        }
        Ok(appended)
    }

    /// Stores the offset of a group that may commit. Blocking if on disk.
    pub(crate) fn commit(&self, group: &str, topic: &str, offset: Committed) -> Result<(), ResponseError> {
        let mut file = self.offsets.lock().unwrap_or_else(PoisonError::into_inner);
        let entry =
            Entry::Committed { group: group.to_owned(), topic: topic.to_owned(), offset: offset.clone() };
        self.write(&mut file, &entry)?;
        self.groups().commit(group, topic, offset);
        Ok(())
    }

    /// Deletes a topic with the group offsets in it. Blocking if on disk.
    pub(crate) fn delete_topic(&self, name: &str) -> Result<(), ResponseError> {
        let mut file = self.offsets.lock().unwrap_or_else(PoisonError::into_inner);
        self.topics.delete(name)?;
        self.groups().forget_topic(name);
        self.announce_change();
        self.write(&mut file, &Entry::Forgotten { topic: name.to_owned() })
    }

    fn write(&self, file: &mut Option<OffsetFile>, entry: &Entry) -> Result<(), ResponseError> {
        let Some(file) = file else {
            return Ok(());
        };
        let written = match file.is_long() {
            true => file.rewrite(&entries(&self.groups())).and_then(|()| file.append(entry)),
            false => file.append(entry),
        };
        written.map_err(|error| {
            tracing::warn!(%error, "group offset not written");
            ResponseError::KafkaStorageError
        })
    }

    /// Hands all files to the disk and lets go of the data folder; what changes later stays in memory. Blocking.
    pub(crate) fn close(&self) {
        let file = self.offsets.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(error)) = file.map(|file| file.sync()) {
            tracing::warn!(%error, "group offsets not synced");
        }
        self.topics.close();
    }

    /// Changes whenever a waiting fetch should look again.
    pub(crate) fn watch_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Asks all connections and waits to end.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
        self.announcer.close();
    }

    /// Resolves once the broker stops.
    pub(crate) async fn stopped(&self) {
        // The sender lives as long as this, so the only way out is the value.
        let _ = self.stopping.subscribe().wait_for(|is_stopping| *is_stopping).await;
    }

    fn announce_change(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

fn restore(groups: &mut Groups, entries: Vec<Entry>) {
    for entry in entries {
        match entry {
            Entry::Committed { group, topic, offset } => groups.commit(&group, &topic, offset),
            Entry::Forgotten { topic } => groups.forget_topic(&topic),
        }
    }
}

fn entries(groups: &Groups) -> Vec<Entry> {
    let entry = |(group, topic, offset): (&str, &str, &Committed)| Entry::Committed {
        group: group.to_owned(),
        topic: topic.to_owned(),
        offset: offset.clone(),
    };
    groups.everything_committed().map(entry).collect()
}

/// Ids begin at the clock, in microseconds, so that a client that outlives a restart of a broker in memory never shares its
/// id with a newer client.
fn first_producer(highest: i64) -> i64 {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    clock.max(highest + 1)
}
