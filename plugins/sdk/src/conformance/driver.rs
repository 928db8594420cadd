//! A source on a bench together with the batches that have no verdict yet, as the rules look at them.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::timeout;

use super::bench::{Bench, Setting};
use super::subject::Subject;
use crate::{Batch, Error, Mode, Source, State, Verdict};

/// What any call may take before the kit calls it hung.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Polls without a record before the kit believes that nothing comes.
const EMPTY_POLLS_MAX: usize = 100;

/// An open source and the batches of it that have no verdict yet.
pub(super) struct Driven<'a, S: Subject> {
    subject: &'a S,
    pub(super) bench: Bench<S::Source>,
    window: VecDeque<Polled>,
}

/// A batch, as far as the rules look at it.
#[derive(Clone, Debug)]
pub(super) struct Polled {
    pub(super) identities: Vec<String>,
    pub(super) state: Option<State>,
}

impl<'a, S: Subject> Driven<'a, S> {
    /// Opens the source with `state`, keeping the kind of error.
    pub(super) async fn try_open(
        subject: &'a S,
        state: Option<State>,
        mode: Mode,
    ) -> Result<Driven<'a, S>, Error> {
        let setting = Setting { state, mode, limits: subject.limits(), config: subject.config() };
        let opened = timeout(PATIENCE, Bench::open(setting)).await;
        let bench = opened.map_err(|_| Error::transient(format!("open hangs for {PATIENCE:?}")))??;
        Ok(Driven { subject, bench, window: VecDeque::new() })
    }

    /// Opens the source to run with `state`; any error breaks the rule.
    pub(super) async fn open(subject: &'a S, state: Option<State>) -> Result<Driven<'a, S>, String> {
        let opened = Driven::try_open(subject, state, Mode::Run).await;
        opened.map_err(|error| format!("it does not open: {}", error.chain()))
    }

    /// The source itself.
    pub(super) fn source(&self) -> &S::Source {
        self.bench.source()
    }

    /// Polls once.
    pub(super) async fn poll(&mut self) -> Result<Polled, Error> {
        let polled = timeout(PATIENCE, self.source().poll()).await;
        let batch = polled.map_err(|_| Error::transient(format!("a poll hangs for {PATIENCE:?}")))??;
        self.returned(batch)
    }

    /// Takes a batch that a poll returned into the window.
    pub(super) fn returned(&mut self, batch: Batch) -> Result<Polled, Error> {
        let state = batch.state().cloned();
        let table = self.bench.returned(batch)?;
        let identities = table.records().map(|record| self.subject.identity(&record)).collect();
        let polled = Polled { identities, state };
        self.window.push_back(polled.clone());
        Ok(polled)
    }

    /// Polls until a batch with records comes. Batches without are acknowledged when it is their turn.
    pub(super) async fn records(&mut self) -> Result<Polled, String> {
        for _ in 0..EMPTY_POLLS_MAX {
            let polled = self.poll().await.map_err(|error| format!("a poll fails: {}", error.chain()))?;
            if !polled.identities.is_empty() {
                return Ok(polled);
            }
            if self.window.len() == 1 {
                self.resolve(Verdict::Ack).await?;
            }
        }
        Err(format!("{EMPTY_POLLS_MAX} polls brought no record, though there are more"))
    }

    /// Acknowledges up to and with the oldest batch that has records.
    pub(super) async fn ack(&mut self) -> Result<(), String> {
        while let Some(oldest) = self.window.front() {
            let has_records = !oldest.identities.is_empty();
            self.resolve(Verdict::Ack).await?;
            if has_records {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Refuses the oldest batch, and with it every later one.
    pub(super) async fn nack(&mut self) -> Result<(), String> {
        self.resolve(Verdict::Nack).await
    }

    /// Begins a poll, acknowledges the oldest batch while that poll stands at its first await, then lets it end.
    pub(super) async fn poll_around_an_ack(&mut self) -> Result<Polled, String> {
        let ended = {
            let mut poll = pin!(self.source().poll());
            let ended = until(poll.as_mut(), 1).await;
            self.tell(Verdict::Ack).await?;
            match ended {
                Some(ended) => ended,
                None => poll.await,
            }
        };
        self.window.pop_front();
        let batch = ended.map_err(|error| format!("a poll fails: {}", error.chain()))?;
        self.returned(batch).map_err(|error| error.chain())
    }

    /// The author's close, which must end.
    pub(super) async fn close(self) -> Result<(), String> {
        timeout(PATIENCE, self.source().close()).await.map_err(|_| format!("close hangs for {PATIENCE:?}"))
    }

    async fn resolve(&mut self, verdict: Verdict) -> Result<(), String> {
        let told = self.tell(verdict).await;
        match verdict {
            Verdict::Ack => drop(self.window.pop_front()),
            Verdict::Nack => self.window.clear(),
        }
        told
    }

    /// Tells a verdict; the window is left to the caller, since a poll may be under way.
    async fn tell(&self, verdict: Verdict) -> Result<(), String> {
        match timeout(PATIENCE, self.bench.resolve(verdict)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("it refuses {verdict}: {}", error.chain())),
            Err(_) => Err(format!("on_batch_result({verdict}) hangs for {PATIENCE:?}")),
        }
    }
}

/// Compares identities with the part of `expected` that begins at `first`.
pub(super) fn continues(expected: &[String], first: usize, found: &[String]) -> Result<usize, String> {
    let end = first + found.len();
    match expected.get(first..end) {
        Some(part) if part == found => Ok(end),
        Some(part) => Err(format!("right is {part:?}, it returned {found:?}")),
        None => Err(format!("it returned {found:?}, which is more than there is")),
    }
}

/// Runs `call` until it was pending so many times; `None` when it is pending still.
pub(super) async fn until<F: Future>(mut call: Pin<&mut F>, awaits: usize) -> Option<F::Output> {
    let mut seen = 0;
    poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending => {
            seen += 1;
            if seen == awaits { Poll::Ready(None) } else { Poll::Pending }
        }
    })
    .await
}
