//! One topic: its log, its file and the limits both obey. Each operation is one short lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use kafka_protocol::ResponseError;
use uuid::Uuid;

use crate::batch::Batch;
use crate::faults::FaultKnobs;
use crate::log::{BadBody, Log, OutOfRange};
use crate::producers::Verdict;
use crate::record::Record;
use crate::storage::{Loaded, TopicFile};
use crate::topic_settings::{Limits, TopicSettings};

/// One topic.
#[derive(Debug)]
pub(crate) struct Topic {
    name: String,
    id: Uuid,
    settings: TopicSettings,
    limits: Limits,
    total_bytes: Arc<AtomicU64>,
    partition: Mutex<Partition>,
}

#[derive(Debug)]
struct Partition {
    log: Log,
    file: Option<TopicFile>,
    is_deleted: bool,
}

/// Where an appended batch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Appended {
    pub(crate) base_offset: i64,
    pub(crate) log_start: i64,
    pub(crate) is_new: bool,
}

/// A look at a log from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its name.
    pub name: String,
    /// Its id, new each time the topic is created.
    pub id: Uuid,
    /// The oldest offset kept.
    pub start: i64,
    /// The offset the next record gets.
    pub end: i64,
    /// Bytes of its batches.
    pub bytes: u64,
}

impl Topic {
    /// A new topic without records.
    pub(crate) fn empty(
        identity: (&str, Uuid),
        settings: TopicSettings,
        file: Option<TopicFile>,
        limits: Limits,
        total_bytes: Arc<AtomicU64>,
    ) -> Self {
        let partition = Mutex::new(Partition { log: limits.empty_log(), file, is_deleted: false });
        Self { name: identity.0.to_owned(), id: identity.1, settings, limits, total_bytes, partition }
    }

    /// A topic as its file had it.
    pub(crate) fn restored(loaded: Loaded, limits: Limits, total_bytes: Arc<AtomicU64>) -> Self {
        let Loaded { name, id, settings, log, file } = loaded;
        total_bytes.fetch_add(log.bytes(), Ordering::Relaxed);
        let partition = Mutex::new(Partition { log, file: Some(file), is_deleted: false });
        Self { name, id, settings, limits, total_bytes, partition }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn settings(&self) -> &TopicSettings {
        &self.settings
    }

    /// Largest batch this topic takes.
    pub(crate) fn message_bytes_max(&self) -> usize {
        self.settings.message_bytes_max.unwrap_or(self.limits.message_bytes_max)
    }

    /// Bytes this topic keeps.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.limits.topic_bytes_max(&self.settings)
    }

    /// Appends a batch, or recognises it as a repetition. A new one is announced with its base offset before any other can
    /// follow it. Blocking if on disk.
    pub(crate) fn append(
        &self,
        batch: Batch,
        faults: &FaultKnobs,
        announce: impl FnOnce(i64),
    ) -> Result<Appended, ResponseError> {
        if batch.len() > self.message_bytes_max() {
            return Err(ResponseError::MessageTooLarge);
        }
        let mut partition = self.lock();
        if partition.is_deleted {
            return Err(ResponseError::UnknownTopicOrPartition);
        }
        if let Verdict::Duplicate { base_offset } = partition.log.judge(&batch)? {
            return Ok(Appended { base_offset, log_start: partition.log.start(), is_new: false });
        }
        if !faults.has_room(&self.name, partition.log.bytes() + batch.len() as u64) {
            return Err(ResponseError::KafkaStorageError);
        }
        let batch = batch.at(partition.log.end());
        let base_offset = batch.base_offset;
        partition.write(&batch, &self.name)?;
        self.total_bytes.fetch_add(batch.len() as u64, Ordering::Relaxed);
        partition.log.append(batch);
        self.trim(&mut partition);
        announce(base_offset);
        Ok(Appended { base_offset, log_start: partition.log.start(), is_new: true })
    }

    /// Start and end offset.
    pub(crate) fn bounds(&self) -> (i64, i64) {
        let partition = self.lock();
        (partition.log.start(), partition.log.end())
    }

    /// See [`Log::read`].
    pub(crate) fn read(
        &self,
        offset: i64,
        bytes_max: usize,
        at_least_one: bool,
    ) -> Result<Bytes, OutOfRange> {
        self.lock().log.read(offset, bytes_max, at_least_one)
    }

    /// See [`Log::available`].
    pub(crate) fn available(&self, offset: i64, enough: usize) -> Result<usize, OutOfRange> {
        self.lock().log.available(offset, enough)
    }

    /// See [`Log::records`].
    pub(crate) fn records(
        &self,
        offset: i64,
        max: usize,
    ) -> Result<Result<Vec<Record>, BadBody>, OutOfRange> {
        self.lock().log.records(offset, max)
    }

    /// See [`Log::find_time`].
    pub(crate) fn find_time(&self, timestamp_ms: i64) -> Option<(i64, i64)> {
        self.lock().log.find_time(timestamp_ms)
    }

    pub(crate) fn highest_producer(&self) -> Option<i64> {
        self.lock().log.highest_producer()
    }

    pub(crate) fn info(&self) -> TopicInfo {
        let partition = self.lock();
        let log = &partition.log;
        TopicInfo {
            name: self.name.clone(),
            id: self.id,
            start: log.start(),
            end: log.end(),
            bytes: log.bytes(),
        }
    }

    /// Ends the topic: removes its file and refuses what comes after. Blocking if on disk.
    pub(crate) fn retire(&self) -> Result<(), ResponseError> {
        let mut partition = self.lock();
        if let Some(file) = &partition.file {
            file.remove().map_err(|error| {
                tracing::warn!(topic = self.name, %error, "topic file not removed");
                ResponseError::KafkaStorageError
            })?;
        }
        partition.file = None;
        partition.is_deleted = true;
        self.total_bytes.fetch_sub(partition.log.bytes(), Ordering::Relaxed);
        Ok(())
    }

    /// Hands the file to the disk and closes it. Blocking.
    pub(crate) fn close(&self) {
        let Some(file) = self.lock().file.take() else {
            return;
        };
        if let Err(error) = file.sync() {
            tracing::warn!(topic = self.name, %error, "topic file not synced");
        }
    }

    #[cfg(test)]
    pub(crate) fn swap_file_for_test(&self, file: std::fs::File) -> std::fs::File {
        self.lock().file.as_mut().expect("the topic is on disk").swap_for_test(file)
    }

    fn trim(&self, partition: &mut Partition) {
        let bytes_max = self.bytes_max();
        let is_over = |log: &Log| {
            log.bytes() > bytes_max || self.total_bytes.load(Ordering::Relaxed) > self.limits.total_bytes_max
        };
        while is_over(&partition.log) {
            let Some(freed) = partition.log.drop_oldest() else {
                break;
            };
            self.total_bytes.fetch_sub(freed, Ordering::Relaxed);
        }
        partition.shorten_file(bytes_max, &self.name);
    }

    fn lock(&self) -> MutexGuard<'_, Partition> {
        self.partition.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partition {
    fn write(&mut self, batch: &Batch, topic: &str) -> Result<(), ResponseError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.append(batch.bytes()).map_err(|error| {
            tracing::warn!(topic, %error, "batch not written");
            ResponseError::KafkaStorageError
        })
    }

    /// The file only grows; once it is twice what the topic may keep, it is written anew.
    fn shorten_file(&mut self, bytes_max: u64, topic: &str) {
        let Some(file) = &mut self.file else {
            return;
        };
        if file.batch_bytes() / 2 <= bytes_max.max(self.log.bytes()) {
            return;
        }
        if let Err(error) = file.rewrite(self.log.batches().map(Batch::bytes)) {
            tracing::warn!(topic, %error, "topic file not shortened");
        }
    }
}
