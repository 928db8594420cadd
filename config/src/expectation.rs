//! `[[tests]]`: a record as the plugin would give it, and what should become of it. `pico-connectors test` runs them.

use picomq_connector_sdk::Schema;

use crate::finding::Location;
use crate::template::FieldPath;

/// One test of a definition.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordTest {
    /// What it claims; `tests[N]` when nothing is written.
    pub name: String,
    /// Where it stands, for the report.
    pub location: Location,
    /// The record that goes in.
    pub input: TestInput,
    /// What should become of it.
    pub expectation: Expectation,
}

/// A record as the plugin would give it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestInput {
    /// What the plugin's payloads are (json).
    pub schema: Schema,
    /// None is a tombstone.
    pub payload: Option<Vec<u8>>,
    /// The plugin's key.
    pub key: Option<Vec<u8>>,
    /// The plugin's headers, in the order of the file.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Unix milliseconds.
    pub timestamp_ms: Option<i64>,
    /// The plugin's id of the record.
    pub id: Option<String>,
}

/// What should become of a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    /// It leaves as these, in the order of the blocks, and as no others.
    Sent(Vec<ExpectedRecord>),
    /// A rule drops it.
    Filtered,
    /// It fails with this code, whatever `[errors]` makes of that.
    Fails(String),
}

/// A record that should leave. What is None is not compared.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedRecord {
    /// The topic.
    pub topic: String,
    /// Position of the block that sends it.
    pub block: Option<u16>,
    /// The key; the inner None: it has none.
    pub key: Option<Option<String>>,
    /// Headers it must have; the last one of a name counts, as with Kafka's clients.
    pub headers: Vec<(String, String)>,
    /// Names of headers it must not have.
    pub without_headers: Vec<String>,
    /// The value.
    pub value: ExpectedValue,
}

/// What the value should be.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpectedValue {
    /// Anything.
    Any,
    /// None.
    Tombstone,
    /// These bytes.
    Exact(Vec<u8>),
    /// Equal as JSON to this text, which is JSON, except at the paths to `ignore`.
    Json {
        /// As written.
        text: String,
        /// Members that are not compared.
        ignore: Vec<FieldPath>,
    },
}
