//! How many threads the sources of a library need.

use std::fs;

use picomq_connector_sdk::ffi::host::Instance;

use crate::support::{own_library, request};

#[tokio::test]
async fn a_hundred_idle_sources_of_a_library_have_two_threads() {
    let library = own_library("scripted");
    let before = workers();
    let mut sources: Vec<(Instance, _)> = Vec::new();
    for _ in 0..100 {
        let source = library.open(request(r#"{"poll": ["sleep"]}"#)).await.unwrap();
        let poll = source.poll();
        sources.push((source, poll));
    }
    // Other tests load libraries of their own meanwhile, two threads each; a hundred would stand out.
    let added = workers() - before;
    assert!((2..=30).contains(&added), "{added} threads were added");
}

/// The threads of this process that are named as workers of the example.
fn workers() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux has it");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("source-scripte")).count()
}
