//! What users of the crate see: files in, definitions and findings out.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

mod blocks;
mod definitions;
mod engine;
mod errors;
mod examples;
mod folder;
mod given;
mod http;
mod http_state;
mod overrides;
mod panics;
mod plugin_path;
mod plugin_schema;
mod properties;
mod record_schemas;
mod record_tests;
mod references;
mod schema;
mod schema_values;
mod secrets;
mod transform_schema;
mod transforms;
