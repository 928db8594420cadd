//! Loading the examples and opening sources of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use picomq_connector_sdk::ffi::host::{
    GuestBatch, HostSink, Instance, Library, Limits, LogEvent, Mode, OpenError, OpenRequest, Report,
};
use tempfile::TempDir;

/// Where cargo puts an example built as a cdylib.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("tests lie in PROFILE/deps");
    profile.join("examples").join(format!(
        "{}{name}{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ))
}

/// The library of an example.
pub(crate) fn library(name: &str) -> Arc<Library> {
    Library::load(&example(name)).expect("the example was built with this test")
}

/// The library of an example under a path of its own: it has its own runtime, so what hangs in it disturbs no other
/// test.
pub(crate) fn own_library(name: &str) -> Arc<Library> {
    let path = own_copy(name);
    Library::load(&path).expect("a copy loads like the original")
}

/// A copy of an example that is nobody else's.
pub(crate) fn own_copy(name: &str) -> PathBuf {
    static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a temporary folder"));
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = FOLDER.path().join(format!("{name}_{number}{}", std::env::consts::DLL_SUFFIX));
    std::fs::copy(example(name), &path).expect("the example was built with this test");
    path
}

/// Remembers what a source said.
#[derive(Default)]
pub(crate) struct Said {
    logs: Mutex<Vec<String>>,
    reports: Mutex<Vec<Report>>,
}

impl Said {
    pub(crate) fn logs(&self) -> Vec<String> {
        self.logs.lock().expect("nothing panics under it").clone()
    }

    pub(crate) fn reports(&self) -> Vec<Report> {
        self.reports.lock().expect("nothing panics under it").clone()
    }
}

impl HostSink for Said {
    fn log(&self, event: &LogEvent<'_>) {
        let fields: String = event.fields.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        let line = format!("{} {}: {}{fields}", event.level, event.target, event.message);
        self.logs.lock().expect("nothing panics under it").push(line);
    }

    fn report(&self, report: Report) {
        self.reports.lock().expect("nothing panics under it").push(report);
    }
}

/// A request with short timeouts.
pub(crate) fn request(config: &str) -> OpenRequest {
    OpenRequest {
        key: "test".to_owned(),
        config_json: config.to_owned(),
        state: None,
        mode: Mode::Run,
        limits: Limits { batch_records: 10_000, batch_bytes: 1 << 20 },
        record_bytes: 1_000_000,
        open_timeout: Duration::from_millis(300),
        verdict_timeout: Duration::from_millis(300),
        host: Arc::new(Said::default()),
    }
}

/// An instance of the example `scripted`.
pub(crate) async fn scripted(config: &str) -> Result<Instance, OpenError> {
    library("scripted").open(request(config)).await
}

/// The number in the first record of a batch of `scripted`.
pub(crate) fn first(batch: &GuestBatch) -> u64 {
    let payload = batch.record(0).payload.expect("no tombstones");
    str::from_utf8(payload).expect("text").trim().parse().expect("a number")
}

/// Waits until `path` has so many lines.
pub(crate) fn wait_for_lines(path: &Path, lines: usize) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.lines().count() >= lines {
            return;
        }
        assert!(Instant::now() < deadline, "{} has {} lines", path.display(), text.lines().count());
        std::thread::yield_now();
    }
}
