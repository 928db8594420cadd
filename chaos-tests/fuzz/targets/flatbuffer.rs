//! FlatBuffers: any bytes are a record or an error, any JSON is encoded or refused, and what was encoded is read again and
//! is the same when it is encoded anew. Any bytes are a binary schema or none.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use pico_config::SchemaSource;
use pico_record::codec::Codec;

/// Every type; held against flatc by the tests of the record crate.
const SCHEMA: &[u8] = include_bytes!("../../../engine/record/tests/clients/all.bfbs");

thread_local! {
    static ALL: RefCell<Codec> = RefCell::new(compile(SCHEMA).expect("the schema is right"));
}

fn compile(bytes: &[u8]) -> Option<Codec> {
    Codec::compile(&SchemaSource::FlatBuffer { bytes: bytes.to_vec(), root: None }).ok()
}

fuzz_target!(|bytes: &[u8]| {
    ALL.with_borrow_mut(|codec| fuzz::both_ways(codec, bytes));
    // A schema that differs in a few places from a right one is the likelier to be taken.
    let mut schema = SCHEMA.to_vec();
    for patch in bytes.chunks_exact(3).take(4) {
        let at = usize::from(u16::from_le_bytes([patch[0], patch[1]])) % schema.len();
        schema[at] = patch[2];
    }
    for schema in [bytes, &schema] {
        if let Some(mut codec) = compile(schema) {
            fuzz::both_ways(&mut codec, bytes);
            fuzz::both_ways(
                &mut codec,
                br#"{"needed":"x","point":{"x":1,"y":2,"on":true},"swords":[{"name":"s"}]}"#,
            );
        }
    }
});
