//! The transforms of a source in the order written, run once for each record, before any block looks at it.

use picomq_connector_sdk::Schema;

use crate::convert::Convert;
use crate::fault::Fault;

/// One transform, made ready.
#[derive(Debug)]
pub(crate) enum Transform {
    /// Bytes in, bytes of another schema out.
    #[allow(dead_code, reason = "the convert transforms make these")]
    Convert { number: u16, convert: Box<dyn Convert> },
}

/// What the transforms made of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The payload is the plugin's own, or none.
    AsItIs,
    /// The payload is [`Chain::changed`].
    Changed,
    /// A rule of the definition drops the record.
    #[allow(dead_code, reason = "filter_records makes it")]
    Filtered,
}

/// All transforms, and the payload they made last. One value serves all records, so that its buffers are kept.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    transforms: Vec<Transform>,
    changed: Vec<u8>,
    spare: Vec<u8>,
}

impl Chain {
    /// The schema of what leaves the last transform when the plugin gives `from`, or the number of the transform that
    /// does not take what it would get, and the schema of that.
    pub(crate) fn schema_after(&self, from: Schema) -> Result<Schema, (u16, Schema)> {
        let mut schema = from;
        for transform in &self.transforms {
            schema = match transform {
                Transform::Convert { number, convert } => {
                    convert.schema_after(schema).ok_or((*number, schema))?
                }
            };
        }
        Ok(schema)
    }

    /// Applies every transform to one payload. A tombstone passes all of them unchanged.
    pub(crate) fn run(&mut self, payload: Option<&[u8]>) -> Result<Outcome, Fault> {
        let Some(payload) = payload else { return Ok(Outcome::AsItIs) };
        let mut outcome = Outcome::AsItIs;
        for transform in &mut self.transforms {
            match transform {
                Transform::Convert { number, convert } => {
                    std::mem::swap(&mut self.changed, &mut self.spare);
                    self.changed.clear();
                    let current = if outcome == Outcome::Changed { &self.spare } else { payload };
                    let transform = *number;
                    convert
                        .convert(current, &mut self.changed)
                        .map_err(|failure| Fault::Transform { transform, failure })?;
                    outcome = Outcome::Changed;
                }
            }
        }
        Ok(outcome)
    }

    /// The payload after [`Outcome::Changed`].
    pub(crate) fn changed(&self) -> &[u8] {
        &self.changed
    }
}
