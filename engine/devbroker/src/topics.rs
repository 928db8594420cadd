//! The topics of a broker and the rules for their names. One partition each.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kafka_protocol::ResponseError;
use uuid::Uuid;

use crate::config::Config;
use crate::error::{CreateRefusal, Error};
use crate::storage::{Loaded, Store};
use crate::topic::Topic;
use crate::topic_settings::{Limits, TopicSettings};

const NAME_LENGTH_MAX: usize = 249;

/// All topics.
#[derive(Debug)]
pub(crate) struct Topics {
    registry: RwLock<Registry>,
    is_on_disk: bool,
    limits: Limits,
    topics_max: usize,
    total_bytes: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Registry {
    by_name: BTreeMap<String, Arc<Topic>>,
    /// Names as metrics see them, where `.` and `_` are the same, with the topic that holds each.
    metric_names: BTreeMap<String, String>,
    store: Option<Store>,
}

impl Topics {
    /// Opens the data folder, if there is one, and takes over its topics. Blocking.
    pub(crate) fn open(config: &Config) -> Result<Self, Error> {
        let limits = Limits::of(config);
        let total_bytes = Arc::new(AtomicU64::new(0));
        let mut registry = Registry::default();
        if let Some(folder) = &config.data {
            let store = Store::open(folder)?;
            for path in store.topic_files()? {
                if let Some(loaded) = Loaded::read(&path, config.frame_bytes_max, &limits)? {
                    registry.insert(Arc::new(Topic::restored(loaded, limits.clone(), total_bytes.clone())));
                }
            }
            registry.store = Some(store);
        }
        let (is_on_disk, topics_max) = (config.data.is_some(), config.topics_max);
        Ok(Self { registry: RwLock::new(registry), is_on_disk, limits, topics_max, total_bytes })
    }

    /// Whether calls that change topics touch files, so that they belong on a blocking thread.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.is_on_disk
    }

    /// The topic of a name.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Topic>> {
        self.read().by_name.get(name).cloned()
    }

    /// All topics by name.
    pub(crate) fn all(&self) -> Vec<Arc<Topic>> {
        self.read().by_name.values().cloned().collect()
    }

    /// The highest producer id in any log.
    pub(crate) fn highest_producer(&self) -> Option<i64> {
        self.all().iter().filter_map(|topic| topic.highest_producer()).max()
    }

    /// Says whether [`Topics::create`] would create it, without doing so.
    pub(crate) fn may_create(&self, name: &str) -> Result<(), CreateRefusal> {
        self.read().may_create(name, self.topics_max)
    }

    /// Creates an empty topic. Blocking if on disk.
    pub(crate) fn create(&self, name: &str, settings: TopicSettings) -> Result<Arc<Topic>, CreateRefusal> {
        let mut registry = self.write();
        registry.may_create(name, self.topics_max)?;
        let id = Uuid::new_v4();
        let file = match &registry.store {
            None => None,
            Some(store) => Some(store.create_topic(name, id, &settings).map_err(|error| {
                tracing::warn!(topic = name, %error, "topic file not created");
                CreateRefusal::Storage
            })?),
        };
        let (limits, total_bytes) = (self.limits.clone(), self.total_bytes.clone());
        let topic = Topic::empty((name, id), settings, file, limits, total_bytes);
        let topic = Arc::new(topic);
        registry.insert(topic.clone());
        Ok(topic)
    }

    /// Deletes a topic with all its records; later appends through a kept reference are refused. Blocking if on disk.
    pub(crate) fn delete(&self, name: &str) -> Result<(), ResponseError> {
        let mut registry = self.write();
        let topic = registry.by_name.get(name).ok_or(ResponseError::UnknownTopicOrPartition)?;
        topic.retire()?;
        registry.remove(name);
        Ok(())
    }

    /// Hands all files to the disk and lets go of the folder; what changes later stays in memory. Blocking.
    pub(crate) fn close(&self) {
        for topic in self.all() {
            topic.close();
        }
        self.write().store = None;
    }

    fn read(&self) -> RwLockReadGuard<'_, Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Registry> {
        self.registry.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    fn may_create(&self, name: &str, topics_max: usize) -> Result<(), CreateRefusal> {
        check_name(name)?;
        if self.by_name.contains_key(name) {
            return Err(CreateRefusal::Exists);
        }
        if let Some(other) = self.metric_names.get(&metric_name(name)) {
            return Err(CreateRefusal::Collides(other.clone()));
        }
        if self.by_name.len() >= topics_max {
            return Err(CreateRefusal::TooMany(topics_max));
        }
        Ok(())
    }

    fn insert(&mut self, topic: Arc<Topic>) {
        self.metric_names.insert(metric_name(topic.name()), topic.name().to_owned());
        self.by_name.insert(topic.name().to_owned(), topic);
    }

    fn remove(&mut self, name: &str) {
        self.by_name.remove(name);
        self.metric_names.remove(&metric_name(name));
    }
}

/// Kafka's rules for topic names.
pub(crate) fn check_name(name: &str) -> Result<(), CreateRefusal> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fault = match name {
        "" => "is empty",
        "." | ".." => "is `.` or `..`",
        _ if name.len() > NAME_LENGTH_MAX => "is longer than 249 characters",
        _ if !name.chars().all(is_allowed) => {
            "has characters other than ASCII letters, digits, `.`, `_` and `-`"
        }
        _ => return Ok(()),
    };
    Err(CreateRefusal::InvalidName(fault))
}

fn metric_name(name: &str) -> String {
    name.replace('.', "_")
}

#[cfg(test)]
mod tests;
