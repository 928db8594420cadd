//! Routes one batch in steps, so that a big one does not hold its thread.

use picomq_connector_sdk::Schema;
use picomq_connector_sdk::ffi::host::GuestBatch;

use crate::block::{Conversion, Provenance, conversion_of};
use crate::convert::Convert as _;
use crate::draft::{Draft, Failed, Place};
use crate::error::RouteFailure;
use crate::path::{Reading, RecordPath};
use crate::routed::Routed;

/// Stack for jq expressions, which walk values and let go of them by recursion; what is not touched costs nothing. An
/// expression may nest a value by one level for each element it reads, and a payload for it has 1 MiB at most.
const PROGRAM_STACK_BYTES: usize = 256 * 1024 * 1024;

/// A batch on its way. Dropping it gives the batch back to the plugin; what the path has learned stays.
#[derive(Debug)]
pub struct Routing {
    batch: GuestBatch,
    provenance: Provenance,
    reading: Reading,
    /// Of what leaves the transforms.
    schema: Schema,
    next: usize,
    draft: Draft,
}

/// What a step came to.
#[derive(Debug)]
pub enum Step {
    /// Some records are left.
    More(Routing),
    /// Every record has its topics.
    Done(Routed),
}

impl Routing {
    pub(crate) fn begin(
        path: &RecordPath,
        batch: GuestBatch,
        provenance: Provenance,
    ) -> Result<Routing, RouteFailure> {
        let records = batch.len();
        // A batch without records says nothing by its schema.
        let (reading, schema) =
            if records == 0 { (Reading::Nothing, batch.schema()) } else { reading_of(path, batch.schema())? };
        let draft = Draft::with_capacity(records * path.blocks.len());
        Ok(Routing { batch, provenance, reading, schema, next: 0, draft })
    }

    /// Routes up to `records` more, by the path it was begun with.
    ///
    /// # Errors
    /// The first record that cannot be sent as the definition says and is not for `[errors]` to set aside. Nothing of
    /// the batch was produced.
    pub fn step(self, path: &mut RecordPath, records: usize) -> Result<Step, RouteFailure> {
        if path.runs_programs() {
            return stacker::grow(PROGRAM_STACK_BYTES, || self.advance(path, records));
        }
        self.advance(path, records)
    }

    fn advance(mut self, path: &mut RecordPath, records: usize) -> Result<Step, RouteFailure> {
        let size = self.batch.len();
        let end = self.next.saturating_add(records).min(size);
        for encoder in path.blocks.iter_mut().filter_map(|block| block.encoder.as_mut()) {
            encoder.begin(self.schema);
        }
        for index in self.next..end {
            let record = self.batch.record(index);
            let place = Place { batch: self.provenance, index: index as u32, size };
            if let Err(fault) = self.draft.add(path, record, self.reading, place) {
                let schema = self.batch.schema();
                self.draft.settle(path, &Failed { record, schema, place, fault })?;
            }
        }
        self.next = end;
        Ok(if end == size {
            Step::Done(self.draft.sort(self.batch, path.header_names.clone()))
        } else {
            Step::More(self)
        })
    }
}

impl RecordPath {
    /// Begins with a batch; the rest is done in steps, so that a big one does not hold its thread.
    ///
    /// # Errors
    /// When a block asks for a schema that the batch's cannot become.
    pub fn begin(&self, batch: GuestBatch, provenance: Provenance) -> Result<Routing, RouteFailure> {
        Routing::begin(self, batch, provenance)
    }

    /// Routes a batch at once.
    ///
    /// # Errors
    /// The first record that cannot be sent as the definition says and is not for `[errors]` to set aside. Nothing of
    /// the batch was produced.
    pub fn route(&mut self, batch: GuestBatch, provenance: Provenance) -> Result<Routed, RouteFailure> {
        let mut routing = self.begin(batch, provenance)?;
        loop {
            routing = match routing.step(self, usize::MAX)? {
                Step::More(routing) => routing,
                Step::Done(routed) => return Ok(routed),
            };
        }
    }
}

/// How much of each payload must be read for all blocks, and of which schema it then is; or which pair is refused.
fn reading_of(path: &RecordPath, given: Schema) -> Result<(Reading, Schema), RouteFailure> {
    let from = path
        .chain
        .schema_after(given)
        .map_err(|(transform, given)| RouteFailure::transform_takes(&transform, given))?;
    let mut must_be_json = false;
    for block in &path.blocks {
        if block.when.is_some() {
            if !matches!(from, Schema::Json | Schema::Text) {
                return Err(RouteFailure::when_needs_json(from, block.number));
            }
            must_be_json = true;
        }
        match conversion_of(block, from) {
            Some(Conversion::AsItIs) => {}
            Some(Conversion::CheckedJson) => must_be_json = true,
            None => return Err(RouteFailure::schema_pair(from, block.schema, block.number)),
        }
    }
    let may_be_json = matches!(from, Schema::Json | Schema::Text);
    // What the transforms have read is JSON already.
    let reading = if must_be_json && !path.chain.checks_json() {
        Reading::Json
    } else if may_be_json && !path.tree.is_empty() {
        Reading::Fields
    } else {
        Reading::Nothing
    };
    Ok((reading, from))
}
