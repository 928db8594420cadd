//! Loading the examples and opening sources of them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use picomq_connector_sdk::ffi::host::{
    HostSink, Instance, Library, Limits, LogEvent, Mode, OpenError, OpenRequest, Report,
};

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

/// Remembers what a source said.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) logs: Mutex<Vec<String>>,
    pub(crate) reports: Mutex<Vec<Report>>,
}

impl HostSink for Said {
    fn log(&self, event: &LogEvent<'_>) {
        let line = format!("{} {} {} {:?}", event.level, event.target, event.message, event.fields);
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
        open_timeout: Duration::from_millis(200),
        verdict_timeout: Duration::from_millis(200),
        host: Arc::new(Said::default()),
    }
}

/// An instance of the example `scripted`.
pub(crate) async fn scripted(config: &str) -> Result<Instance, OpenError> {
    library("scripted").open(request(config)).await
}
