//! Stories of records on their way to topics, told through the public interface alone.

#![allow(clippy::unwrap_used, reason = "a story that is not given what it asks for has failed")]

mod codecs;
mod errors;
mod given;
mod json_fields;
mod keys_and_headers;
mod limits;
mod order;
mod page;
mod schemas;
mod topic_names;
mod transforms;
mod when;
