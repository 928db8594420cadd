//! What is wrong with one record: the stage that found it, a stable code, and the reason for people.

use std::sync::Arc;

use crate::convert::ConvertFailure;
use crate::json::NotJson;

/// What was being done to a record when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The payload is not what its schema says.
    Decode,
    /// A transform could not be applied.
    Transform,
    /// A block has no topic or no key for it.
    Route,
    /// It cannot be written in the schema of a block.
    Encode,
    /// It is too large to be sent.
    Size,
}

/// Why a record has no topic, and what would help beside a fallback.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    pub(crate) fix: &'static str,
}

/// What is wrong with one record, before it is known which one.
#[derive(Debug)]
pub(crate) enum Fault {
    NotJson(NotJson),
    Unroutable { block: u16, refusal: Refusal },
    KeyMissing { block: u16, reason: String },
    Transform { place: Arc<str>, failure: ConvertFailure },
    When { block: u16, reason: String },
    Encode { block: u16, failure: ConvertFailure },
    TooLarge { bytes: u64, record_bytes: u64 },
    ArenaFull,
}

impl Stage {
    /// The word of `picomq.error.stage`.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Decode => "decode",
            Stage::Transform => "transform",
            Stage::Route => "route",
            Stage::Encode => "encode",
            Stage::Size => "size",
        }
    }
}

impl Fault {
    pub(crate) fn stage(&self) -> Stage {
        match self {
            Fault::NotJson(_) => Stage::Decode,
            Fault::Transform { .. } => Stage::Transform,
            Fault::When { .. } | Fault::Unroutable { .. } | Fault::KeyMissing { .. } => Stage::Route,
            Fault::Encode { .. } => Stage::Encode,
            Fault::TooLarge { .. } | Fault::ArenaFull => Stage::Size,
        }
    }

    /// Whether a policy for single records may act on it. What is wrong with the batch is not.
    pub(crate) fn is_of_the_record(&self) -> bool {
        match self {
            Fault::NotJson(_) | Fault::Unroutable { .. } | Fault::KeyMissing { .. } => true,
            Fault::When { .. } => true,
            Fault::Transform { .. } | Fault::Encode { .. } | Fault::TooLarge { .. } => true,
            Fault::ArenaFull => false,
        }
    }

    /// Stable name of the kind of failure.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Fault::NotJson(_) => "payload_not_json",
            Fault::When { .. } => "when_failed",
            Fault::Unroutable { .. } => "unroutable_record",
            Fault::KeyMissing { .. } => "record_key_missing",
            Fault::Transform { failure, .. } | Fault::Encode { failure, .. } => failure.code,
            Fault::TooLarge { .. } => "record_too_large",
            Fault::ArenaFull => "batch_too_large",
        }
    }

    /// The field, the value cut short, and what would be right.
    #[cold]
    pub(crate) fn reason(&self) -> String {
        match self {
            Fault::NotJson(error) => format!("the payload is not JSON: {error}"),
            Fault::Unroutable { block, refusal: Refusal { reason, fix } } => {
                format!("{reason}, so topics[{block}] has no topic for it; {fix} or give the rule a fallback")
            }
            Fault::KeyMissing { block, reason } => format!(
                "{reason}, so record_key of topics[{block}] cannot be written; send a value or take it out of \
                 the template"
            ),
            Fault::Transform { place, failure } => format!("{place}: {}", failure.reason),
            Fault::When { block, reason } => format!("when of topics[{block}]: {reason}"),
            Fault::Encode { block, failure } => format!("topics[{block}]: {}", failure.reason),
            Fault::TooLarge { bytes, record_bytes } => format!(
                "{bytes} bytes with key and headers, more than limits.record_bytes = {record_bytes} allows"
            ),
            Fault::ArenaFull => "the payloads, keys and headers written for this batch pass 4 GiB; lower \
                 limits.batch_records"
                .to_owned(),
        }
    }
}
