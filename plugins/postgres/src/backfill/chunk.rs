//! A chunk of rows, read and not sent yet, and how it is put into a batch.

use picomq_connector_sdk::Batch;

use super::marks::Sight;
use super::window::{Fate, Keys};
use super::{Moved, Of};
use crate::change::{Change, Moment, Origin, Place, Verb};
use crate::error::Error;
use crate::progress::Part;
use crate::record::Recorder;
use crate::row::Row;
use crate::settings::{Cut, RecordSettings};
use crate::snapshot::Reading;

/// Rows of one part of a table, as the server sent them.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(super) number: u64,
    pub(super) of: Of,
    /// Where it begins.
    pub(super) part: Part,
    pub(super) reading: Reading,
    /// The bodies of `DataRow` messages, one after the other, and where each ends.
    pub(super) rows: Vec<u8>,
    pub(super) ends: Vec<usize>,
    /// Nothing of the part follows.
    pub(super) is_last: bool,
    /// What the rows were read by.
    pub(super) sight: Sight,
    pub(super) time: Moment,
}

/// Where rows are put.
pub(crate) struct Target<'a> {
    pub(crate) batch: &'a mut Batch,
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) records: &'a RecordSettings,
    pub(crate) cut: Cut,
}

impl Chunk {
    /// Puts rows into the batch until it is full or a row must be read again. `None` when nothing came of it: the chunk is to be read
    /// again as a whole. `lsn` is the position of the second mark.
    pub(super) fn place(
        &self,
        keys: &Keys,
        lsn: &str,
        target: &mut Target<'_>,
    ) -> Result<Option<Moved>, Error> {
        if keys.is_void() {
            return Ok(None);
        }
        let origin = Origin { place: Place::Snapshot { lsn }, time: &self.time };
        target.recorder.tick(target.records);
        let (mut start, mut passed, mut sent, mut last) = (0, 0, 0, None);
        for end in &self.ends {
            let body = &self.rows[start..*end];
            let row = Row::data(body)?;
            match keys.fate(&self.reading.shape, row)? {
                Fate::ReadAgain => break,
                Fate::Left => {}
                Fate::Sent if target.is_full(body.len()) => break,
                Fate::Sent => {
                    let change = Change { verb: Verb::Read, new: Some(row), old: None };
                    let shape = (&self.reading.shape, target.records);
                    target.recorder.add(target.batch, shape, &change, &origin)?;
                    self.refuse_giant(target)?;
                    sent += 1;
                }
            }
            (start, passed, last) = (*end, passed + 1, Some(body));
        }
        let is_done = self.is_last && passed == self.ends.len();
        let Some(body) = last else {
            return Ok(is_done.then(|| self.moved(self.part.after.clone(), 0, true)));
        };
        Ok(Some(self.moved(self.reading.place_of(body)?, sent, is_done)))
    }

    fn moved(&self, after: Vec<String>, rows: u64, is_done: bool) -> Moved {
        Moved::Part { of: self.of, part: Part { after, ..self.part.clone() }, rows, is_done }
    }

    fn refuse_giant(&self, target: &Target<'_>) -> Result<(), Error> {
        if target.batch.bytes() <= target.cut.bytes_max {
            return Ok(());
        }
        Err(Error::Refused(format!(
            "one row of {} makes {} bytes, the limit of a batch is {} ([limits] batch_bytes); nothing was skipped: raise the limit, leave \
             the large column out with exclude_columns, or call the backfill off",
            self.part.table,
            target.batch.bytes(),
            target.cut.bytes_max
        )))
    }
}

impl Target<'_> {
    fn is_full(&self, bytes: usize) -> bool {
        let records = self.batch.len() + self.records.per_change();
        !self.batch.is_empty()
            && (records > self.cut.records || self.batch.bytes() + 2 * bytes > self.cut.bytes)
    }
}
