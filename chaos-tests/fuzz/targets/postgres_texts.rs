//! Connection strings, positions, timeline histories, states and offsets of Debezium, as anybody may write them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use picomq_connector_postgres_source::fuzzing;

fuzz_target!(|text: &str| fuzzing::text(text));
