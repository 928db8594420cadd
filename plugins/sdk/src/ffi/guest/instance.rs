//! One open source and the calls on it. Safe code: what crosses is put together next door.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{RwLock, watch};
use tokio::time::sleep;

use super::openings::UnderWay;
use super::outcome::Outcome;
use super::panics::{Ended, caught, run};
use crate::ffi::abi::outcome;
use crate::ffi::{CLOSE_TIMEOUT, COMMAND_TIMEOUT, GRACE, STATE_BYTES_MAX};
use crate::turns::Turns;
use crate::{Batch, Error, Host, Limits, OpenContext, Source, Verdict};

/// A call under way.
pub(super) type Call = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// An instance of a source whose type is known to nobody any more.
pub(super) trait Dispatch: Send + Sync {
    fn host(&self) -> Host;
    fn begin_poll(&self);
    fn poll(self: Arc<Self>) -> Call;
    fn resolve(self: Arc<Self>, verdict: Verdict) -> Call;
    fn interrupt(&self);
    fn close(self: Arc<Self>) -> Call;
    fn destroy(self: Arc<Self>) -> Call;
    fn command(self: Arc<Self>, name: String, arguments: String) -> Call;
}

/// What the engine keeps between the calls on a source.
pub(super) struct Instance<S> {
    /// Each call reads it; close and destroy write, so they wait for every call under way.
    source: RwLock<Option<S>>,
    poll: PollFlag,
    host: Host,
    /// Set once: what still runs has [`GRACE`] left.
    ending: watch::Sender<bool>,
    turns: Turns,
    limits: Limits,
    verdict_timeout: Duration,
    /// After a panic nothing but destroy is called.
    is_suspect: AtomicBool,
}

/// Whether a poll is outstanding, and whether it was asked to end.
struct PollFlag {
    is_outstanding: Mutex<bool>,
    asked: watch::Sender<bool>,
}

impl PollFlag {
    fn set_outstanding(&self, now: bool) {
        let mut is_outstanding = self.is_outstanding.lock().unwrap_or_else(PoisonError::into_inner);
        *is_outstanding = now;
        self.asked.send_replace(false);
    }

    /// Sticky until the poll completes; without effect when there is none.
    fn ask(&self) {
        let is_outstanding = self.is_outstanding.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_outstanding {
            self.asked.send_replace(true);
        }
    }
}

/// What `open` needs besides the configuration.
pub(super) struct Opening {
    pub(super) context: OpenContext,
    pub(super) asked: watch::Sender<bool>,
    pub(super) open_timeout: Duration,
    pub(super) verdict_timeout: Duration,
}

impl<S: Source> Instance<S> {
    /// Reads the configuration and opens the source. The failure is ready to be told.
    pub(super) async fn open(
        config: &str,
        opening: Opening,
        mut under_way: UnderWay,
    ) -> Result<Instance<S>, Outcome> {
        let Opening { context, asked, open_timeout, verdict_timeout } = opening;
        let (turns, limits, host) = (context.turns.clone(), context.limits, context.host.clone());
        let config = caught(|| super::config::read::<S::Config>(config)).map_err(Outcome::panicked)??;
        let late = Outcome::Failed(outcome::TIMED_OUT, format!("not open after {open_timeout:?}"));
        let unwanted = Outcome::Failed(outcome::INTERRUPTED, "the opening was called off".to_owned());
        let mut why = late;
        let until = async {
            tokio::select! {
                () = sleep(open_timeout) => {}
                () = under_way.called_off() => why = unwanted,
            }
        };
        let source = match run(S::open(config, context), until).await {
            Ended::Returned(answer) => answer?,
            Ended::Panicked(text) => return Err(Outcome::panicked(text)),
            Ended::Dropped => return Err(why),
        };
        Ok(Instance {
            source: RwLock::new(Some(source)),
            poll: PollFlag { is_outstanding: Mutex::new(false), asked },
            host,
            ending: watch::Sender::new(false),
            turns,
            limits,
            verdict_timeout,
            is_suspect: AtomicBool::new(false),
        })
    }

    async fn polled(&self) -> Outcome {
        let source = self.source.read().await;
        // Destroyed before this task had its first turn: that is an interrupt too.
        let Some(source) = self.usable(source.as_ref()) else { return Error::Interrupted.into() };
        let mut asked = self.poll.asked.subscribe();
        let until = async move {
            let _ = asked.wait_for(|asked| *asked).await;
            sleep(GRACE).await;
        };
        match run(source.poll(), until).await {
            Ended::Returned(Ok(batch)) => self.accept(batch),
            Ended::Returned(Err(error)) => error.into(),
            Ended::Panicked(text) => self.suspect(text),
            Ended::Dropped => Error::Interrupted.into(),
        }
    }

    /// A batch that is not handed over was not returned: its candidate is never promoted and no verdict comes.
    fn accept(&self, batch: Batch) -> Outcome {
        if let Err(error) = batch.check() {
            return error.into();
        }
        let Limits { batch_records, batch_bytes } = self.limits;
        let (records, bytes) = (batch.len() as u64, batch.bytes() as u64);
        if records > u64::from(batch_records) || bytes > batch_bytes {
            let text = format!(
                "a batch of {records} records and {bytes} bytes is beyond the limits of {batch_records} records \
                 and {batch_bytes} bytes ([limits] batch_records, batch_bytes)"
            );
            return Outcome::Failed(outcome::LIMIT, text);
        }
        let state_bytes = batch.state().map_or(0, |state| state.as_bytes().len());
        if state_bytes > STATE_BYTES_MAX {
            let text = format!("a state of {state_bytes} bytes is beyond the limit of {STATE_BYTES_MAX}");
            return Outcome::Failed(outcome::LIMIT, text);
        }
        self.turns.returned(&batch);
        Outcome::Batch(batch)
    }

    async fn resolved(&self, verdict: Verdict) -> Outcome {
        let source = self.source.read().await;
        let Some(source) = self.usable(source.as_ref()) else { return gone() };
        let ended = run(source.on_batch_result(verdict), self.limit(self.verdict_timeout)).await;
        self.turns.resolved(verdict);
        match ended {
            Ended::Returned(Ok(())) => Outcome::Done,
            Ended::Returned(Err(error)) => error.into(),
            Ended::Panicked(text) => self.suspect(text),
            Ended::Dropped => {
                let text = format!("no answer to {verdict} after {:?}", self.verdict_timeout);
                Outcome::Failed(outcome::TIMED_OUT, text)
            }
        }
    }

    async fn closed(&self) -> Outcome {
        self.end();
        let source = self.source.write().await;
        let Some(source) = self.usable(source.as_ref()) else { return gone() };
        match run(source.close(), sleep(CLOSE_TIMEOUT)).await {
            Ended::Returned(()) => Outcome::Done,
            Ended::Panicked(text) => self.suspect(text),
            Ended::Dropped => {
                Outcome::Failed(outcome::TIMED_OUT, format!("not closed after {CLOSE_TIMEOUT:?}"))
            }
        }
    }

    async fn destroyed(&self) -> Outcome {
        self.end();
        let source = self.source.write().await.take();
        match caught(|| drop(source)) {
            Ok(()) => Outcome::Done,
            Err(text) => Outcome::panicked(text),
        }
    }

    async fn commanded(&self, name: String, arguments: String) -> Outcome {
        let source = self.source.read().await;
        let Some(source) = self.usable(source.as_ref()) else { return gone() };
        let arguments = match serde_json::from_str(&arguments) {
            Ok(arguments) => arguments,
            Err(error) => return Error::config("the arguments are not JSON").with_cause(error).into(),
        };
        match run(source.command(&name, arguments), self.limit(COMMAND_TIMEOUT)).await {
            Ended::Returned(Ok(Some(answer))) => Outcome::Json(answer.to_string()),
            Ended::Returned(Ok(None)) => {
                Outcome::Failed(outcome::UNKNOWN, format!("source {} has no command `{name}`", S::NAME))
            }
            Ended::Returned(Err(error)) => error.into(),
            Ended::Panicked(text) => self.suspect(text),
            Ended::Dropped => Outcome::Failed(
                outcome::TIMED_OUT,
                format!("no answer to `{name}` after {COMMAND_TIMEOUT:?}"),
            ),
        }
    }

    fn usable<'a>(&self, source: Option<&'a S>) -> Option<&'a S> {
        source.filter(|_| !self.is_suspect.load(Ordering::Acquire))
    }

    fn suspect(&self, text: String) -> Outcome {
        self.is_suspect.store(true, Ordering::Release);
        Outcome::panicked(text)
    }

    /// What still runs is asked to end, and dropped after [`GRACE`].
    fn end(&self) {
        self.ending.send_replace(true);
        self.poll.ask();
    }

    /// `timeout`, or [`GRACE`] after the end of the instance began.
    async fn limit(&self, timeout: Duration) {
        let mut ending = self.ending.subscribe();
        let ended = async {
            let _ = ending.wait_for(|ending| *ending).await;
            sleep(GRACE).await;
        };
        tokio::select! {
            () = sleep(timeout) => {}
            () = ended => {}
        }
    }
}

impl<S: Source> Dispatch for Instance<S> {
    fn host(&self) -> Host {
        self.host.clone()
    }

    fn begin_poll(&self) {
        self.poll.set_outstanding(true);
    }

    fn poll(self: Arc<Self>) -> Call {
        Box::pin(async move {
            let outcome = self.polled().await;
            self.poll.set_outstanding(false);
            outcome
        })
    }

    fn resolve(self: Arc<Self>, verdict: Verdict) -> Call {
        Box::pin(async move { self.resolved(verdict).await })
    }

    fn interrupt(&self) {
        self.poll.ask();
    }

    fn close(self: Arc<Self>) -> Call {
        Box::pin(async move { self.closed().await })
    }

    fn destroy(self: Arc<Self>) -> Call {
        Box::pin(async move { self.destroyed().await })
    }

    fn command(self: Arc<Self>, name: String, arguments: String) -> Call {
        Box::pin(async move { self.commanded(name, arguments).await })
    }
}

fn gone() -> Outcome {
    Outcome::Failed(outcome::UNKNOWN, "the instance is gone".to_owned())
}

#[cfg(test)]
mod tests;
