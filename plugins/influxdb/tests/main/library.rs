//! The library as it is shipped.

use std::path::PathBuf;

use picomq_connector_sdk::conformance;
use picomq_connector_sdk::ffi::host::Library;

fn path() -> PathBuf {
    conformance::library(env!("CARGO_PKG_NAME"))
}

#[test]
fn the_influxdb_library_exports_nothing_but_our_one_symbol_b121() {
    conformance::check_exports(&path());
}

#[test]
fn it_says_what_it_is_and_which_keys_are_secret() {
    let library = Library::load(&path()).unwrap();
    let info = library.info();
    assert_eq!(info.name, "influxdb");
    assert!(info.capabilities.pipelined && !info.capabilities.listener && !info.capabilities.own_runtime);
    let schema = info.config_schema.to_string();
    let properties = info.config_schema["properties"].as_object().unwrap();
    for key in ["token", "password"] {
        assert!(properties[key].to_string().contains("\"writeOnly\":true"), "{key} in {schema}");
    }
    for key in [
        "version",
        "url",
        "org",
        "db",
        "query",
        "poll_interval",
        "batch_size",
        "cursor_field",
        "initial_offset",
        "payload_column",
        "payload_format",
        "include_metadata",
        "timeout",
        "max_retries",
        "retry_delay",
        "retry_max_delay",
        "max_open_retries",
        "open_retry_max_delay",
        "circuit_breaker_threshold",
        "circuit_breaker_cool_down",
        "stuck_batch_cap_factor",
        "verbose_logging",
    ] {
        assert!(properties.contains_key(key), "{key}");
    }
}
