//! The replication stream of PostgreSQL: any messages in any order are batches or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use picomq_connector_postgres_source::fuzzing;

fuzz_target!(|bytes: &[u8]| fuzzing::stream(bytes));
