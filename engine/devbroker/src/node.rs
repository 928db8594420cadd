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
use crate::groups::Groups;
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
        Ok(Self {
            topics,
            faults: FaultKnobs::none(),
            announcer: Announcer::new(config.tail_batches_max),
            groups: Mutex::new(Groups::new(config.groups_max, config.group_members_max)),
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
        let count = batch.count;
        let appended = topic.append(batch, &self.faults)?;
        if appended.is_new {
            self.announcer.announce(topic, appended.base_offset, count as u64);
            self.announce_change();
        }
        Ok(appended)
    }

    /// Deletes a topic with the group offsets in it. Blocking if on disk.
    pub(crate) fn delete_topic(&self, name: &str) -> Result<(), ResponseError> {
        self.topics.delete(name)?;
        self.groups().forget_topic(name);
        self.announce_change();
        Ok(())
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

/// Ids begin at the clock, in microseconds, so that a client that outlives a restart of a broker in memory never shares its
/// id with a newer client.
fn first_producer(highest: i64) -> i64 {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
    clock.max(highest + 1)
}
