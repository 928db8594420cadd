//! Signals: the first asks for an orderly end, the second does not ask.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Error;
use crate::leave::{Exit, leave};

/// The signals that end the process. Listening begins when this is made, so none is lost after that.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

/// The signal that asks for the definitions to be taken up again.
pub(crate) struct Hangup(Signal);

impl Hangup {
    /// Takes over SIGHUP, which would end the process otherwise.
    ///
    /// # Errors
    /// When the system refuses to register a handler.
    pub(crate) fn listen() -> Result<Hangup, Error> {
        Ok(Hangup(listen(SignalKind::hangup())?))
    }

    /// The next one; several before it was looked at are one.
    pub(crate) async fn next(&mut self) {
        self.0.recv().await;
    }
}

fn listen(kind: SignalKind) -> Result<Signal, Error> {
    signal(kind)
        .map_err(|cause| Error::environment("process.no_signals", "cannot listen for signals").because(cause))
}

impl Signals {
    /// Takes over SIGTERM and SIGINT.
    ///
    /// # Errors
    /// When the system refuses to register a handler.
    pub(crate) fn listen() -> Result<Signals, Error> {
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// The name of the next one.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// From now on the next signal ends the process at once, with the exit code of a stop that did not drain.
    pub(crate) fn leave_on_next(mut self) {
        tokio::spawn(async move {
            let name = self.next().await;
            tracing::error!(signal = name, "second signal, leaving without draining");
            leave(Exit::Runtime)
        });
    }
}
