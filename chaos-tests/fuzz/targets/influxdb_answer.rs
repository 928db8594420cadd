//! Answers of InfluxDB, which are the JSON of InfluxQL, the annotated CSV of Flux and the JSON lines of SQL: rows that are whole, or
//! an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use picomq_connector_influxdb_source::fuzzing;

fuzz_target!(|bytes: &[u8]| fuzzing::answer(bytes));
