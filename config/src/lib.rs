//! Text in, checked definitions out: `config.toml`, the source definitions beside it, and what the environment
//! changes in both.
//!
//! Not here: starting anything, sockets, async. What comes out is checked as far as text alone allows; every
//! finding of a file is reported at once, and one bad file never stops another.
//!
//! Invariants: no value of a secret is in any `Debug`, `Display`, finding or excerpt of this crate; a name, topic or
//! key that comes out of it has passed its grammar.

#![forbid(unsafe_code)]
#![allow(dead_code, reason = "the loader, which uses the rest, follows")]

mod block;
mod definition;
mod engine;
mod env;
mod finding;
mod key;
mod parse_error;
mod plugin_config;
mod properties;
mod rule;
mod secret;
mod suggest;
mod supervision;
mod template;

pub use block::{AllowedTopics, Replication, TopicBlock};
pub use definition::{Definition, ErrorPolicy, OnRecordError, PluginConfigFormat};
pub use engine::{
    Connectors, Engine, Http, Kafka, Limits, LogFormat, Logging, Plugins, Sasl, SaslMechanism,
    SecurityProtocol, Shutdown, StateConfig, Tls,
};
pub use env::Env;
pub use finding::{Finding, Location, Severity};
pub use key::{KEY_LENGTH_MAX, SourceKey};
pub use parse_error::ParseError;
pub use picomq_connector_sdk::Schema;
pub use plugin_config::PluginConfig;
pub use properties::Properties;
pub use rule::{HashOf, Illegal, Rule, TOPIC_NAME_MAX, Value, check_topic_name, is_topic_char};
pub use secret::{Secret, is_secret_name};
pub use supervision::Supervision;
pub use template::{FieldPath, Part, Template};
