//! The plugin's door: one source's instances of one library, over the SDK's border.
//!
//! I4 is kept here, whoever asks: an opening waits until the former instance of this source was destroyed, and
//! fails when that one was leaked.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pico_config::{Definition, Limits};
use picomq_connector_sdk::Verdict;
use picomq_connector_sdk::ffi::host::{
    Check, CheckStatus, CommandError, Gauge, HostSink, Instance, Library, LogEvent, Mode, OpenError,
    OpenRequest, PollError, Report, ResolveError, emit,
};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use crate::cause::{Cause, OpenFailure, OpenKind};
use crate::command::AskError;
use crate::ports::{BoxFuture, CallFailure, CheckSink, PluginFactory, PluginPort, PollOutcome, Told};
use crate::telemetry;

/// A request to open an instance of a definition's plugin on `state`, which tells `host` what it has to say.
pub fn request(
    definition: &Definition,
    limits: &Limits,
    mode: Mode,
    state: Option<Vec<u8>>,
    host: Arc<dyn HostSink>,
) -> OpenRequest {
    OpenRequest {
        key: definition.key.as_str().to_owned(),
        config_json: definition.plugin_config.expose_json().to_owned(),
        state,
        mode,
        limits: picomq_connector_sdk::Limits {
            batch_records: limits.batch_records,
            batch_bytes: limits.batch_bytes,
        },
        record_bytes: limits.record_bytes,
        open_timeout: definition.supervision.open_timeout,
        verdict_timeout: definition.supervision.verdict_timeout,
        host,
    }
}

/// Opens instances of the library a definition names.
pub struct LibraryPlugin {
    shared: Arc<Shared>,
}

struct Shared {
    definition: Arc<Definition>,
    library: PathBuf,
    limits: Limits,
    /// One permit: held by the one live instance.
    place: Arc<Semaphore>,
    is_leaked: AtomicBool,
}

impl LibraryPlugin {
    /// `library` was found by the rules of `path`; it is loaded with the first opening.
    pub fn new(definition: Arc<Definition>, library: PathBuf, limits: Limits) -> LibraryPlugin {
        let place = Arc::new(Semaphore::new(1));
        let is_leaked = AtomicBool::new(false);
        LibraryPlugin { shared: Arc::new(Shared { definition, library, limits, place, is_leaked }) }
    }
}

impl PluginFactory for LibraryPlugin {
    fn open(
        &self,
        state: Option<Vec<u8>>,
        checks: CheckSink,
    ) -> BoxFuture<Result<Arc<dyn PluginPort>, OpenFailure>> {
        let shared = self.shared.clone();
        // A task of its own: the place is given back only by an instance that is gone, also when nobody waits for
        // the opening any more.
        let opening = tokio::spawn(async move { shared.open(state, checks).await });
        Box::pin(async move {
            match opening.await {
                Ok(opened) => opened.map(|port| Arc::new(port) as Arc<dyn PluginPort>),
                Err(panic) => Err(failure(OpenKind::Panicked, "plugin.open", panic.to_string())),
            }
        })
    }
}

impl Shared {
    async fn open(
        self: Arc<Shared>,
        state: Option<Vec<u8>>,
        checks: CheckSink,
    ) -> Result<LibraryPort, OpenFailure> {
        let place = self.take_place().await?;
        let path = self.library.clone();
        let library = match tokio::task::spawn_blocking(move || Library::load(&path)).await {
            Ok(Ok(library)) => library,
            Ok(Err(error)) => {
                return Err(failure(OpenKind::Config, "plugin.not_loaded", with_sources(&error)));
            }
            Err(panic) => return Err(failure(OpenKind::Panicked, "plugin.not_loaded", panic.to_string())),
        };
        let is_pipelined = library.info().capabilities.pipelined;
        match library.open(self.request(state, checks)).await {
            Ok(instance) => Ok(LibraryPort {
                instance,
                is_pipelined,
                shared: self,
                place: Arc::new(Mutex::new(Some(place))),
            }),
            Err(error) => {
                if matches!(error, OpenError::Hung(_)) {
                    self.is_leaked.store(true, Ordering::Release);
                }
                Err(open_failure(error))
            }
        }
    }

    async fn take_place(&self) -> Result<OwnedSemaphorePermit, OpenFailure> {
        let leaked = || {
            let text = "a former instance of this source hangs inside its plugin; restart the engine to run it again";
            failure(OpenKind::Hung, "plugin.hung", text.to_owned())
        };
        if self.is_leaked.load(Ordering::Acquire) {
            return Err(leaked());
        }
        self.place.clone().acquire_owned().await.map_err(|_| leaked())
    }

    fn request(&self, state: Option<Vec<u8>>, checks: CheckSink) -> OpenRequest {
        let host = Arc::new(SourceSink { key: self.definition.key.as_str().to_owned(), checks });
        request(&self.definition, &self.limits, Mode::Run, state, host)
    }

    /// The instance is gone: its place is free, unless it was leaked, which closes the place for good.
    fn give_place_back(&self, place: Option<OwnedSemaphorePermit>, is_leaked: bool) {
        if is_leaked {
            self.is_leaked.store(true, Ordering::Release);
            self.place.close();
        }
        drop(place);
    }
}

/// One live instance.
struct LibraryPort {
    instance: Instance,
    is_pipelined: bool,
    shared: Arc<Shared>,
    place: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl PluginPort for LibraryPort {
    fn is_pipelined(&self) -> bool {
        self.is_pipelined
    }

    fn poll(&self) -> BoxFuture<PollOutcome> {
        let poll = self.instance.poll();
        Box::pin(async move { poll_outcome(poll.await) })
    }

    fn resolve(&self, verdict: Verdict) -> BoxFuture<Result<(), CallFailure>> {
        let resolve = self.instance.resolve(verdict);
        Box::pin(async move { resolve.await.map_err(|error| CallFailure { cause: resolve_cause(&error) }) })
    }

    fn interrupt(&self) {
        self.instance.interrupt();
    }

    fn command(&self, name: &str, arguments_json: &str) -> BoxFuture<Result<String, AskError>> {
        let command = self.instance.command(name, arguments_json);
        Box::pin(async move {
            command.await.map_err(|error| match error {
                CommandError::Unknown(text) => AskError::Unknown(text),
                CommandError::Failed(text) | CommandError::Panicked(text) => AskError::Failed(text),
            })
        })
    }

    fn end(&self, is_orderly: bool) -> BoxFuture<bool> {
        let (instance, shared, place) = (self.instance.clone(), self.shared.clone(), self.place.clone());
        Box::pin(async move {
            let closed = if is_orderly { instance.close().await } else { instance.destroy().await };
            shared.give_place_back(place.lock().await.take(), closed.leaked);
            closed.leaked
        })
    }
}

impl Drop for LibraryPort {
    /// Not reached after `end`, which takes the place: only when a supervisor died with its instance.
    fn drop(&mut self) {
        let Ok(mut place) = self.place.try_lock() else { return };
        let Some(place) = place.take() else { return };
        let (instance, shared) = (self.instance.clone(), self.shared.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let is_leaked = instance.destroy().await.leaked;
                shared.give_place_back(Some(place), is_leaked);
            });
        }
    }
}

fn poll_outcome(polled: Result<picomq_connector_sdk::ffi::host::GuestBatch, PollError>) -> PollOutcome {
    let failed =
        |is_permanent, text| PollOutcome::Failed { is_permanent, cause: Cause::new("plugin.poll", text) };
    match polled {
        Ok(batch) => PollOutcome::Batch(batch),
        Err(PollError::Interrupted) => PollOutcome::Ended,
        Err(PollError::Transient(text)) => failed(false, text),
        Err(PollError::Permanent(text) | PollError::Limit(text)) => failed(true, text),
        Err(PollError::Panicked(text)) => PollOutcome::Broken(Cause::new("plugin.panicked", text)),
        Err(PollError::Hung(text)) => PollOutcome::Broken(Cause::new("plugin.hung", text)),
    }
}

fn resolve_cause(error: &ResolveError) -> Cause {
    let code = match error {
        ResolveError::Failed(_) => "plugin.verdict_refused",
        ResolveError::TimedOut(_) => "plugin.verdict_timeout",
        ResolveError::Panicked(_) => "plugin.panicked",
        ResolveError::Hung(_) => "plugin.hung",
    };
    Cause::new(code, error.to_string())
}

fn open_failure(error: OpenError) -> OpenFailure {
    match error {
        OpenError::Config(text) => failure(OpenKind::Config, "plugin.config", text),
        OpenError::State(text) => failure(OpenKind::State, "plugin.state", text),
        OpenError::Permanent(text) => failure(OpenKind::Permanent, "plugin.open", text),
        OpenError::Transient(text) => failure(OpenKind::Passing, "plugin.open", text),
        OpenError::Panicked(text) => failure(OpenKind::Panicked, "plugin.panicked", text),
        OpenError::Hung(text) => failure(OpenKind::Hung, "plugin.hung", text),
    }
}

fn failure(kind: OpenKind, code: &'static str, message: String) -> OpenFailure {
    OpenFailure { kind, cause: Cause { code, message } }
}

/// The chain of an error in one line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Logs and reports of one source.
struct SourceSink {
    key: String,
    checks: CheckSink,
}

impl HostSink for SourceSink {
    fn log(&self, event: &LogEvent<'_>) {
        emit(Some(&self.key), event);
    }

    fn report(&self, report: Report) {
        match report {
            Report::Gauge { gauge, value } => {
                let (name, told) = match gauge {
                    Gauge::LagSeconds => (telemetry::SOURCE_LAG_SECONDS, Told::LagSeconds(value)),
                    Gauge::LagBytes => (telemetry::SOURCE_LAG_BYTES, Told::LagBytes(value)),
                };
                metrics::gauge!(name, telemetry::labels(&self.key)).set(value);
                (self.checks)(told);
            }
            Report::Check(check) => (self.checks)(Told::Check(shown(check))),
        }
    }
}

fn shown(check: Check) -> crate::status::Check {
    let status = match check.status {
        CheckStatus::Ok => "ok",
        CheckStatus::Warn => "warning",
        CheckStatus::Fail => "error",
    };
    let since = check.since_ms.and_then(|ms| u64::try_from(ms).ok());
    crate::status::Check { name: check.name, status, since, advice: check.advice }
}
