//! Values of PostgreSQL: any text of any type is JSON or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use picomq_connector_postgres_source::fuzzing;

fuzz_target!(|bytes: &[u8]| fuzzing::value(bytes));
