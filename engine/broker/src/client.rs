//! One librdkafka client: its polling thread, its topics, and how long it has been silent.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pico_actors::ports::{Cause, DeliveryFailure};
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::producer::{Producer as _, PurgeConfig};

use crate::context::{Context, Producer, Shared};
use crate::error::BrokerError;
use crate::settings::{self, Settings};
use crate::slots::Slots;
use crate::topics::Topics;

/// Longest wait of the polling thread; reports wake it at once. It also bounds how long a client takes to end.
const POLL_WAIT: Duration = Duration::from_secs(1);

/// A client with the thread that polls it.
pub(crate) struct Connection {
    pub(crate) producer: Arc<Producer>,
    pub(crate) shared: Arc<Shared>,
    is_ending: Arc<AtomicBool>,
    poller: JoinHandle<()>,
}

impl Connection {
    /// Makes the client. Blocks for a moment (files of certificates are read), waits for no broker.
    pub(crate) fn open(settings: &Settings, slots: Arc<Slots>) -> Result<Connection, BrokerError> {
        let shared = Arc::new(Shared::new(slots));
        let context = Context(shared.clone());
        let config = settings::client_config(settings);
        let producer = Producer::from_config_and_context(&config, context).map_err(settings::refusal)?;
        let producer = Arc::new(producer);
        shared.attach(&producer);
        let is_ending = Arc::new(AtomicBool::new(false));
        let polling =
            Polling { producer: producer.clone(), shared: shared.clone(), is_ending: is_ending.clone() };
        let poller = thread::Builder::new().name("kafka-reports".to_owned()).spawn(move || polling.run());
        let poller = poller.map_err(|source| BrokerError::Thread { source })?;
        Ok(Connection { producer, shared, is_ending, poller })
    }

    /// Gives the client up. Nothing that is still in it is sent by our will, nothing it says from now on counts. It
    /// ends on a thread of its own, because that waits for librdkafka's threads without limit.
    pub(crate) fn retire(self) -> Option<JoinHandle<()>> {
        let Connection { producer, shared, is_ending, poller } = self;
        shared.retire();
        producer.purge(PurgeConfig::default().queue().inflight().non_blocking());
        is_ending.store(true, Ordering::Release);
        let end = move || {
            // A polling thread that panicked has ended too.
            let _ = poller.join();
            drop(producer);
        };
        thread::Builder::new().name("kafka-end".to_owned()).spawn(end).ok()
    }
}

/// What the polling thread works with.
struct Polling {
    producer: Arc<Producer>,
    shared: Arc<Shared>,
    is_ending: Arc<AtomicBool>,
}

impl Polling {
    fn run(self) {
        while !self.is_ending.load(Ordering::Acquire) {
            let polled = catch_unwind(AssertUnwindSafe(|| self.producer.poll(POLL_WAIT)));
            if polled.is_err() {
                // Reports were lost with the panic. Whoever is told of that may panic again.
                let _ = catch_unwind(AssertUnwindSafe(|| self.shared.lose(panicked())));
            }
        }
    }
}

fn panicked() -> DeliveryFailure {
    let cause = Cause::new("broker.panicked", "the thread that takes delivery reports panicked");
    DeliveryFailure { cause, is_client_lost: true, needs_human: false }
}

/// A client of a source.
pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) topics: Topics,
    /// Records it may hold while the present batch goes in.
    pub(crate) room: u64,
    sent: u64,
    reports_seen: u64,
    quiet_since: Instant,
}

impl Client {
    pub(crate) fn new(connection: Connection, topics: Topics) -> Client {
        Client { connection, topics, room: u64::MAX, sent: 0, reports_seen: 0, quiet_since: Instant::now() }
    }

    /// `count` records entered. The clock of silence starts when nothing was outstanding before.
    pub(crate) fn note_sent(&mut self, count: u64) {
        if self.outstanding() == 0 {
            self.quiet_since = Instant::now();
        }
        self.sent += count;
    }

    /// `count` of those noted did not enter after all.
    pub(crate) fn note_unsent(&mut self, count: u64) {
        self.sent -= count;
    }

    /// Records in the client without a report.
    pub(crate) fn outstanding(&self) -> u64 {
        self.sent.saturating_sub(self.connection.shared.reports())
    }

    /// Records noted so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// How long reports have been outstanding without one coming in.
    pub(crate) fn silence(&mut self, now: Instant) -> Duration {
        let reports = self.connection.shared.reports();
        if reports != self.reports_seen || reports >= self.sent {
            self.reports_seen = reports;
            self.quiet_since = now;
        }
        now.saturating_duration_since(self.quiet_since)
    }

    /// Gives the client up; see [`Connection::retire`].
    pub(crate) fn retire(self) -> Option<JoinHandle<()>> {
        // Handles hold the producer: they go first.
        drop(self.topics);
        self.connection.retire()
    }
}
