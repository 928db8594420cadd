//! What librdkafka tells us: reports, errors, log lines. Called from the client's polling thread.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use pico_actors::fault;
use pico_actors::ports::{Cause, DeliveryFailure};
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Message as _};
use rdkafka::producer::{BaseProducer, Producer as _, ProducerContext};
use rdkafka::types::RDKafkaErrorCode as Code;

use crate::error::{self, Refused};
use crate::slots::{Slots, Ticket};

/// The producer of a client.
pub(crate) type Producer = BaseProducer<Context>;

/// Lines of one facility of librdkafka that are passed on within this time: one.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// What a client and its polling thread share.
pub(crate) struct Shared {
    slots: Arc<Slots>,
    /// Reports that came, good or bad: progress.
    reports: AtomicU64,
    /// The courier waits for so many reports.
    wake_at: AtomicU64,
    courier: Thread,
    /// Whether `last_error` holds something: looked at for every report.
    has_complained: AtomicBool,
    /// Set once the client exists; weak, since the client owns this.
    producer: OnceLock<Weak<Producer>>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    /// Why the client cannot be used any more.
    lost: Option<DeliveryFailure>,
    /// The client was given up: what it still says concerns nobody.
    is_retired: bool,
    /// The last thing the client complained of, such as a refused connection.
    last_error: Option<(Code, String)>,
    /// Topics that the broker no longer knows under the name we hold a handle for.
    stale: Vec<String>,
    log: HashMap<String, Line>,
}

struct Line {
    passed: Instant,
    held_back: u32,
}

impl Shared {
    /// To be called by the courier, which is woken from here.
    pub(crate) fn new(slots: Arc<Slots>) -> Shared {
        Shared {
            slots,
            reports: AtomicU64::new(0),
            wake_at: AtomicU64::new(0),
            courier: thread::current(),
            has_complained: AtomicBool::new(false),
            producer: OnceLock::new(),
            notes: Mutex::new(Notes::default()),
        }
    }

    /// The client whose callbacks these are, so that they can ask it whether it can go on.
    pub(crate) fn attach(&self, producer: &Arc<Producer>) {
        self.producer.get_or_init(|| Arc::downgrade(producer));
    }

    fn is_fatal(&self) -> bool {
        let producer = self.producer.get().and_then(Weak::upgrade);
        producer.is_some_and(|producer| producer.client().fatal_error().is_some())
    }

    /// Reports so far.
    pub(crate) fn reports(&self) -> u64 {
        self.reports.load(Ordering::SeqCst)
    }

    /// The courier is woken when so many reports are in; it looks once more before it waits.
    pub(crate) fn wake_at(&self, reports: u64) {
        self.wake_at.store(reports, Ordering::SeqCst);
    }

    /// One more report. This and [`Shared::wake_at`] see one another in one order, so that no wake is lost.
    fn count_report(&self) {
        let reports = self.reports.fetch_add(1, Ordering::SeqCst) + 1;
        if reports == self.wake_at.load(Ordering::SeqCst) {
            self.courier.unpark();
        }
    }

    /// Why the client can no longer be used, once it cannot.
    pub(crate) fn lost(&self) -> Option<DeliveryFailure> {
        self.notes().lost.clone()
    }

    /// The client cannot be used any more: every batch of the source failed. Only the first reason counts.
    pub(crate) fn lose(&self, failure: DeliveryFailure) {
        // The slots are told under the lock, so that a retired client never fails a batch of its successor.
        let mut notes = self.notes();
        if notes.is_retired || notes.lost.is_some() {
            return;
        }
        tracing::warn!(code = failure.cause.code, cause = %failure.cause.message, "kafka client lost");
        self.slots.fail_all(&failure);
        notes.lost = Some(failure);
    }

    /// From now on nothing this client says changes anything.
    pub(crate) fn retire(&self) {
        self.notes().is_retired = true;
    }

    /// The last complaint of the client since a report came in.
    pub(crate) fn last_error(&self) -> Option<(Code, String)> {
        self.notes().last_error.clone()
    }

    /// Forgets the last complaint: the broker was reached.
    pub(crate) fn clear_error(&self) {
        // Looked at first: this is asked for every report, and a swap takes the line from everybody.
        if self.has_complained.load(Ordering::Relaxed) && self.has_complained.swap(false, Ordering::Relaxed) {
            self.notes().last_error = None;
        }
    }

    fn complain(&self, code: Code, reason: &str) {
        let mut notes = self.notes();
        // That all brokers are down follows every other complaint and says less.
        if code != Code::AllBrokersDown || notes.last_error.is_none() {
            notes.last_error = Some((code, reason.to_owned()));
            self.has_complained.store(true, Ordering::Relaxed);
        }
    }

    /// The topics whose handles are out of date, once.
    pub(crate) fn take_stale(&self) -> Vec<String> {
        std::mem::take(&mut self.notes().stale)
    }

    /// The handle of a topic is out of date.
    pub(crate) fn note_stale(&self, topic: &str) {
        let mut notes = self.notes();
        if !notes.stale.iter().any(|stale| stale == topic) {
            notes.stale.push(topic.to_owned());
        }
    }

    fn refused(&self, code: Code, topic: &str, ticket: Ticket, record: u32) {
        if error::is_stale(code) {
            self.note_stale(topic);
        }
        let mut failure = error::refused(&Refused { code, topic, record: Some(record) });
        failure.is_client_lost |= self.is_fatal();
        if failure.is_client_lost {
            self.slots.fail(ticket, failure.clone());
            self.lose(failure);
        } else {
            self.slots.fail(ticket, failure);
        }
    }

    /// A report without an offset is librdkafka's own conclusion, drawn from the success of a later request. It is
    /// wrong where a broker took the later one from a client it did not know yet.
    fn unconfirmed(&self, topic: &str, ticket: Ticket) {
        let failure = error::unconfirmed(topic);
        self.slots.fail(ticket, failure.clone());
        self.lose(failure);
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many lines of this facility were held back since one was passed on; `None`: hold this one back too.
    fn admit(&self, facility: &str) -> Option<u32> {
        let mut notes = self.notes();
        let now = Instant::now();
        let Some(line) = notes.log.get_mut(facility) else {
            notes.log.insert(facility.to_owned(), Line { passed: now, held_back: 0 });
            return Some(0);
        };
        if now - line.passed < LOG_EVERY {
            line.held_back += 1;
            return None;
        }
        line.passed = now;
        Some(std::mem::take(&mut line.held_back))
    }
}

/// The callbacks of one client.
pub(crate) struct Context(pub(crate) Arc<Shared>);

impl ProducerContext for Context {
    type DeliveryOpaque = usize;

    fn delivery(&self, report: &DeliveryResult<'_>, opaque: usize) {
        let (ticket, record) = Ticket::of_opaque(opaque);
        if record == 0 {
            fault::point("first_report");
        }
        match report {
            Ok(message) if message.offset() < 0 => self.0.unconfirmed(message.topic(), ticket),
            Ok(_) => self.0.clear_error(),
            Err((error, message)) => {
                let code = error.rdkafka_error_code().unwrap_or(Code::Unknown);
                self.0.refused(code, message.topic(), ticket, record);
            }
        }
        self.0.count_report();
        self.0.slots.release(ticket, 1);
    }
}

impl ClientContext for Context {
    fn error(&self, error: KafkaError, reason: &str) {
        let code = error.rdkafka_error_code().unwrap_or(Code::Unknown);
        if code == Code::Fatal {
            let message = format!("the kafka client cannot go on: {reason}");
            let cause = Cause::new("broker.fatal", message);
            let needs_human = reason.contains("authorization");
            self.0.lose(DeliveryFailure { cause, is_client_lost: true, needs_human });
        }
        self.0.complain(code, reason);
    }

    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        if matches!(level, RDKafkaLogLevel::Debug) {
            tracing::debug!(target: "librdkafka", facility, line, "kafka client");
            return;
        }
        let Some(held_back) = self.0.admit(facility) else { return };
        match level {
            RDKafkaLogLevel::Debug | RDKafkaLogLevel::Info => {
                tracing::debug!(target: "librdkafka", facility, line, held_back, "kafka client");
            }
            RDKafkaLogLevel::Notice => {
                tracing::info!(target: "librdkafka", facility, line, held_back, "kafka client")
            }
            RDKafkaLogLevel::Warning
            | RDKafkaLogLevel::Error
            | RDKafkaLogLevel::Critical
            | RDKafkaLogLevel::Alert
            | RDKafkaLogLevel::Emerg => {
                tracing::warn!(target: "librdkafka", facility, line, held_back, "kafka client");
            }
        }
    }
}
