//! Avro: any bytes are a value or an error, any JSON is encoded or refused, and what was encoded is read again and is
//! the same when it is encoded anew. Any text is a schema or none.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use pico_config::SchemaSource;
use pico_record::codec::Codec;

/// Every type, many of them in unions; it holds itself.
const SCHEMA: &str = include_str!("../schemas/all.avsc");

thread_local! {
    static ALL: RefCell<Codec> = RefCell::new(compile(SCHEMA).expect("the schema is right"));
}

fn compile(text: &str) -> Option<Codec> {
    Codec::compile(&SchemaSource::Avro { text: text.to_owned() }).ok()
}

fuzz_target!(|bytes: &[u8]| {
    ALL.with_borrow_mut(|codec| fuzz::both_ways(codec, bytes));
    if let Some(codec) = std::str::from_utf8(bytes).ok().and_then(compile).as_mut() {
        fuzz::both_ways(codec, br#"{"a":[1,null,"x"]}"#);
    }
});
