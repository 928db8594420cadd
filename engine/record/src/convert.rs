//! From a payload of one schema to a payload of another: what a block's encoder and a convert transform both are.

use std::fmt;

use picomq_connector_sdk::Schema;

/// A codec made ready, compiled once per opening.
pub(crate) trait Convert: fmt::Debug + Send {
    /// The schema of what comes out of payloads of this one. None: they are not taken, and the batch is refused.
    fn schema_after(&self, from: Schema) -> Option<Schema>;

    /// The payloads that come next, until this is called again, are of this schema, one that
    /// [`schema_after`](Convert::schema_after) takes.
    fn begin(&mut self, _from: Schema) {}

    /// Appends the converted payload to `out`; what is there already stays. After an error the caller cuts off what
    /// was appended. Tombstones are not converted and do not come here.
    fn convert(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), ConvertFailure>;
}

/// Why a payload cannot become one of the other schema.
#[derive(Debug)]
pub(crate) struct ConvertFailure {
    /// Stable name of the kind of failure.
    pub(crate) code: &'static str,
    /// The field, the value cut short, and what would be right.
    pub(crate) reason: String,
}
