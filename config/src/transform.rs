//! `[[transforms]]`: what happens to a record between plugin and routing, checked at load. Applying one is the record
//! crate's.

use picomq_connector_sdk::Schema;
use regex::Regex;
use serde_json::{Number, Value};

use crate::expression::Expression;
use crate::parse_error::ParseError;
use crate::record_schema::{RecordSchema, SchemaSource};
use crate::secret::Secret;
use crate::template::FieldPath;

/// One transform, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Transform {
    /// How messages name it: `transforms[2]`, or `transforms.add_fields` in the table form.
    pub place: String,
    /// False: kept and shown, not applied (true).
    pub is_enabled: bool,
    /// Records for which it is false pass unchanged.
    pub when: Option<Expression>,
    /// What it does.
    pub action: Action,
}

/// What a transform does to a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Fields that are written where they are absent.
    AddFields(Vec<NewField>),
    /// Fields that are written by their condition.
    UpdateFields(Vec<FieldUpdate>),
    /// Fields that are taken out.
    DeleteFields(Vec<FieldPath>),
    /// Fields that get another name or place.
    RenameFields(Vec<FieldRename>),
    /// Which fields stay.
    FilterFields(FieldFilter),
    /// Which records stay.
    FilterRecords(RecordFilter),
    /// Fields whose values nobody shall read.
    MaskFields(FieldMask),
    /// The payload becomes the value of one of its fields.
    UnwrapEnvelope(Envelope),
    /// The payload becomes the one output of the expression; without an output the record is dropped.
    Jq(Expression),
    /// The payload is written in another schema.
    Convert(SchemaConversion),
}

impl Action {
    /// The `type` of the file.
    pub fn type_name(&self) -> &'static str {
        match self {
            Action::AddFields(_) => "add_fields",
            Action::UpdateFields(_) => "update_fields",
            Action::DeleteFields(_) => "delete_fields",
            Action::RenameFields(_) => "rename_fields",
            Action::FilterFields(_) => "filter_fields",
            Action::FilterRecords(_) => "filter_records",
            Action::MaskFields(_) => "mask_fields",
            Action::UnwrapEnvelope(_) => "unwrap_envelope",
            Action::Jq(_) => "jq",
            Action::Convert(conversion) => conversion.type_name(),
        }
    }
}

/// From JSON to a binary schema, or back.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaConversion {
    /// What it takes; one of `from` and `to` is JSON.
    pub from: Schema,
    /// What it gives.
    pub to: Schema,
    /// The schema of the other one.
    pub schema: RecordSchema,
    /// Whether protobuf's 64-bit integers become strings, as its own JSON has them (false).
    pub int64_as_string: bool,
}

impl SchemaConversion {
    fn type_name(&self) -> &'static str {
        match self.schema.source {
            SchemaSource::Avro { .. } => "avro_convert",
            SchemaSource::ProtoFiles { .. } | SchemaSource::ProtoDescriptorSet { .. } => "proto_convert",
            SchemaSource::FlatBuffer { .. } => "flatbuffer_convert",
        }
    }
}

/// A field to write.
#[derive(Debug, Clone, PartialEq)]
pub struct NewField {
    /// Where; objects on the way are made.
    pub path: FieldPath,
    /// What.
    pub value: FieldValue,
}

/// A field to write on a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldUpdate {
    /// Where and what.
    pub field: NewField,
    /// When.
    pub condition: Condition,
}

/// When a field is updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the words of the file")]
pub enum Condition {
    Always,
    KeyExists,
    KeyNotExists,
}

/// The value of a field that is written.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// As it stands in the file.
    Static(Value),
    /// Made anew for each record.
    Computed(Computed),
}

/// What a computed value is. Times are those of the transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Computed {
    /// RFC 3339 with microseconds and `Z`, a string.
    DateTime,
    /// Whole seconds since the Unix epoch.
    TimestampSeconds,
    /// Milliseconds since the Unix epoch.
    TimestampMillis,
    /// Microseconds since the Unix epoch.
    TimestampMicros,
    /// Nanoseconds since the Unix epoch.
    TimestampNanos,
    /// A random UUID, a string.
    UuidV4,
    /// A UUID that begins with the time in milliseconds, a string.
    UuidV7,
}

/// A field and what it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRename {
    /// The field as it is.
    pub from: FieldPath,
    /// Its path from then on; never below `from`, nor above it.
    pub to: FieldPath,
}

/// A field stays if it is in `keep`, or if whether a pattern matches equals `include_matching`.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldFilter {
    /// Fields that stay whatever the patterns say.
    pub keep: Vec<FieldPath>,
    /// Any of them is enough; held against the fields of the outermost object.
    pub patterns: Vec<FieldPattern>,
    /// Whether fields that match stay, or those that do not (true).
    pub include_matching: bool,
}

/// Both halves must match; at least one is there.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldPattern {
    /// Held against the name.
    pub key: Option<KeyPattern>,
    /// Held against the value.
    pub value: Option<ValuePattern>,
}

/// What the name of a field must be.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the variants are the words of the file")]
pub enum KeyPattern {
    Exact(String),
    StartsWith(String),
    EndsWith(String),
    Contains(String),
    Regex(SearchPattern),
}

/// What the value of a field must be.
#[derive(Debug, Clone, PartialEq)]
pub enum ValuePattern {
    /// The same JSON value; numbers by what they are worth.
    Equals(Value),
    /// A string that holds this one.
    Contains(String),
    /// A string in which the expression is found.
    Regex(SearchPattern),
    /// A number above this one.
    GreaterThan(Number),
    /// A number below this one.
    LessThan(Number),
    /// A number from the first to the second, both included.
    Between(Number, Number),
    /// Of this type.
    Is(ValueType),
    /// Anything but null.
    IsNotNull,
}

/// The types of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the words of the file")]
pub enum ValueType {
    Null,
    String,
    Number,
    Boolean,
    Object,
    Array,
}

/// A record stays if whether a pattern matches equals `include_matching`; without patterns it is dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordFilter {
    /// Any of them is enough.
    pub patterns: Vec<RecordPattern>,
    /// Whether records that match stay, or those that do not (true).
    pub include_matching: bool,
}

/// A field of the record and what its value must be; a field that is not there matches nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordPattern {
    /// The field.
    pub field: FieldPath,
    /// What it must be.
    pub value: ValuePattern,
}

/// Fields whose values are hidden.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldMask {
    /// The fields.
    pub fields: Vec<FieldPath>,
    /// How.
    pub method: MaskMethod,
}

/// How a value is hidden. Null stays null.
#[derive(Debug, Clone, PartialEq)]
pub enum MaskMethod {
    /// This text stands there instead.
    Redact(String),
    /// SHA-256 of the value in lower-case hexadecimal; with a key HMAC-SHA-256.
    Hash(Option<Secret>),
}

/// The field whose value becomes the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The field.
    pub field: FieldPath,
    /// What becomes of a record without it.
    pub if_missing: IfMissing,
}

/// What becomes of a record without the field that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMissing {
    /// It passes unchanged.
    Pass,
    /// It fails and goes by `[errors]`.
    Error,
}

/// A regular expression that is looked for anywhere in a text.
#[derive(Debug, Clone)]
pub struct SearchPattern(Regex);

impl SearchPattern {
    /// Compiles the expression.
    pub fn parse(text: &str) -> Result<SearchPattern, ParseError> {
        let regex = Regex::new(text);
        regex
            .map(SearchPattern)
            .map_err(|error| ParseError::new(0, crate::block::one_line(&error.to_string())))
    }

    /// Whether it is found in `text`.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl PartialEq for SearchPattern {
    fn eq(&self, other: &SearchPattern) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}
