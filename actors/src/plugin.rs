//! The plugin's door: one source's instances of one library, over the SDK's border.
//!
//! I4 is kept here, whoever asks and whatever definition the source has by then: an opening waits until the former
//! instance of this source was destroyed, and fails when that one was leaked.

use std::sync::Arc;

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

/// Where the one live instance of a source is. Every definition that the source has in its life shares it.
#[derive(Clone, Debug)]
pub struct Place {
    /// One permit, held from the beginning of an opening until its instance is gone. Closed for good once one leaked.
    permit: Arc<Semaphore>,
}

impl Default for Place {
    /// Nobody is in it.
    fn default() -> Place {
        Place { permit: Arc::new(Semaphore::new(1)) }
    }
}

impl Place {
    async fn take(&self) -> Result<OwnedSemaphorePermit, OpenFailure> {
        self.permit.clone().acquire_owned().await.map_err(|_closed| {
            let text = "a former instance of this source hangs inside its plugin; restart the engine to run it again";
            failure(OpenKind::Hung, "plugin.hung", text.to_owned())
        })
    }

    /// The instance never ends: no other one follows it in this process.
    fn close(&self) {
        self.permit.close();
    }
}

/// Opens instances of the library a definition names.
pub struct LibraryPlugin {
    shared: Arc<Shared>,
}

struct Shared {
    definition: Arc<Definition>,
    library: Arc<Library>,
    limits: Limits,
    place: Place,
}

impl LibraryPlugin {
    /// `definition` was fitted to `library`.
    pub fn new(
        definition: Arc<Definition>,
        library: Arc<Library>,
        limits: Limits,
        place: Place,
    ) -> LibraryPlugin {
        LibraryPlugin { shared: Arc::new(Shared { definition, library, limits, place }) }
    }
}

impl PluginFactory for LibraryPlugin {
    fn open(
        &self,
        state: Option<Vec<u8>>,
        checks: CheckSink,
        unwanted: BoxFuture<()>,
    ) -> BoxFuture<Result<Arc<dyn PluginPort>, OpenFailure>> {
        let shared = self.shared.clone();
        // A task of its own: the place is given back only by an instance that is gone, also when nobody waits for
        // the opening any more. The plugin is told that then, so that the next opening does not wait for its timeout.
        let opening = tokio::spawn(async move { shared.open(state, checks, unwanted).await });
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
        mut unwanted: BoxFuture<()>,
    ) -> Result<LibraryPort, OpenFailure> {
        let place = tokio::select! {
            place = self.place.take() => place?,
            () = &mut unwanted => {
                let text = "the opening was called off".to_owned();
                return Err(failure(OpenKind::Passing, "source.open_cancelled", text));
            }
        };
        match self.library.open_until(self.request(state, checks), unwanted).await {
            Ok(instance) => Ok(LibraryPort {
                instance,
                is_pipelined: self.library.info().capabilities.pipelined,
                shared: self,
                place: Arc::new(Mutex::new(Some(place))),
            }),
            Err(error) => {
                if matches!(error, OpenError::Hung(_)) {
                    self.place.close();
                }
                Err(open_failure(error))
            }
        }
    }

    fn request(&self, state: Option<Vec<u8>>, checks: CheckSink) -> OpenRequest {
        let host = Arc::new(SourceSink { key: self.definition.key.as_str().to_owned(), checks });
        request(&self.definition, &self.limits, Mode::Run, state, host)
    }

    /// The instance is gone: its place is free, unless it was leaked, which closes the place for good.
    fn give_place_back(&self, place: Option<OwnedSemaphorePermit>, is_leaked: bool) {
        if is_leaked {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_for_a_place_gets_none_once_the_instance_in_it_leaked() {
        let place = Place::default();
        let held = place.take().await.unwrap();
        let other = place.clone();
        let waiting = tokio::spawn(async move { other.take().await.map(drop) });
        tokio::task::yield_now().await;

        place.close();
        drop(held);

        assert_eq!(waiting.await.unwrap().unwrap_err().kind, OpenKind::Hung);
    }
}
