//! One `[[topics]]` block, made ready: whose records it takes and where they go.

use picomq_connector_sdk::Schema;

use crate::chooser::Chooser;
use crate::condition::Condition;
use crate::convert::Convert as _;
use crate::encoder::Encoder;
use crate::fault::Fault;
use crate::origin::Subject;
use crate::pattern::Pattern;
use crate::topics::{TopicId, Topics};

/// Header that carries the record id a plugin gives.
pub(crate) const ID_HEADER: &str = "picomq.id";
/// Header that `provenance = true` adds: `<life>/<number>/<index>/<size>`.
pub(crate) const PROVENANCE_HEADER: &str = "picomq.batch";

/// One `[[topics]]` block, made ready.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) number: u16,
    pub(crate) schema: Schema,
    /// The block takes the records for which it is true.
    pub(crate) when: Option<Condition>,
    /// From what leaves the transforms to `schema`. None: the bytes leave as they are.
    pub(crate) encoder: Option<Encoder>,
    pub(crate) destination: Destination,
    pub(crate) record_key: Option<Pattern>,
    /// With the number of the name.
    pub(crate) headers: Vec<(u16, Pattern)>,
    /// The number of the provenance header's name, if there is to be one.
    pub(crate) provenance: Option<u16>,
}

/// Where the records of a block go.
#[derive(Debug)]
pub(crate) enum Destination {
    One(TopicId),
    Chosen(Box<Chooser>),
}

impl Block {
    /// Whether the record goes to this block.
    pub(crate) fn takes(&self, subject: &Subject<'_>) -> Result<bool, Fault> {
        match &self.when {
            None => Ok(true),
            Some(when) => when.holds(subject).map_err(|reason| Fault::When { block: self.number, reason }),
        }
    }

    /// The topic of a record in this block.
    pub(crate) fn choose(&mut self, subject: &Subject<'_>, topics: &mut Topics) -> Result<TopicId, Fault> {
        match &mut self.destination {
            Destination::One(topic) => Ok(*topic),
            Destination::Chosen(chooser) => chooser
                .choose(subject, topics)
                .map_err(|refusal| Fault::Unroutable { block: self.number, refusal }),
        }
    }
}

/// Which batch of which opening it is, for `provenance = true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The random number of the opening.
    pub life: u64,
    /// The batch number.
    pub number: u64,
}

/// Whether a block takes payloads of this schema.
pub(crate) fn takes(block: &Block, from: Schema) -> bool {
    conversion_of(block, from).is_some()
}

/// How its payloads become the block's; None where they cannot.
pub(crate) fn conversion_of(block: &Block, from: Schema) -> Option<Conversion> {
    let encoded = match &block.encoder {
        Some(encoder) => encoder.schema_after(from),
        None => Some(from),
    };
    encoded.and_then(|encoded| conversion(encoded, block.schema))
}

/// What happens to a payload between what the plugin gives and what a block asks for.
pub(crate) enum Conversion {
    /// The bytes leave as they came.
    AsItIs,
    /// The bytes leave as they came, once they are known to be JSON.
    CheckedJson,
}

/// None for a pair that is refused.
fn conversion(from: Schema, to: Schema) -> Option<Conversion> {
    match (from, to) {
        (Schema::Json, Schema::Json | Schema::Text) | (Schema::Text, Schema::Json) => {
            Some(Conversion::CheckedJson)
        }
        (_, Schema::Raw) => Some(Conversion::AsItIs),
        (from, to) => (from == to).then_some(Conversion::AsItIs),
    }
}
