//! The library as it is shipped.

use std::path::PathBuf;
use std::process::Command;

use picomq_connector_sdk::ffi::host::Library;

/// Cargo builds it beside the test.
fn path() -> PathBuf {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let test = std::env::current_exe().expect("a test has a path");
    test.with_file_name(format!("{prefix}picomq_connector_elasticsearch_source{suffix}"))
}

#[test]
fn the_elasticsearch_library_exports_nothing_but_our_one_symbol_b121() {
    let symbols = Command::new("nm").args(["-D", "--defined-only", "-P"]).arg(path()).output().unwrap();
    assert!(symbols.status.success(), "{symbols:?}");
    let text = String::from_utf8(symbols.stdout).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["picomq_connector_source"]);
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
