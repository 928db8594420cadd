//! Text in, checked definitions out: `config.toml`, the source definitions beside it, and what the environment
//! changes in both.
//!
//! Not here: starting anything, sockets, async. What comes out is checked as far as text alone allows; every
//! finding of a file is reported at once, and one bad file never stops another.
//!
//! One file goes through: `document` (text to a tree with places) → `overrides` (variables put into the tree) →
//! `check` (the tree held against a `shape`; out come typed values and findings) → `read_*` (the public types).
//!
//! Invariants: no value of a secret is in any `Debug`, `Display`, finding or excerpt of this crate; a name, topic or
//! key that comes out of it has passed its grammar.

#![forbid(unsafe_code)]

mod block;
mod check;
mod checked;
mod context;
mod definition;
mod definition_shape;
mod document;
mod engine;
mod engine_shape;
mod env;
mod error_policy;
mod expectation;
mod expectation_shape;
mod expression;
mod file_text;
mod finding;
mod forbidden_address;
mod http;
mod http_shape;
mod http_state;
mod key;
mod load_definitions;
mod load_engine;
mod overrides;
mod parse_error;
mod path_in;
mod plugin_config;
mod plugin_path;
mod plugin_refusal;
mod plugin_schema;
mod properties;
mod proto_imports;
mod read_block;
mod read_definition;
mod read_engine;
mod read_expectations;
mod read_http;
mod read_http_state;
mod read_kafka;
mod read_pattern;
mod read_registry;
mod read_rule;
mod read_schema;
mod read_supervision;
mod read_transform;
mod record_schema;
mod reference;
mod resolved_tree;
mod rule;
mod scalar;
mod schema;
mod schema_file;
mod schema_shape;
mod secret;
mod shape;
mod size;
mod source_variables;
mod suggest;
mod supervision;
mod tagged;
mod telemetry;
mod template;
mod transform;
mod transform_shape;
mod tree;
mod written;

pub use block::{AllowedTopics, Replication, TopicBlock};
pub use definition::{Definition, PluginConfigFormat};
pub use engine::{
    Connectors, Engine, Kafka, Limits, LogFormat, Logging, Plugins, Sasl, SaslMechanism, SecurityProtocol,
    Shutdown, StateConfig, Tls,
};
pub use env::Env;
pub use error_policy::{ErrorPolicy, OnRecordError};
pub use expectation::{Expectation, ExpectedRecord, ExpectedValue, RecordTest, TestInput};
pub use expression::{Budget, Expression, FieldTest, Filter, Language, json_nesting};
pub use finding::{Finding, Location, Severity};
pub use forbidden_address::{forbidden_address, private_address};
pub use http::{ApiKey, Cors, Http, HttpTls, Role};
pub use http_state::{HttpState, LoadMethod, SaveMethod, StateRetry, StateUrl};
pub use key::{KEY_LENGTH_MAX, SourceKey};
pub use load_definitions::{
    BadFile, DefinitionFile, Definitions, Owners, check_definition, definition_files, key_of,
    load_definitions, load_files, version_of, written_of,
};
pub use load_engine::load_engine;
pub use parse_error::ParseError;
pub use picomq_connector_sdk::Schema;
pub use plugin_config::PluginConfig;
pub use plugin_path::find_plugin;
pub use properties::Properties;
pub use record_schema::{RecordSchema, RegistryLogin, SchemaRegistry, SchemaSource, UrlOrigin};
pub use rule::{HashOf, Illegal, Rule, TOPIC_NAME_MAX, Value, check_topic_name, is_topic_char};
pub use schema::{definition_schema, engine_schema};
pub use secret::{Secret, is_secret_name};
pub use supervision::Supervision;
pub use telemetry::Telemetry;
pub use template::{FieldPath, Part, Template};
pub use transform::{
    Action, Computed, Condition, Envelope, FieldFilter, FieldMask, FieldPattern, FieldRename, FieldUpdate,
    FieldValue, IfMissing, KeyPattern, MaskMethod, NewField, RecordFilter, RecordPattern, SchemaConversion,
    SearchPattern, Transform, ValuePattern, ValueType,
};
pub use written::{Difference, Written};
