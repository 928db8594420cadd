//! A routed batch: the guest's records, sorted by topic.

use std::fmt;
use std::sync::Arc;

use picomq_connector_sdk::ffi::host::{GuestBatch, RecordView};

use crate::block::ID_HEADER;
use crate::policy::RecordFault;

/// A batch with a topic for every record, ready to be produced. Only a [`RecordPath`](crate::RecordPath) makes one.
///
/// Payloads that nothing changed lie where the plugin put them; this holds one small entry for each record and block,
/// and what the definition adds or changes. Dropping it gives the batch back to the plugin.
pub struct Routed {
    pub(crate) batch: GuestBatch,
    pub(crate) entries: Vec<Entry>,
    /// Positions in `entries`, group after group.
    pub(crate) order: Vec<u32>,
    pub(crate) groups: Vec<Group>,
    /// Payloads, keys and header values that were written here.
    pub(crate) arena: Vec<u8>,
    pub(crate) extras: Vec<Extra>,
    pub(crate) header_names: Arc<[Box<str>]>,
    pub(crate) bytes: u64,
    pub(crate) filtered: u32,
    pub(crate) skipped: u32,
    pub(crate) dead_letters: u32,
    pub(crate) faults: Vec<RecordFault>,
}

/// What goes to one topic of one block, in the order in which the plugin gave it.
#[derive(Clone, Debug)]
pub struct Group {
    /// Position of the block among `[[topics]]`; their number for the dead-letter topic.
    pub block: u16,
    /// The same allocation in every batch of this opening.
    pub topic: Arc<str>,
    pub(crate) start: usize,
    pub(crate) records: usize,
}

/// One record on its way to one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Position in the guest's batch.
    pub(crate) record: u32,
    /// The payload in the arena, changed or encoded; None for the plugin's own.
    pub(crate) payload: Option<Span>,
    /// The key in the arena; None for the plugin's own.
    pub(crate) key: Option<Span>,
    /// The headers that come after the plugin's own.
    pub(crate) extras: Span,
}

/// One header that the definition adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra {
    pub(crate) name: u16,
    pub(crate) value: Span,
}

/// A range in the arena or among the extras.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) length: u32,
}

/// One record as it goes to the broker.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    /// None is a tombstone, which is not the same as empty.
    pub payload: Option<&'a [u8]>,
    /// The key of the definition's `record_key`, else the plugin's.
    pub key: Option<&'a [u8]>,
    /// Milliseconds since the Unix epoch; None lets the broker client take the time of producing.
    pub timestamp_ms: Option<i64>,
    index: u32,
    record: RecordView<'a>,
    routed: &'a Routed,
    extras: &'a [Extra],
}

impl Span {
    fn of<T>(self, all: &[T]) -> &[T] {
        &all[self.start as usize..][..self.length as usize]
    }
}

impl Group {
    /// How many records go there.
    pub fn records(&self) -> usize {
        self.records
    }
}

impl Routed {
    /// Records that the plugin returned.
    pub fn records(&self) -> u32 {
        self.batch.len() as u32
    }

    /// Records to produce: every record once for each block, and the dead letters.
    pub fn outgoing(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Records that a rule of the definition drops, or that no block wants.
    pub fn filtered(&self) -> u32 {
        self.filtered
    }

    /// Records that failed and go nowhere, because `[errors]` says so.
    pub fn skipped(&self) -> u32 {
        self.skipped
    }

    /// Records that failed and go to the dead-letter topic.
    pub fn dead_letters(&self) -> u32 {
        self.dead_letters
    }

    /// Why each of the skipped and dead-lettered records failed, in the order of the plugin.
    pub fn faults(&self) -> &[RecordFault] {
        &self.faults
    }

    /// Payloads, keys and headers of what is to be produced.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The candidate state, if the batch has one.
    pub fn state(&self) -> Option<&[u8]> {
        self.batch.state()
    }

    /// One for each topic of each block, in the order in which the records name them first.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The records of a group, in the order of the plugin.
    pub fn entries(&self, group: &Group) -> impl ExactSizeIterator<Item = Outgoing<'_>> {
        let entries = &self.order[group.start..group.start + group.records];
        entries.iter().map(|entry| self.outgoing_of(&self.entries[*entry as usize]))
    }

    /// Keeps the candidate state and gives everything else back to the plugin.
    pub fn into_state(self) -> Option<Vec<u8>> {
        self.batch.state().map(<[u8]>::to_vec)
    }

    fn outgoing_of(&self, entry: &Entry) -> Outgoing<'_> {
        let record = self.batch.record(entry.record as usize);
        Outgoing {
            payload: match entry.payload {
                Some(written) => Some(written.of(&self.arena)),
                None => record.payload,
            },
            key: match entry.key {
                Some(written) => Some(written.of(&self.arena)),
                None => record.key,
            },
            timestamp_ms: record.timestamp_ms,
            index: entry.record,
            record,
            routed: self,
            extras: entry.extras.of(&self.extras),
        }
    }
}

/// Counts alone: records do not belong in a log.
impl fmt::Debug for Routed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Routed");
        shown.field("records", &self.records()).field("outgoing", &self.outgoing());
        shown.field("groups", &self.groups.len()).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Lengths alone: records do not belong in a log.
impl fmt::Debug for Outgoing<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Outgoing");
        shown.field("payload_bytes", &self.payload.map(<[u8]>::len));
        shown.field("key_bytes", &self.key.map(<[u8]>::len)).finish_non_exhaustive()
    }
}

impl<'a> Outgoing<'a> {
    /// Position in the plugin's batch.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The plugin's own name of the record.
    pub fn id(&self) -> Option<&'a str> {
        self.record.id
    }

    /// Whether [`headers`](Outgoing::headers) yields anything.
    pub fn has_headers(&self) -> bool {
        self.headers().next().is_some()
    }

    /// The plugin's headers, then `picomq.id`, then those of the definition. Names may repeat.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + use<'a> {
        let routed = self.routed;
        let id = self.record.id.map(|id| (ID_HEADER, id.as_bytes()));
        let extras = self.extras.iter().map(move |extra| {
            let name: &str = &routed.header_names[usize::from(extra.name)];
            (name, extra.value.of(&routed.arena))
        });
        self.record.headers().chain(id).chain(extras)
    }
}
