//! A routed batch in the making: entries as the records come, sorted by topic at the end.

use std::io::Write;
use std::sync::Arc;

use picomq_connector_sdk::ffi::host::{GuestBatch, RecordView};

use crate::error::Fault;
use crate::origin::Subject;
use crate::path::{Block, ID_HEADER, Provenance, RecordPath};
use crate::routed::{Entry, Extra, Group, Routed, Span};
use crate::topics::{TopicId, Topics};

/// How much of the payloads of a batch has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Nothing: no block asks for JSON or for a field.
    Nothing,
    /// The fields, where a payload happens to be JSON.
    Fields,
    /// All of it: every payload must be JSON.
    Json,
}

/// Where a record stands, for the provenance header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) batch: Provenance,
    pub(crate) index: u32,
    pub(crate) size: usize,
}

/// Entries without their order.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    entries: Vec<Entry>,
    /// The group of each entry.
    group_of_entry: Vec<u32>,
    groups: Vec<Group>,
    /// The group of each topic of the path; [`NO_GROUP`] until this batch names it.
    group_of_topic: Vec<u32>,
    arena: Vec<u8>,
    extras: Vec<Extra>,
    bytes: u64,
    filtered: u32,
}

const NO_GROUP: u32 = u32::MAX;

impl Draft {
    /// With room for so many entries.
    pub(crate) fn with_capacity(entries: usize) -> Draft {
        Draft {
            entries: Vec::with_capacity(entries),
            group_of_entry: Vec::with_capacity(entries),
            ..Draft::default()
        }
    }

    /// Sends one record to every block.
    pub(crate) fn add(
        &mut self,
        path: &mut RecordPath,
        record: RecordView<'_>,
        reading: Reading,
        place: Place,
    ) -> Result<(), Fault> {
        path.read(record.payload, reading)?;
        let RecordPath { blocks, fields, topics, record_bytes, header_names, .. } = path;
        let subject = Subject { record, fields };
        let own_bytes = bytes_without_key(&record);
        let entries_before = self.entries.len();
        for block in blocks {
            let topic = block.choose(&subject, topics)?;
            let key = self.write_key(block, &subject)?;
            let key_bytes = key.map_or(record.key.map_or(0, <[u8]>::len), |key| key.length as usize);
            let (extras, extra_bytes) = self.write_headers(block, &subject, place, header_names)?;
            let bytes = (own_bytes + key_bytes + extra_bytes) as u64;
            if bytes > *record_bytes {
                return Err(Fault::TooLarge { bytes, record_bytes: *record_bytes });
            }
            self.bytes += bytes;
            self.file(topic, Entry { record: place.index, key, extras }, topics);
        }
        if self.entries.len() == entries_before {
            self.filtered += 1;
        }
        Ok(())
    }

    /// Sorts the entries by group. Within a group they stay in the order in which they came.
    pub(crate) fn sort(mut self, batch: GuestBatch, header_names: Arc<[Box<str>]>) -> Routed {
        let mut start = 0;
        for group in &mut self.groups {
            group.start = start;
            start += group.records;
        }
        let mut next: Vec<usize> = self.groups.iter().map(|group| group.start).collect();
        let mut order = vec![0; self.entries.len()];
        for (entry, group) in (0..).zip(&self.group_of_entry) {
            let at = &mut next[*group as usize];
            order[*at] = entry;
            *at += 1;
        }
        Routed {
            batch,
            entries: self.entries,
            order,
            groups: self.groups,
            arena: self.arena,
            extras: self.extras,
            header_names,
            bytes: self.bytes,
            filtered: self.filtered,
        }
    }

    fn file(&mut self, topic: TopicId, entry: Entry, topics: &Topics) {
        if topic.index() >= self.group_of_topic.len() {
            self.group_of_topic.resize(topics.len(), NO_GROUP);
        }
        let group = &mut self.group_of_topic[topic.index()];
        if *group == NO_GROUP {
            *group = self.groups.len() as u32;
            let topic = topics.get(topic);
            self.groups.push(Group {
                block: topic.block,
                topic: Arc::clone(&topic.name),
                start: 0,
                records: 0,
            });
        }
        self.groups[*group as usize].records += 1;
        self.group_of_entry.push(*group);
        self.entries.push(entry);
    }

    fn write_key(&mut self, block: &Block, subject: &Subject<'_>) -> Result<Option<Span>, Fault> {
        let Some(pattern) = &block.record_key else { return Ok(None) };
        let start = self.arena.len();
        pattern
            .fill(subject, &mut self.arena)
            .map_err(|missing| Fault::KeyMissing { block: block.number, reason: missing.to_string() })?;
        Ok(Some(span(start, self.arena.len())?))
    }

    /// The headers that come after the plugin's own, and their bytes. One without a value is left out.
    fn write_headers(
        &mut self,
        block: &Block,
        subject: &Subject<'_>,
        place: Place,
        names: &[Box<str>],
    ) -> Result<(Span, usize), Fault> {
        let first = self.extras.len();
        let before = self.arena.len();
        let mut name_bytes = 0;
        for (name, pattern) in &block.headers {
            let start = self.arena.len();
            if pattern.fill(subject, &mut self.arena).is_ok() {
                self.extras.push(Extra { name: *name, value: span(start, self.arena.len())? });
                name_bytes += names[usize::from(*name)].len();
            }
        }
        if let Some(name) = block.provenance {
            let start = self.arena.len();
            place.write(&mut self.arena);
            self.extras.push(Extra { name, value: span(start, self.arena.len())? });
            name_bytes += names[usize::from(name)].len();
        }
        Ok((span(first, self.extras.len())?, name_bytes + self.arena.len() - before))
    }
}

impl Place {
    fn write(&self, out: &mut Vec<u8>) {
        let Provenance { life, number } = self.batch;
        write!(out, "{life}/{number}/{}/{}", self.index, self.size).expect("memory takes every write");
    }
}

/// Payload, headers and id header of a record.
fn bytes_without_key(record: &RecordView<'_>) -> usize {
    let headers: usize = record.headers().map(|(name, value)| name.len() + value.len()).sum();
    let id = record.id.map_or(0, |id| ID_HEADER.len() + id.len());
    record.payload.map_or(0, <[u8]>::len) + headers + id
}

fn span(start: usize, end: usize) -> Result<Span, Fault> {
    match (u32::try_from(start), u32::try_from(end - start)) {
        (Ok(start), Ok(length)) => Ok(Span { start, length }),
        (Err(_), _) | (_, Err(_)) => Err(Fault::ArenaFull),
    }
}
