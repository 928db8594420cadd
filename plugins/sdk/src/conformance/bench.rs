//! One source on a bench: driven as the border does, in the test's own runtime and time, without a library.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

use crate::ffi::guest::config;
use crate::ffi::host::GuestBatch;
use crate::host::{HostSink, LogEvent};
use crate::report::Report;
use crate::turns::Turns;
use crate::{Batch, Error, Host, Interrupt, Limits, Mode, OpenContext, Source, State, Verdict};

/// `[limits] record_bytes` of an engine nobody configured.
const RECORD_BYTES: u64 = 1_000_000;

/// An open source for the tests of its author.
pub struct Bench<S> {
    source: S,
    asked: watch::Sender<bool>,
    turns: Turns,
    reports: Arc<Reports>,
}

/// What a bench opens its source with.
#[derive(Clone, Debug)]
pub struct Setting {
    /// `[plugin_config]`.
    pub config: Value,
    /// What the store would hold.
    pub state: Option<State>,
    /// To deliver or to look.
    pub mode: Mode,
    /// Where the source cuts its batches.
    pub limits: Limits,
}

impl Setting {
    /// The first opening, to deliver, with the limits of an engine nobody configured.
    pub fn new(config: Value) -> Setting {
        let limits = Limits { batch_records: 10_000, batch_bytes: 64 << 20 };
        Setting { config, state: None, mode: Mode::Run, limits }
    }

    /// An opening with this state.
    #[must_use]
    pub fn with_state(mut self, state: Option<State>) -> Setting {
        self.state = state;
        self
    }
}

impl<S: Source> Bench<S> {
    /// Reads the configuration and opens the source.
    ///
    /// # Errors
    /// What the engine would be told.
    pub async fn open(setting: Setting) -> Result<Bench<S>, Error> {
        let (asked, interrupt) = Interrupt::new();
        let (turns, reports) = (Turns::default(), Arc::new(Reports::default()));
        let context = OpenContext {
            key: "bench".to_owned(),
            state: setting.state,
            mode: setting.mode,
            limits: setting.limits,
            record_bytes: RECORD_BYTES,
            host: Host::new(Arc::clone(&reports) as Arc<dyn HostSink>),
            interrupt,
            turns: turns.clone(),
        };
        let source = S::open(config::read(&setting.config.to_string())?, context).await?;
        Ok(Bench { source, asked, turns, reports })
    }

    /// The source itself.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Polls once, and takes the batch as returned.
    ///
    /// # Errors
    /// Those of the poll.
    pub async fn poll(&self) -> Result<GuestBatch, Error> {
        self.returned(self.source.poll().await?)
    }

    /// Takes a batch of a poll that the caller ran by itself.
    ///
    /// # Errors
    /// When the batch was not written whole.
    pub fn returned(&self, batch: Batch) -> Result<GuestBatch, Error> {
        batch.check()?;
        self.turns.returned(&batch);
        Ok(GuestBatch::from_batch(batch))
    }

    /// Tells the verdict on the oldest batch without one.
    ///
    /// # Errors
    /// Those of the source, after which an engine would destroy it.
    pub async fn resolve(&self, verdict: Verdict) -> Result<(), Error> {
        let told = self.source.on_batch_result(verdict).await;
        self.turns.resolved(verdict);
        told
    }

    /// Asks the poll under way to end, or, with false, takes that back for the next.
    pub fn ask(&self, is_asked: bool) {
        self.asked.send_replace(is_asked);
    }

    /// The gauges and checks told so far.
    pub fn reports(&self) -> Vec<Report> {
        self.reports.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Default)]
struct Reports(Mutex<Vec<Report>>);

impl HostSink for Reports {
    /// Without the border a source logs to whatever subscriber the test has.
    fn log(&self, _: &LogEvent<'_>) {}

    fn report(&self, report: Report) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(report);
    }
}
