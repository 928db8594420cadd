//! The one thread that puts a source's records into its clients, in the order of the batches. It also watches the
//! clients' silence, and drops them when they are lost, when asked to, or when they have been idle for long.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pico_actors::fault;
use pico_actors::ports::{Cause, DeliveryFailure};
use pico_record::Routed;
use tokio::sync::oneshot;

use crate::client::{Client, Connection};
use crate::error;
use crate::port::Desk;
use crate::slots::Ticket;
use crate::topics::Topics;

/// How often silence is looked at while reports are outstanding; less where the deadline is short.
const WATCH_EVERY: Duration = Duration::from_millis(250);
/// Clients of one source that were given up and whose threads have not ended.
const ENDING_MAX: usize = 8;

/// What the port asks for.
pub(crate) enum Command {
    /// Open the clients now.
    Warm,
    /// Send a batch.
    Deliver { batch: Routed, ticket: Ticket },
    /// Give the clients up, and every batch with them.
    Drop(oneshot::Sender<()>),
    /// The same, for good; answered when the clients' threads have ended.
    Close(oneshot::Sender<()>),
}

/// The thread's own things.
pub(crate) struct Courier {
    pub(crate) desk: Arc<Desk>,
    /// By their position in the plan.
    pub(crate) clients: Vec<Option<Client>>,
    ending: Vec<JoinHandle<()>>,
    last_record: Instant,
}

impl Courier {
    /// Starts the thread.
    pub(crate) fn spawn(desk: Arc<Desk>, inbox: Receiver<Command>) -> std::io::Result<JoinHandle<()>> {
        thread::Builder::new().name("kafka-courier".to_owned()).spawn(move || {
            let clients = desk.plan.clients.iter().map(|_| None).collect();
            let mut courier =
                Courier { desk: desk.clone(), clients, ending: Vec::new(), last_record: Instant::now() };
            if catch_unwind(AssertUnwindSafe(|| courier.run(&inbox))).is_err() {
                let cause = Cause::new("broker.panicked", "the thread that sends records panicked");
                let failure = DeliveryFailure { cause, is_client_lost: true, needs_human: false };
                courier.give_up(&failure);
                // What was still in the inbox is given up with it; whoever waits for an answer hears of that.
                drop(inbox);
                desk.drops_asked.store(0, Ordering::Release);
                desk.slots.abandon(&failure);
            }
        })
    }

    fn run(&mut self, inbox: &Receiver<Command>) {
        loop {
            let command = match inbox.recv_timeout(self.wait()) {
                Ok(command) => command,
                Err(RecvTimeoutError::Timeout) => {
                    self.watch();
                    if !self.is_idle() {
                        continue;
                    }
                    match self.desk.leave(inbox) {
                        Some(command) => command,
                        None => return self.retire(),
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return self.give_up(&dropped()),
            };
            self.carry_out(command);
        }
    }

    fn carry_out(&mut self, command: Command) {
        match command {
            Command::Warm => self.warm(),
            Command::Deliver { batch, ticket } => self.ship(batch, ticket),
            Command::Drop(reply) => {
                self.give_up(&dropped());
                self.desk.drop_done();
                // Whoever asked may be gone.
                let _ = reply.send(());
            }
            Command::Close(reply) => {
                self.give_up(&dropped());
                for thread in mem::take(&mut self.ending) {
                    let _ = thread.join();
                }
                let _ = reply.send(());
            }
        }
    }

    /// A failure here is met again by the first batch, which can tell it.
    fn warm(&mut self) {
        self.last_record = Instant::now();
        for at in 0..self.clients.len() {
            if let Err(failure) = self.open(at) {
                tracing::warn!(code = failure.cause.code, cause = %failure.cause.message, "kafka client not opened");
            }
        }
    }

    /// Sends a batch, or fails it; either way its first count is given back.
    fn ship(&mut self, batch: Routed, ticket: Ticket) {
        if !self.desk.slots.is_open(ticket) {
            return;
        }
        self.last_record = Instant::now();
        let sent = self.send(&batch, ticket);
        // The guest's memory is given back before anybody waits for reports.
        drop(batch);
        match sent {
            Ok(()) => {
                fault::point("enqueued");
                self.desk.slots.enqueued(ticket);
            }
            Err(failure) => self.desk.slots.fail(ticket, failure),
        }
        self.desk.slots.release(ticket, 1);
    }

    fn send(&mut self, batch: &Routed, ticket: Ticket) -> Result<(), DeliveryFailure> {
        if self.desk.slots.is_behind_a_failure(ticket) {
            // Nothing overtakes a failed batch: this one was on its way behind it.
            return Err(failure("broker.not_sent", "a batch before it failed"));
        }
        for group in batch.groups() {
            self.open(self.desk.plan.blocks[usize::from(group.block)].client)?;
        }
        self.go_on()?;
        if self.desk.admin.is_unordered() {
            self.wait_until_alone()?;
        }
        self.find_topics(batch)?;
        fault::point("topics_created");
        self.make_room(batch);
        let introduced = self.introduce(batch, ticket)?;
        self.enqueue(batch, ticket, &introduced)
    }

    /// Opens the client at a position where there is none.
    fn open(&mut self, at: usize) -> Result<(), DeliveryFailure> {
        if self.clients[at].is_some() {
            return Ok(());
        }
        self.ending.retain(|thread| !thread.is_finished());
        if self.ending.len() >= ENDING_MAX {
            return Err(failure(
                "broker.clients_hang",
                "too many former kafka clients of this source have not ended",
            ));
        }
        let settings = self.desk.plan.settings(at, self.desk.admin.is_unordered());
        let connection = Connection::open(&settings, self.desk.slots.clone());
        let connection = connection.map_err(|error| error.into_failure())?;
        let topics = Topics::new(self.desk.plan.clients[at].topics_most);
        self.clients[at] = Some(Client::new(connection, topics));
        Ok(())
    }

    /// Without idempotence a batch is sent only when all before it have their reports.
    fn wait_until_alone(&mut self) -> Result<(), DeliveryFailure> {
        while self.outstanding() > 0 {
            self.pause(Duration::from_millis(1))?;
        }
        Ok(())
    }

    /// Waits a moment, unless there is a reason not to.
    pub(crate) fn pause(&mut self, wait: Duration) -> Result<(), DeliveryFailure> {
        thread::park_timeout(wait);
        self.go_on()
    }

    /// Whether the batch at hand may still be sent: not when a client is lost or is to be dropped.
    pub(crate) fn go_on(&mut self) -> Result<(), DeliveryFailure> {
        if self.desk.drops_asked.load(Ordering::Acquire) > 0 {
            return Err(dropped());
        }
        self.watch();
        match self.clients.iter().flatten().find_map(|client| client.connection.shared.lost()) {
            Some(lost) => Err(lost),
            None => Ok(()),
        }
    }

    /// Silence past the deadline: the client is lost.
    fn watch(&mut self) {
        let now = Instant::now();
        let deadline = self.desk.plan.batch_deadline;
        for client in self.clients.iter_mut().flatten() {
            if client.silence(now) > deadline {
                let shared = &client.connection.shared;
                shared.lose(error::silent(deadline, shared.last_error()));
            }
        }
    }

    fn outstanding(&self) -> u64 {
        self.clients.iter().flatten().map(Client::outstanding).sum()
    }

    fn is_idle(&self) -> bool {
        self.desk.slots.active() == 0 && self.last_record.elapsed() >= self.desk.plan.idle_after
    }

    /// How long to wait for a command.
    fn wait(&self) -> Duration {
        if self.desk.slots.active() > 0 {
            return WATCH_EVERY.min(self.desk.plan.batch_deadline / 8).max(Duration::from_millis(1));
        }
        let left = self.desk.plan.idle_after.saturating_sub(self.last_record.elapsed());
        left.max(Duration::from_millis(1))
    }

    /// Gives clients and batches up.
    fn give_up(&mut self, failure: &DeliveryFailure) {
        self.retire();
        self.desk.slots.abandon(failure);
    }

    fn retire(&mut self) {
        let ended = self.clients.iter_mut().filter_map(|client| client.take()?.retire());
        self.ending.extend(ended);
    }
}

fn dropped() -> DeliveryFailure {
    failure("broker.client_dropped", "the kafka client was dropped")
}

fn failure(code: &'static str, message: &str) -> DeliveryFailure {
    DeliveryFailure { cause: Cause::new(code, message), is_client_lost: false, needs_human: false }
}
