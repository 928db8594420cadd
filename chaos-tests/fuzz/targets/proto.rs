//! Protobuf: any bytes are a message or an error, any JSON is encoded or refused, and what was encoded is read again and is
//! the same when it is encoded anew. Any text is a `.proto` file or none.
#![no_main]

use std::cell::RefCell;
use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use pico_config::SchemaSource;
use pico_record::codec::Codec;

/// Every type; held against Google's runtime by the tests of the record crate.
const ALL_PROTO: &str = include_str!("../../../engine/record/tests/clients/all.proto");
const MONEY_PROTO: &str = include_str!("../../../engine/record/tests/clients/parts/money.proto");

thread_local! {
    static ALL: RefCell<Codec> = RefCell::new(all());
}

fn all() -> Codec {
    let files = [("all.proto", ALL_PROTO), ("parts/money.proto", MONEY_PROTO)];
    compile(&files, Some("All")).expect("the schema is right")
}

fn compile(files: &[(&str, &str)], message: Option<&str>) -> Option<Codec> {
    let files: BTreeMap<String, String> =
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let message = message.map(str::to_owned);
    Codec::compile(&SchemaSource::ProtoFiles { root: "all.proto".to_owned(), files, message }).ok()
}

fuzz_target!(|bytes: &[u8]| {
    ALL.with_borrow_mut(|codec| fuzz::both_ways(codec, bytes));
    if let Ok(text) = std::str::from_utf8(bytes) {
        drop(compile(&[("all.proto", text)], None));
    }
});
