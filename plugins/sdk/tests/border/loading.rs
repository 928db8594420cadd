//! Finding, refusing and sharing libraries.

use std::sync::Arc;

use picomq_connector_sdk::conformance;
use picomq_connector_sdk::ffi::host::{Library, LoadError};

use crate::support::{example, library, own_copy, request};

fn refusal(name: &str) -> LoadError {
    Library::load(&example(name)).expect_err("it is not fit")
}

#[test]
fn a_plugin_says_what_it_is() {
    let library = library("scripted");
    let info = library.info();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("scripted", env!("CARGO_PKG_VERSION")));
    assert!(info.unwinds && info.capabilities.pipelined && !info.capabilities.listener);
    assert!(info.config_schema["properties"]["poll"].is_object(), "{}", info.config_schema);
}

#[test]
fn another_abi_is_refused_with_both_numbers_and_the_fix() {
    let error = refusal("broken_abi");
    assert!(matches!(error, LoadError::Abi { built: 99, speaks: 1, .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("ABI 99") && text.contains("speaks 1") && text.contains("SDK of this engine"),
        "{text}"
    );
}

#[test]
fn a_plugin_that_aborts_on_panic_is_refused_with_the_fix() {
    let error = refusal("broken_aborts");
    assert!(matches!(error, LoadError::NoUnwind { .. }), "{error:?}");
    assert!(error.to_string().contains("panic = \"unwind\""), "{error}");
}

#[test]
fn a_library_that_is_no_plugin_is_refused_with_the_symbol() {
    let error = refusal("no_symbol");
    assert!(matches!(error, LoadError::NoSymbol { .. }), "{error:?}");
    assert!(error.to_string().contains("picomq_connector_source"), "{error}");
}

#[test]
fn what_is_missing_or_no_library_is_refused_by_name() {
    assert!(matches!(refusal("nowhere"), LoadError::NotFound { .. }));
    let text = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(text.path(), "no library").unwrap();
    assert!(matches!(Library::load(text.path()), Err(LoadError::Refused { .. })));
}

#[test]
fn every_fault_of_a_descriptor_is_named() {
    let faults = [
        ("broken_null", "could not describe itself"),
        ("broken_short", "8 bytes"),
        ("broken_no_functions", "no function table"),
        ("broken_no_poll", "no `open`"),
        ("broken_bad_name", "no name"),
        ("broken_bad_schema", "not JSON"),
    ];
    for (name, what) in faults {
        let error = refusal(name);
        assert!(matches!(error, LoadError::Broken { .. }), "{name}: {error:?}");
        assert!(error.to_string().contains(what), "{name}: {error}");
    }
}

#[test]
fn a_path_and_a_link_to_it_are_one_library() {
    let original = library("scripted");
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link.so");
    std::os::unix::fs::symlink(example("scripted"), &link).unwrap();
    assert!(Arc::ptr_eq(&original, &Library::load(&link).unwrap()));
}

#[tokio::test]
async fn a_file_replaced_on_disk_is_seen_by_the_next_process_only_b124() {
    let path = own_copy("scripted");
    let before = Library::load(&path).unwrap();
    let source = before.open(request("{}")).await.unwrap();

    // As an installer does it: the new build is moved over the old one.
    std::fs::rename(own_copy("other_allocator"), &path).unwrap();

    let after = Library::load(&path).unwrap();
    assert!(Arc::ptr_eq(&before, &after));
    assert_eq!(source.poll().await.unwrap().len(), 1);
    drop(source);
    assert_eq!(after.open(request("{}")).await.unwrap().poll().await.unwrap().len(), 1);
}

#[test]
fn a_plugin_exports_nothing_but_our_one_symbol_b121() {
    for name in ["scripted", "other_allocator", "broken_abi"] {
        conformance::check_exports(&example(name));
    }
}

#[test]
fn a_library_that_is_no_plugin_or_is_not_there_does_not_pass_for_one() {
    assert_eq!(conformance::exports(&example("no_symbol")), Ok(Vec::new()));
    let missing = conformance::exports(std::path::Path::new("/nowhere/libnothing.so")).unwrap_err();
    assert!(missing.contains("/nowhere/libnothing.so"), "{missing}");
}
