//! The broker port of one source: takes batches without waiting, leaves the work to the courier.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pico_actors::ports::{BoxFuture, BrokerPort, Cause, DeliveryEvent, DeliveryEvents, DeliveryFailure};
use pico_record::Routed;
use tokio::sync::oneshot;

use crate::admin::Admin;
use crate::courier::{Command, Courier};
use crate::plan::{BrokerSettings, Plan};
use crate::slots::Slots;

/// The producer of one source. Nothing runs and nothing is connected until the first batch or [`BrokerPort::warm`],
/// and again after five minutes without a record.
pub struct KafkaBroker {
    desk: Arc<Desk>,
}

/// What port and courier share.
pub(crate) struct Desk {
    pub(crate) plan: Plan,
    pub(crate) admin: Admin,
    pub(crate) slots: Arc<Slots>,
    /// Requests to drop the client that the courier has not carried out: it ends every wait for them.
    pub(crate) drops_asked: AtomicUsize,
    line: Mutex<Line>,
}

/// The way to the courier.
enum Line {
    /// There is no courier; the next command starts one.
    Idle,
    /// One runs.
    Open(Sender<Command>),
    /// The port was closed for good.
    Closed,
}

impl KafkaBroker {
    /// The port of a source; opens nothing.
    pub fn new(admin: Admin, settings: BrokerSettings) -> KafkaBroker {
        let slots = Arc::new(Slots::new(settings.max_in_flight as usize));
        KafkaBroker {
            desk: Arc::new(Desk {
                plan: Plan::new(settings),
                admin,
                slots,
                drops_asked: AtomicUsize::new(0),
                line: Mutex::new(Line::Idle),
            }),
        }
    }

    /// Conditions to show beside the status of the source.
    pub fn conditions(&self) -> Vec<&'static str> {
        if self.desk.admin.is_unordered() { vec!["unordered_on_error"] } else { Vec::new() }
    }
}

impl BrokerPort for KafkaBroker {
    fn warm(&self) {
        // A port that is closed stays cold.
        let _ = self.desk.send(Command::Warm);
    }

    fn deliver(&self, epoch: u64, batch: Routed, events: DeliveryEvents) {
        let ticket = match self.desk.slots.open(epoch, events) {
            Ok(ticket) => ticket,
            Err(events) => return refuse(&events, "more batches at once than a source may have in flight"),
        };
        if let Err(closed) = self.desk.send(Command::Deliver { batch, ticket }) {
            self.desk.slots.fail(ticket, closed);
            self.desk.slots.release(ticket, 1);
        }
    }

    fn drop_client(&self) -> BoxFuture<()> {
        let (reply, dropped) = oneshot::channel();
        self.desk.drops_asked.fetch_add(1, Ordering::AcqRel);
        if !self.desk.send_if_running(Command::Drop(reply)) {
            self.desk.drop_done();
        }
        // An error says that there is no courier any more, and with it no client.
        Box::pin(async move { dropped.await.unwrap_or(()) })
    }

    fn close(&self) -> BoxFuture<()> {
        let (reply, closed) = oneshot::channel();
        self.desk.drops_asked.fetch_add(1, Ordering::AcqRel);
        self.desk.close(Command::Close(reply));
        Box::pin(async move { closed.await.unwrap_or(()) })
    }
}

impl Drop for KafkaBroker {
    fn drop(&mut self) {
        // The courier sees the end of its line and gives everything up.
        self.desk.drops_asked.fetch_add(1, Ordering::AcqRel);
        *self.desk.line() = Line::Closed;
    }
}

/// A batch that cannot even be taken on.
fn refuse(events: &DeliveryEvents, reason: &str) {
    let cause = Cause::new("broker.too_many_batches", reason);
    events(DeliveryEvent::Failed(DeliveryFailure { cause, is_client_lost: false, needs_human: false }));
    events(DeliveryEvent::Settled);
}

impl Desk {
    /// Sends to the courier, starting one where there is none.
    fn send(self: &Arc<Self>, command: Command) -> Result<(), DeliveryFailure> {
        let mut line = self.line();
        let command = match &*line {
            Line::Closed => return Err(failure("broker.closed", "the source's broker port was closed")),
            Line::Idle => command,
            Line::Open(sender) => match sender.send(command) {
                Ok(()) => return Ok(()),
                // The courier ended by a panic; it gave its batches up.
                Err(mpsc::SendError(command)) => command,
            },
        };
        let (sender, inbox) = mpsc::channel();
        sender.send(command).expect("the inbox is held right here");
        Courier::spawn(self.clone(), inbox)
            .map_err(|error| failure("broker.thread", &format!("cannot start a thread: {error}")))?;
        *line = Line::Open(sender);
        Ok(())
    }

    /// Sends only where there is somebody to hear it.
    fn send_if_running(&self, command: Command) -> bool {
        match &*self.line() {
            Line::Open(sender) => sender.send(command).is_ok(),
            Line::Idle | Line::Closed => false,
        }
    }

    /// One request to drop the client is carried out, or concerns nobody.
    pub(crate) fn drop_done(&self) {
        // A courier that panicked took all requests with it.
        let less = |asked: usize| asked.checked_sub(1);
        let _ = self.drops_asked.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    fn close(&self, command: Command) {
        let mut line = self.line();
        if let Line::Open(sender) = &*line {
            // Without a courier there is nothing to close.
            let _ = sender.send(command);
        }
        *line = Line::Closed;
    }

    /// The courier leaves unless a command came in: looked at under the lock under which commands are sent.
    pub(crate) fn leave(&self, inbox: &mpsc::Receiver<Command>) -> Option<Command> {
        let mut line = self.line();
        let command = inbox.try_recv().ok();
        if command.is_none() && matches!(*line, Line::Open(_)) {
            *line = Line::Idle;
        }
        command
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failure(code: &'static str, message: &str) -> DeliveryFailure {
    DeliveryFailure { cause: Cause::new(code, message), is_client_lost: false, needs_human: false }
}
