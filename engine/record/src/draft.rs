//! A routed batch in the making: entries as the records come, sorted by topic at the end.

mod aside;

use std::io::Write;
use std::sync::Arc;

use picomq_connector_sdk::ffi::host::{GuestBatch, RecordView};

use crate::block::{Block, ID_HEADER, Provenance};
use crate::chain::Outcome;
use crate::convert::Convert;
use crate::fault::Fault;
use crate::origin::Subject;
use crate::path::{Reading, RecordPath};
use crate::policy::RecordFault;
use crate::routed::{Entry, Extra, Group, Routed, Span};
use crate::topics::{TopicId, Topics};

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
    skipped: u32,
    dead_letters: u32,
    /// Those that were skipped or set aside.
    faults: Vec<RecordFault>,
    /// The topic that the record at hand was on its way to.
    meant: Option<TopicId>,
}

pub(crate) use aside::Failed;

const NO_GROUP: u32 = u32::MAX;

/// How much a draft held before a record.
#[derive(Debug)]
struct Mark {
    entries: usize,
    groups: usize,
    arena: usize,
    extras: usize,
    bytes: u64,
}

/// Whether the transforms changed the payload, and where it lies in the arena once a block needed it there.
#[derive(Debug)]
struct Changed {
    is_changed: bool,
    kept: Option<Span>,
}

impl Draft {
    /// With room for so many entries.
    pub(crate) fn with_capacity(entries: usize) -> Draft {
        Draft {
            entries: Vec::with_capacity(entries),
            group_of_entry: Vec::with_capacity(entries),
            ..Draft::default()
        }
    }

    /// Sends one record to every block, or leaves the draft as it was.
    pub(crate) fn add(
        &mut self,
        path: &mut RecordPath,
        record: RecordView<'_>,
        reading: Reading,
        place: Place,
    ) -> Result<(), Fault> {
        let mark = self.mark();
        let outcome = self.send(path, record, reading, place);
        if outcome.is_err() {
            self.roll_back(&mark);
        }
        outcome
    }

    /// The stages of a record: its transforms, then for each block topic, key, headers and encoding.
    fn send(
        &mut self,
        path: &mut RecordPath,
        record: RecordView<'_>,
        reading: Reading,
        place: Place,
    ) -> Result<(), Fault> {
        self.meant = None;
        let outcome = path.prepare(record.payload, reading)?;
        let RecordPath { chain, blocks, fields, topics, record_bytes, header_names, .. } = path;
        let payload = match outcome {
            Outcome::AsItIs => record.payload,
            Outcome::Changed => Some(chain.changed()),
            Outcome::Filtered => {
                self.filtered += 1;
                return Ok(());
            }
        };
        let is_changed = outcome == Outcome::Changed;
        let subject = Subject { record, payload, is_changed, fields };
        let mut changed = Changed { is_changed, kept: None };
        let header_bytes = header_bytes(&record);
        let entries_before = self.entries.len();
        for block in blocks {
            self.meant = None;
            if !block.takes(&subject)? {
                continue;
            }
            let topic = block.choose(&subject, topics)?;
            self.meant = Some(topic);
            let key = self.write_key(block, &subject)?;
            let key_bytes = key.map_or(record.key.map_or(0, <[u8]>::len), |key| key.length as usize);
            let (extras, extra_bytes) = self.write_headers(block, &subject, place, header_names)?;
            let written = self.write_payload(block, payload, &mut changed)?;
            let payload_bytes =
                written.map_or(payload.map_or(0, <[u8]>::len), |written| written.length as usize);
            let bytes = (payload_bytes + header_bytes + key_bytes + extra_bytes) as u64;
            if bytes > *record_bytes {
                return Err(Fault::TooLarge { bytes, record_bytes: *record_bytes });
            }
            self.bytes += bytes;
            self.file(topic, Entry { record: place.index, payload: written, key, extras }, topics);
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
            skipped: self.skipped,
            dead_letters: self.dead_letters,
            faults: self.faults,
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

    fn mark(&self) -> Mark {
        Mark {
            entries: self.entries.len(),
            groups: self.groups.len(),
            arena: self.arena.len(),
            extras: self.extras.len(),
            bytes: self.bytes,
        }
    }

    /// Takes out everything that was filed since the mark.
    #[cold]
    fn roll_back(&mut self, mark: &Mark) {
        self.entries.truncate(mark.entries);
        for group in self.group_of_entry.drain(mark.entries..) {
            self.groups[group as usize].records -= 1;
        }
        if self.groups.len() > mark.groups {
            self.groups.truncate(mark.groups);
            for group in &mut self.group_of_topic {
                if *group != NO_GROUP && *group as usize >= mark.groups {
                    *group = NO_GROUP;
                }
            }
        }
        self.arena.truncate(mark.arena);
        self.extras.truncate(mark.extras);
        self.bytes = mark.bytes;
    }

    /// Encodes the payload for a block, or keeps what the transforms made of it, once for all blocks that send it as
    /// it is. None: the plugin's own bytes.
    fn write_payload(
        &mut self,
        block: &mut Block,
        payload: Option<&[u8]>,
        changed: &mut Changed,
    ) -> Result<Option<Span>, Fault> {
        let Some(payload) = payload else { return Ok(None) };
        let start = self.arena.len();
        if let Some(encoder) = &mut block.encoder {
            encoder
                .convert(payload, &mut self.arena)
                .map_err(|failure| Fault::Encode { block: block.number, failure })?;
            return Ok(Some(span(start, self.arena.len())?));
        }
        if changed.is_changed && changed.kept.is_none() {
            self.arena.extend_from_slice(payload);
            changed.kept = Some(span(start, self.arena.len())?);
        }
        Ok(changed.kept)
    }

    fn write_key(&mut self, block: &Block, subject: &Subject<'_>) -> Result<Option<Span>, Fault> {
        let Some(pattern) = &block.record_key else { return Ok(None) };
        let start = self.arena.len();
        pattern.fill(subject, &mut self.arena).map_err(|missing| {
            let reason = subject.absence(missing.origin, missing.why);
            Fault::KeyMissing { block: block.number, reason }
        })?;
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

    /// Without the size of the batch.
    fn write_short(&self, out: &mut Vec<u8>) {
        let Provenance { life, number } = self.batch;
        write!(out, "{life}/{number}/{}", self.index).expect("memory takes every write");
    }
}

/// Headers and id header of a record.
fn header_bytes(record: &RecordView<'_>) -> usize {
    let headers: usize = record.headers().map(|(name, value)| name.len() + value.len()).sum();
    let id = record.id.map_or(0, |id| ID_HEADER.len() + id.len());
    headers + id
}

fn span(start: usize, end: usize) -> Result<Span, Fault> {
    match (u32::try_from(start), u32::try_from(end - start)) {
        (Ok(start), Ok(length)) => Ok(Span { start, length }),
        (Err(_), _) | (_, Err(_)) => Err(Fault::ArenaFull),
    }
}

#[cfg(test)]
mod tests;
