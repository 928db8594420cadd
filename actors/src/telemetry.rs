//! Metric names and the handles of one source. The names are public API (docs/operations.md).

use metrics::{Counter, Histogram, Label};
use pico_config::SourceKey;

/// Definitions that are switched on.
pub const SOURCES_TOTAL: &str = "picomq_connectors_sources_total";
/// Sources whose status is `running`.
pub const SOURCES_RUNNING: &str = "picomq_connectors_sources_running";
/// Records returned by poll.
pub const MESSAGES_PRODUCED: &str = "picomq_connector_messages_produced_total";
/// Records acknowledged.
pub const MESSAGES_SENT: &str = "picomq_connector_messages_sent_total";
/// Records that went nowhere.
pub const MESSAGES_FILTERED: &str = "picomq_connector_messages_filtered_total";
/// Records that went to the dead-letter topic.
pub const DEAD_LETTERS: &str = "picomq_connector_dead_letters_total";
/// Nacks and poll errors.
pub const ERRORS: &str = "picomq_connector_errors_total";
/// Time a batch spent in each stage.
pub const STAGE_DURATION: &str = "picomq_connector_stage_duration_seconds";
/// Payload, key and header bytes acknowledged.
pub const BYTES_SENT: &str = "picomq_connector_bytes_sent_total";
/// Verdicts told.
pub const BATCHES: &str = "picomq_connector_batches_total";
/// 1 for the present status, 0 for the other five.
pub const STATUS: &str = "picomq_connector_status";
/// Nacks in a row.
pub const CONSECUTIVE_NACKS: &str = "picomq_connector_consecutive_nacks";
/// Poll errors.
pub const POLL_ERRORS: &str = "picomq_connector_poll_errors_total";
/// Openings after the first.
pub const RESTARTS: &str = "picomq_connector_restarts_total";
/// Batches polled and not yet resolved.
pub const IN_FLIGHT_BATCHES: &str = "picomq_connector_in_flight_batches";
/// When a batch with records was last acked, Unix seconds.
pub const LAST_DELIVERY: &str = "picomq_connector_last_delivery_timestamp_seconds";
/// Topics created because a record named them.
pub const TOPICS_CREATED: &str = "picomq_connector_topics_created_total";

/// Reloads of definitions, by what came of them.
pub const RELOADS: &str = "picomq_connectors_reloads_total";

/// What came of a reload: the label `outcome` of [`RELOADS`], and the same word in the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadOutcome {
    /// Something changed.
    Applied,
    /// Nothing did.
    Unchanged,
    /// A file could not be used; what ran for it runs on.
    Refused,
    /// Another plan was confirmed than the present one.
    Conflict,
    /// The changed definition of one source did not open, and the former one is opened again.
    Reverted,
}

impl ReloadOutcome {
    /// Every outcome there is.
    pub const ALL: [ReloadOutcome; 5] = [
        ReloadOutcome::Applied,
        ReloadOutcome::Unchanged,
        ReloadOutcome::Refused,
        ReloadOutcome::Conflict,
        ReloadOutcome::Reverted,
    ];

    /// The word (docs/operations.md).
    pub fn as_str(self) -> &'static str {
        match self {
            ReloadOutcome::Applied => "applied",
            ReloadOutcome::Unchanged => "unchanged",
            ReloadOutcome::Refused => "refused",
            ReloadOutcome::Conflict => "conflict",
            ReloadOutcome::Reverted => "reverted",
        }
    }

    /// The counter of this outcome.
    pub fn counter(self) -> Counter {
        metrics::counter!(RELOADS, "outcome" => self.as_str())
    }
}

/// How far behind its upstream a source says it is.
pub const SOURCE_LAG_SECONDS: &str = "picomq_connector_source_lag_seconds";
/// The same in bytes.
pub const SOURCE_LAG_BYTES: &str = "picomq_connector_source_lag_bytes";

/// Every metric with its HELP text, in the order of the docs.
pub const HELP: &[(&str, Kind, &str)] = &[
    (SOURCES_TOTAL, Kind::Gauge, "Definitions that are switched on."),
    (SOURCES_RUNNING, Kind::Gauge, "Sources whose status is running, computed from the status table."),
    (MESSAGES_PRODUCED, Kind::Counter, "Records returned by poll; a re-read is counted again."),
    (
        MESSAGES_SENT,
        Kind::Counter,
        "Records acknowledged by the broker, counted once, when their batch is acked; dead letters are not among them.",
    ),
    (
        MESSAGES_FILTERED,
        Kind::Counter,
        "Records that a rule of the definition dropped or that [errors] skipped, counted when their batch is acked.",
    ),
    (
        DEAD_LETTERS,
        Kind::Counter,
        "Records that failed and lie in the dead-letter topic, counted once, when their batch is acked.",
    ),
    (ERRORS, Kind::Counter, "Nacks and poll errors."),
    (
        STAGE_DURATION,
        Kind::Histogram,
        "Seconds a batch spent in each stage: poll, decode, prepare, broker_send, state_save, total.",
    ),
    (
        BYTES_SENT,
        Kind::Counter,
        "Bytes of payload, key and headers acknowledged, counted when their batch is acked.",
    ),
    (
        BATCHES,
        Kind::Counter,
        "Verdicts told to the plugin, by verdict (ack or nack); an empty batch counts as ack.",
    ),
    (STATUS, Kind::Gauge, "1 for the present status of the source, 0 for the other five."),
    (CONSECUTIVE_NACKS, Kind::Gauge, "Nacks since the last delivered batch."),
    (POLL_ERRORS, Kind::Counter, "Errors returned by poll; they are not nacks."),
    (RESTARTS, Kind::Counter, "Openings of the source after its first in this process."),
    (IN_FLIGHT_BATCHES, Kind::Gauge, "Batches polled and not yet resolved."),
    (
        LAST_DELIVERY,
        Kind::Gauge,
        "Unix time in seconds when a batch with records was last acked; absent before the first.",
    ),
    (TOPICS_CREATED, Kind::Counter, "Topics created for the source, where its blocks say create_topics."),
    (
        RELOADS,
        Kind::Counter,
        "Reloads by outcome: applied (something changed), unchanged, refused (a file could not be used; what ran for it \
         runs on), conflict (another plan was confirmed), reverted (one source's changed definition did not open).",
    ),
    (SOURCE_LAG_SECONDS, Kind::Gauge, "Seconds the source is behind its upstream, as its plugin reports it."),
    (SOURCE_LAG_BYTES, Kind::Gauge, "Bytes the source is behind its upstream, as its plugin reports it."),
];

/// Kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only rises.
    Counter,
    /// Goes both ways.
    Gauge,
    /// Distribution.
    Histogram,
}

/// Upper bounds of [`STAGE_DURATION`], seconds.
pub const STAGE_BUCKETS: &[f64] =
    &[0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// Labels every series of a source bears. None ever holds a topic or a field value.
pub(crate) fn labels(key: &str) -> Vec<Label> {
    vec![Label::new("connector_key", key.to_owned()), Label::new("connector_type", "source")]
}

/// The counter of [`TOPICS_CREATED`] of a source, for the broker's side.
pub fn topics_created(key: &SourceKey) -> Counter {
    metrics::counter!(TOPICS_CREATED, labels(key.as_str()))
}

/// The counters and histograms of one source, looked up once.
#[derive(Clone)]
pub(crate) struct SourceMetrics {
    pub(crate) produced: Counter,
    pub(crate) sent: Counter,
    pub(crate) filtered: Counter,
    pub(crate) dead_letters: Counter,
    pub(crate) errors: Counter,
    pub(crate) bytes_sent: Counter,
    pub(crate) acks: Counter,
    pub(crate) nacks: Counter,
    pub(crate) poll_errors: Counter,
    pub(crate) restarts: Counter,
    pub(crate) poll: Histogram,
    pub(crate) decode: Histogram,
    pub(crate) prepare: Histogram,
    pub(crate) broker_send: Histogram,
    pub(crate) state_save: Histogram,
    pub(crate) total: Histogram,
}

impl SourceMetrics {
    pub(crate) fn new(key: &str) -> SourceMetrics {
        let counter = |name: &'static str| metrics::counter!(name, labels(key));
        let verdict = |verdict: &'static str| {
            let mut labels = labels(key);
            labels.push(Label::new("verdict", verdict));
            metrics::counter!(BATCHES, labels)
        };
        let stage = |stage: &'static str| {
            let mut labels = labels(key);
            labels.push(Label::new("stage", stage));
            metrics::histogram!(STAGE_DURATION, labels)
        };
        SourceMetrics {
            produced: counter(MESSAGES_PRODUCED),
            sent: counter(MESSAGES_SENT),
            filtered: counter(MESSAGES_FILTERED),
            dead_letters: counter(DEAD_LETTERS),
            errors: counter(ERRORS),
            bytes_sent: counter(BYTES_SENT),
            acks: verdict("ack"),
            nacks: verdict("nack"),
            poll_errors: counter(POLL_ERRORS),
            restarts: counter(RESTARTS),
            poll: stage("poll"),
            decode: stage("decode"),
            prepare: stage("prepare"),
            broker_send: stage("broker_send"),
            state_save: stage("state_save"),
            total: stage("total"),
        }
    }
}
