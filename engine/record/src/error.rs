//! What this crate refuses: a definition whose blocks cannot route, and a batch that cannot be routed.

use std::num::TryFromIntError;

use picomq_connector_sdk::Schema;

use crate::codec::SchemaError;
use crate::fault::{Fault, Stage};

/// Why the blocks of a definition make no record path. A person has to change the definition.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RuleError {
    /// Two tenants could meet in one topic: `ab` + `c` and `a` + `bc`.
    #[error(
        "the topic template of topics[{block}] has two values side by side; put a character between them"
    )]
    Adjacent {
        /// Position among `[[topics]]`.
        block: u16,
    },
    /// `{value}` in a block whose topic is a literal.
    #[error(
        "{place} of topics[{block}] uses {{value}}, but its topic is static and has no value; use {{field:PATH}}, {{header:NAME}} or {{key}}"
    )]
    NoValue {
        /// Position among `[[topics]]`.
        block: u16,
        /// `record_key`, or which header.
        place: String,
    },
    /// A name the definition itself writes is outside its own `allowed_topics`.
    #[error("topics[{block}] names the topic {topic:?}, which its allowed_topics {allowed:?} does not match")]
    NotAllowed {
        /// Position among `[[topics]]`.
        block: u16,
        /// The literal topic or the fallback.
        topic: String,
        /// The expression.
        allowed: String,
    },
    /// The schema of a block cannot be used.
    #[error("the {schema} schema of topics[{block}] cannot be used: {reason}")]
    Schema {
        /// Position among `[[topics]]`.
        block: u16,
        /// The block's schema.
        schema: Schema,
        /// Why not.
        reason: SchemaError,
    },
    /// The schema of a convert transform cannot be used.
    #[error("the schema of {place} cannot be used: {reason}")]
    TransformSchema {
        /// As messages name it: `transforms[2]`.
        place: String,
        /// Why not.
        reason: SchemaError,
    },
    /// A transform does not take what the one before it gives.
    #[error("{place} does not take {given}, which is what the transforms before it give")]
    TransformTakes {
        /// As messages name it: `transforms[2]`.
        place: String,
        /// What it would get.
        given: Schema,
    },
    /// A block asks for a schema that what the transforms give cannot become.
    #[error("{}", RouteFailure::schema_pair(*from, *to, *block).message)]
    SchemaPair {
        /// What leaves the transforms.
        from: Schema,
        /// The block's schema.
        to: Schema,
        /// Position among `[[topics]]`.
        block: u16,
    },
    /// A block wants the frame of a registry, and the schema's id is not known.
    #[error("the schema of topics[{block}] has no id from its registry")]
    NoSchemaId {
        /// Position among `[[topics]]`.
        block: u16,
    },
    /// More blocks than are numbered.
    #[error("a definition has at most 65,536 [[topics]] blocks")]
    TooManyBlocks(#[source] TryFromIntError),
    /// More header names than are numbered.
    #[error("a definition adds at most 65,536 different headers")]
    TooManyHeaders(#[source] TryFromIntError),
}

/// Why a batch cannot be routed. Nothing of it was produced. Mostly reading it again will not help: a person must change
/// the definition, the data or the topics.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RouteFailure {
    /// Stable name of the kind of failure: `schema_pair_refused`, `payload_not_json`, `field_not_writable`,
    /// `envelope_missing`, `jq_failed`, `when_failed`, `unroutable_record`, `record_key_missing`, `record_too_large`,
    /// `batch_too_large`, `too_many_record_errors`, or a codec's.
    pub code: &'static str,
    /// What was being done to the record. None: the batch as a whole is refused.
    pub stage: Option<Stage>,
    /// For people: the record, the field, the value cut short, and what would be right.
    pub message: String,
    /// Whether reading the batch again by itself cannot help.
    pub needs_human: bool,
}

impl RouteFailure {
    pub(crate) fn schema_pair(from: Schema, to: Schema, block: u16) -> RouteFailure {
        let fix = match (from, to) {
            (Schema::Json, Schema::Avro) => "give the block a schema: avro_schema_path",
            (Schema::Json, Schema::Proto) => "give the block a schema: proto_schema_path",
            (Schema::Json, Schema::FlatBuffer) => "give the block a schema: flatbuffer_schema_path",
            (Schema::Avro, Schema::Json | Schema::Text) => "put an avro_convert transform before it",
            (Schema::Proto, Schema::Json | Schema::Text) => "put a proto_convert transform before it",
            (Schema::FlatBuffer, Schema::Json | Schema::Text) => {
                "put a flatbuffer_convert transform before it"
            }
            (
                Schema::Json | Schema::Raw | Schema::Text | Schema::Proto | Schema::FlatBuffer | Schema::Avro,
                _,
            ) => "there is no conversion between them",
        };
        RouteFailure {
            code: "schema_pair_refused",
            stage: None,
            needs_human: true,
            message: format!(
                "the records are {from} and topics[{block}] asks for {to}: {fix}; or write schema = \"{from}\" or \
                 schema = \"raw\""
            ),
        }
    }

    pub(crate) fn when_needs_json(given: Schema, block: u16) -> RouteFailure {
        RouteFailure {
            code: "schema_pair_refused",
            stage: None,
            needs_human: true,
            message: format!("when of topics[{block}] reads JSON and the payloads are {given}; take it out"),
        }
    }

    pub(crate) fn transform_takes(transform: &str, given: Schema) -> RouteFailure {
        RouteFailure {
            code: "schema_pair_refused",
            stage: None,
            needs_human: true,
            message: format!(
                "{transform} reads JSON and gets {given}; take it out, or put a convert transform before it"
            ),
        }
    }

    /// `index` and `id` name the record.
    #[cold]
    pub(crate) fn of_record(fault: &Fault, index: usize, id: Option<&str>) -> RouteFailure {
        let record = match id {
            Some(id) => format!("record {index} (id {})", crate::shorten::shorten(id.as_bytes())),
            None => format!("record {index}"),
        };
        let message = format!("{record}: {}", fault.reason());
        RouteFailure { code: fault.code(), stage: Some(fault.stage()), message, needs_human: true }
    }

    /// `[errors]` would set the record aside, and it does not fit there: never lost, so nacked.
    pub(crate) fn too_large_to_set_aside(self, bytes: u64) -> RouteFailure {
        let message = format!(
            "{}; it goes to no dead-letter topic either, as it came with {bytes} bytes: raise limits.record_bytes",
            self.message
        );
        RouteFailure { message, ..self }
    }

    /// So many records failed within a minute that `[errors]` no longer holds. It may pass with the minute.
    pub(crate) fn past_ceiling(self, most: u32) -> RouteFailure {
        let message = format!(
            "{}; before it {most} records failed within a minute, as many as errors.max_per_minute lets through",
            self.message
        );
        RouteFailure { code: "too_many_record_errors", message, needs_human: false, ..self }
    }
}
