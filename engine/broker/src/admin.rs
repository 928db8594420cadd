//! The process's one client for what is not a record: creating topics, and whether the broker was ever reached.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use pico_config::{Kafka, Replication};
use rdkafka::producer::Producer as _;
use rdkafka::types::RDKafkaErrorCode as Code;

use crate::answers::Creation;
use crate::client::Connection;
use crate::context::{Producer, Shared};
use crate::error::{self, BrokerError};
use crate::native;
use crate::settings;
use crate::slots::Slots;

/// One try to reach the broker.
const REACH_WAIT_MS: i32 = 1_000;
/// Pause between two tries.
const REACH_PAUSE: Duration = Duration::from_millis(200);
/// As a replication factor: what the broker is set to.
const BROKER_DEFAULT: i32 = -1;
/// Topics asked for in one request.
const TOPICS_PER_REQUEST: usize = 500;

/// Handle on the process's admin client. Opened once, cloned freely; the client ends with the last clone.
#[derive(Clone)]
pub struct Admin {
    inner: Arc<Inner>,
}

struct Inner {
    connection: Option<Connection>,
    is_reached: Arc<AtomicBool>,
    is_ending: Arc<AtomicBool>,
}

/// A topic to be created with one partition.
pub(crate) struct NewTopic<'a> {
    pub(crate) name: &'a str,
    pub(crate) settings: &'a [(CString, CString)],
    pub(crate) replication: Replication,
}

impl Admin {
    /// Makes the client and starts to look for the broker, which need not be up.
    ///
    /// # Errors
    /// Settings that librdkafka refuses, or no thread to be had.
    pub fn open(kafka: &Kafka) -> Result<Admin, BrokerError> {
        let connection = Connection::open(&settings::admin(kafka), Arc::new(Slots::new(0)))?;
        let is_reached = Arc::new(AtomicBool::new(false));
        let is_ending = Arc::new(AtomicBool::new(false));
        let reach = Reach {
            producer: connection.producer.clone(),
            shared: connection.shared.clone(),
            is_reached: is_reached.clone(),
            is_ending: is_ending.clone(),
        };
        let spawned = thread::Builder::new().name("kafka-reach".to_owned()).spawn(move || reach.run());
        spawned.map_err(|source| BrokerError::Thread { source })?;
        Ok(Admin { inner: Arc::new(Inner { connection: Some(connection), is_reached, is_ending }) })
    }

    /// Whether the broker answered at least once since the process started.
    pub fn reached_once(&self) -> bool {
        self.inner.is_reached.load(Ordering::Acquire)
    }

    /// The client's latest complaint, such as a refused connection; `None` when there was none since the broker
    /// was first reached.
    pub fn last_error(&self) -> Option<String> {
        self.connection().shared.last_error().map(|(_, words)| words)
    }

    /// Whether the broker turned out to know no idempotence: then records may change their order when one is
    /// refused, and one batch at a time is in flight. False while the broker was not reached.
    pub fn is_unordered(&self) -> bool {
        let fatal = self.connection().producer.client().fatal_error();
        fatal.is_some_and(|(code, _)| code == Code::UnsupportedFeature)
    }

    /// Creates topics, many in one request, waiting while `is_wanted`. Gives a result for each, in no order. One
    /// that exists already counts as created. Blocks.
    pub(crate) fn create(&self, topics: &[NewTopic<'_>], is_wanted: &dyn Fn() -> bool) -> Vec<Creation> {
        let (default, one): (Vec<_>, Vec<_>) =
            topics.iter().partition(|topic| topic.replication == Replication::BrokerDefault);
        let mut results = self.request(&one, 1, is_wanted);
        let (refused, answered): (Vec<_>, Vec<_>) =
            self.request(&default, BROKER_DEFAULT, is_wanted).into_iter().partition(is_default_refused);
        results.extend(answered);
        let is_again = |topic: &&&NewTopic<'_>| refused.iter().any(|(name, _)| name == topic.name);
        let again: Vec<_> = default.iter().filter(is_again).copied().collect();
        results.extend(self.request(&again, 1, is_wanted));
        results
    }

    fn request(
        &self,
        topics: &[&NewTopic<'_>],
        replication: i32,
        is_wanted: &dyn Fn() -> bool,
    ) -> Vec<Creation> {
        let producer = &self.connection().producer;
        let mut results = Vec::with_capacity(topics.len());
        for chunk in topics.chunks(TOPICS_PER_REQUEST) {
            let names: Vec<_> = chunk.iter().map(|topic| error::c_string(topic.name)).collect();
            let asked = names.iter().zip(chunk).map(|(name, topic)| (name.as_c_str(), topic.settings));
            match native::create_topics(producer, asked, replication, is_wanted) {
                Ok(answers) => results.extend(answers.into_iter().map(accept_existing)),
                Err(code) => {
                    let refused =
                        |topic: &&NewTopic<'_>| (topic.name.to_owned(), Err((code, error::words(code))));
                    results.extend(chunk.iter().map(refused));
                }
            }
        }
        results
    }

    fn connection(&self) -> &Connection {
        self.inner.connection.as_ref().expect("taken only when the last handle is dropped")
    }
}

/// A rival, or our own request whose answer was lost, made it: that is what was wanted.
fn accept_existing((name, result): Creation) -> Creation {
    match result {
        Err((Code::TopicAlreadyExists, _)) => (name, Ok(())),
        result => (name, result),
    }
}

/// Older brokers know no default replication.
fn is_default_refused((_, result): &Creation) -> bool {
    matches!(result, Err((Code::InvalidReplicationFactor | Code::UnsupportedFeature, _)))
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Release);
        self.connection.take().map(Connection::retire);
    }
}

/// Looks for the broker until it answers once.
struct Reach {
    producer: Arc<Producer>,
    shared: Arc<Shared>,
    is_reached: Arc<AtomicBool>,
    is_ending: Arc<AtomicBool>,
}

impl Reach {
    fn run(self) {
        while !self.is_ending.load(Ordering::Acquire) {
            match native::metadata(&self.producer, REACH_WAIT_MS) {
                Ok(_) => {
                    self.shared.clear_error();
                    self.is_reached.store(true, Ordering::Release);
                    tracing::info!("kafka broker reached");
                    return;
                }
                Err(code) => {
                    tracing::debug!(cause = %error::words(code), "kafka broker not reached yet");
                    thread::park_timeout(REACH_PAUSE);
                }
            }
        }
    }
}
