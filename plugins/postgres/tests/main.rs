//! The library as it is shipped.

use std::path::PathBuf;

use picomq_connector_sdk::conformance;
use picomq_connector_sdk::ffi::host::Library;

fn path() -> PathBuf {
    conformance::library(env!("CARGO_PKG_NAME"))
}

#[test]
fn the_postgres_library_exports_nothing_but_our_one_symbol_b121() {
    conformance::check_exports(&path());
}

#[test]
fn it_says_what_it_is_and_which_key_is_secret() {
    let library = Library::load(&path()).unwrap();
    let info = library.info();
    assert_eq!(info.name, "postgres");
    assert!(info.capabilities.pipelined && !info.capabilities.listener && !info.capabilities.own_runtime);
    let properties = info.config_schema["properties"].as_object().unwrap();
    assert_eq!(properties["connection_string"]["writeOnly"], true);
    for key in
        ["mode", "tables", "slot_name", "replication_slot", "publication_name", "snapshot_mode", "envelope"]
    {
        assert!(properties.contains_key(key), "{key}");
    }
}
