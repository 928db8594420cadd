//! The library as it is shipped.

use std::path::PathBuf;

use picomq_connector_sdk::conformance;
use picomq_connector_sdk::ffi::host::Library;

fn path() -> PathBuf {
    conformance::library(env!("CARGO_PKG_NAME"))
}

#[test]
fn the_elasticsearch_library_exports_nothing_but_our_one_symbol_b121() {
    conformance::check_exports(&path());
}

#[test]
fn it_says_what_it_is_and_which_keys_are_secret() {
    let library = Library::load(&path()).unwrap();
    let info = library.info();
    assert_eq!(info.name, "elasticsearch");
    assert!(info.capabilities.pipelined && !info.capabilities.listener && !info.capabilities.own_runtime);
    let properties = info.config_schema["properties"].as_object().unwrap();
    for key in [
        "index",
        "timestamp_field",
        "batch_size",
        "polling_interval",
        "scroll_timeout",
        "query",
        "state",
        "username",
    ] {
        assert!(properties.contains_key(key), "{key}");
    }
    for key in ["url", "hosts", "password", "api_key", "bearer_token"] {
        assert!(properties[key].to_string().contains("\"writeOnly\":true"), "{key}: {}", properties[key]);
    }
}
