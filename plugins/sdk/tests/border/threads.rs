//! How many threads the sources of a library need: counted in a process of its own, where no other test has threads.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use picomq_connector_sdk::ffi::host::Instance;

use crate::support::{library, request};

const ALONE: &str = "PICO_SDK_TEST_ALONE";

#[test]
fn a_hundred_idle_sources_of_a_library_have_two_threads() {
    if std::env::var_os(ALONE).is_none() {
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone
            .args(["--exact", "threads::a_hundred_idle_sources_of_a_library_have_two_threads"])
            .env(ALONE, "1");
        let output = alone.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let library = library("scripted");
        let mut sources: Vec<(Instance, _)> = Vec::new();
        for _ in 0..100 {
            let source = library.open(request(r#"{"poll": ["sleep"]}"#)).await.unwrap();
            let poll = source.poll();
            sources.push((source, poll));
        }
        // A thread bears its name a moment after it was started.
        let soon = Instant::now() + Duration::from_secs(10);
        while workers() < 2 && Instant::now() < soon {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(workers(), 2);
    });
}

/// The threads of this process that are named as workers of the example.
fn workers() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux has it");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("source-scripte")).count()
}
