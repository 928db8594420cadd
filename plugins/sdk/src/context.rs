//! What a source is given when it is opened.

use std::time::Duration;

use tokio::sync::watch;

use crate::turns::Turns;
use crate::{Error, Host, State};

/// What an instance is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// To deliver.
    Run,
    /// To look: nothing upstream is created, dropped, advanced or owed, not even what the state says is owed.
    Inspect,
}

/// What a batch may hold. A larger one is not handed over: its poll fails as a permanent error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most records.
    pub batch_records: u32,
    /// Most bytes: payloads, keys, headers and ids together.
    pub batch_bytes: u64,
}

/// What a source is given when it is opened.
#[derive(Debug)]
pub struct OpenContext {
    /// The key of the definition.
    pub key: String,
    /// What the last acknowledged batch made true; `None` at the very first opening. Do not read it by hand:
    /// [`Staged::open`](crate::Staged::open) does.
    pub state: Option<State>,
    /// What for.
    pub mode: Mode,
    /// Where to cut a batch.
    pub limits: Limits,
    /// The largest record that can be delivered: payload, key and headers together, those that the definition adds
    /// included. A larger one fails its whole batch, so what can refuse it upstream does.
    pub record_bytes: u64,
    /// Logs, gauges and checks.
    pub host: Host,
    /// Tells when the poll should end.
    pub interrupt: Interrupt,
    pub(crate) turns: Turns,
}

/// Tells a source that the engine wants its outstanding poll to end, for a pause, a stop or a rewind.
///
/// The poll should then return soon, with what it has or with [`Error::Interrupted`]. Five seconds later its
/// future is dropped at whatever await it stands.
#[derive(Clone, Debug)]
pub struct Interrupt {
    asked: watch::Receiver<bool>,
}

impl Interrupt {
    pub(crate) fn new() -> (watch::Sender<bool>, Interrupt) {
        let (sender, asked) = watch::channel(false);
        (sender, Interrupt { asked })
    }

    /// Whether the poll should end now.
    pub fn is_asked(&self) -> bool {
        *self.asked.borrow()
    }

    /// Returns when the poll should end; at once when it was asked before.
    pub async fn asked(&self) {
        let mut asked = self.asked.clone();
        if asked.wait_for(|asked| *asked).await.is_err() {
            // The instance is gone, and with it everybody who could ask.
            std::future::pending::<()>().await;
        }
    }

    /// Sleeps `wait`, for the pace of a source.
    ///
    /// # Errors
    /// [`Error::Interrupted`] as soon as the poll should end; `?` hands it on.
    pub async fn sleep(&self, wait: Duration) -> Result<(), Error> {
        // A timer of zero still rounds up to a millisecond.
        if wait.is_zero() {
            return if self.is_asked() { Err(Error::Interrupted) } else { Ok(()) };
        }
        self.race(tokio::time::sleep(wait)).await
    }

    /// Runs `work` unless the poll should end first; `work` is then dropped where it stands.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when it was dropped.
    pub async fn race<F: Future>(&self, work: F) -> Result<F::Output, Error> {
        tokio::select! {
            biased;
            () = self.asked() => Err(Error::Interrupted),
            answer = work => Ok(answer),
        }
    }
}
