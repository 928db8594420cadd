//! The answer of Elasticsearch to a search: a page that is whole, or none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use picomq_connector_elasticsearch_source::fuzzing;

fuzz_target!(|bytes: &[u8]| fuzzing::page(bytes));
