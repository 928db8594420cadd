//! librdkafka's settings: what the engine owns, what `[kafka]` says, what a block says.

use std::collections::BTreeMap;
use std::time::Duration;

use pico_config::{Kafka, Limits, Properties, TopicBlock, is_secret_name};
use rdkafka::config::ClientConfig;
use rdkafka::error::KafkaError;

use crate::error::BrokerError;

/// What a record may have beside what `record_bytes` counts: framing and the headers that the engine adds.
const RECORD_SLACK_BYTES: u64 = 16 * 1024;
/// Part of that slack which is librdkafka's own framing of one record.
const FRAMING_BYTES: u64 = 1024;
/// librdkafka's own `batch.size`.
const REQUEST_BYTES: u64 = 1_000_000;
/// librdkafka's own bound on `queue.buffering.max.messages`.
const QUEUE_MESSAGES_MAX: u64 = 10_000_000;

/// The settings of one client.
pub(crate) type Settings = BTreeMap<String, String>;

/// The part of a block that makes its client another one: blocks of a source in which it is equal share a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClientKey {
    batch_length: u32,
    linger: Duration,
    properties: Properties,
}

impl ClientKey {
    pub(crate) fn of(block: &TopicBlock) -> ClientKey {
        ClientKey {
            batch_length: block.batch_length,
            linger: block.linger,
            properties: block.properties.clone(),
        }
    }

    pub(crate) fn lingers(&self) -> bool {
        !self.linger.is_zero()
    }

    pub(crate) fn batch_length(&self) -> u32 {
        self.batch_length
    }
}

/// How much a client may hold, in all its topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueBounds {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl QueueBounds {
    /// Enough for a whole window of every block that shares the client, so that it fills only when it should.
    pub(crate) fn new(limits: &Limits, max_in_flight: u32, blocks: usize) -> QueueBounds {
        let blocks = blocks as u64;
        let messages = u64::from(max_in_flight) * u64::from(limits.batch_records) * blocks;
        // A poll may start just below the bound on what is in flight.
        let bytes = (limits.in_flight_bytes + limits.batch_bytes) * blocks;
        QueueBounds { messages: messages.clamp(1, QUEUE_MESSAGES_MAX), bytes }
    }
}

/// Largest payload with key that is handed to a client.
pub(crate) fn record_bytes_max(limits: &Limits) -> usize {
    usize::try_from(limits.record_bytes + RECORD_SLACK_BYTES - FRAMING_BYTES).unwrap_or(usize::MAX)
}

/// What a full request to a partition holds: `batch.size`, as librdkafka has it where nobody sets it, and no more than
/// `message.max.bytes`.
pub(crate) fn request_bytes(kafka: &Kafka, limits: &Limits, key: &ClientKey) -> u64 {
    let written =
        connection(kafka, Some(&key.properties)).get("batch.size").and_then(|size| size.parse().ok());
    written.unwrap_or(REQUEST_BYTES).clamp(1, limits.record_bytes + RECORD_SLACK_BYTES)
}

/// How every client reaches the broker. `properties` of a block go before those of `[kafka]`; neither goes before
/// address and credentials.
fn connection(kafka: &Kafka, properties: Option<&Properties>) -> Settings {
    let mut settings = Settings::new();
    // A default only: a broker that came back is found within a second, not after ten.
    put(&mut settings, "reconnect.backoff.max.ms", "1000");
    for (name, value) in kafka.properties.iter().chain(properties.into_iter().flat_map(Properties::iter)) {
        put(&mut settings, name, value);
    }
    put(&mut settings, "bootstrap.servers", &kafka.bootstrap_servers);
    put(&mut settings, "client.id", &kafka.client_id);
    put(&mut settings, "security.protocol", kafka.security_protocol.as_str());
    if kafka.security_protocol.is_sasl() {
        put(&mut settings, "sasl.mechanism", kafka.sasl.mechanism.as_str());
        put(&mut settings, "sasl.username", &kafka.sasl.username);
        put(&mut settings, "sasl.password", kafka.sasl.password.expose());
    }
    if kafka.security_protocol.is_tls() {
        let files = [
            ("ssl.ca.location", &kafka.tls.ca_file),
            ("ssl.certificate.location", &kafka.tls.cert_file),
            ("ssl.key.location", &kafka.tls.key_file),
        ];
        for (name, file) in files {
            if let Some(file) = file {
                put(&mut settings, name, &file.to_string_lossy());
            }
        }
        let identification = if kafka.tls.verify_hostname { "https" } else { "none" };
        put(&mut settings, "ssl.endpoint.identification.algorithm", identification);
    }
    settings
}

/// The process's client for topics and reachability. It is idempotent only to learn whether the broker can be.
pub(crate) fn admin(kafka: &Kafka) -> Settings {
    let mut settings = connection(kafka, None);
    put(&mut settings, "enable.idempotence", "true");
    put(&mut settings, "socket.timeout.ms", "10000");
    settings
}

/// A client that reads a topic of dead letters for a person.
pub(crate) fn reader(kafka: &Kafka, group: &str) -> Settings {
    let mut settings = connection(kafka, None);
    put(&mut settings, "group.id", group);
    put(&mut settings, "enable.auto.commit", "false");
    put(&mut settings, "enable.auto.offset.store", "false");
    put(&mut settings, "enable.partition.eof", "true");
    put(&mut settings, "auto.offset.reset", "earliest");
    settings
}

/// A client of a source. What the engine owns is put last: nothing overrides it.
pub(crate) fn producer(
    kafka: &Kafka,
    limits: &Limits,
    key: &ClientKey,
    bounds: QueueBounds,
    is_unordered: bool,
) -> Settings {
    let mut settings = connection(kafka, Some(&key.properties));
    if is_unordered {
        // The broker cannot check sequences; one request at a time keeps at least retries in order.
        put(&mut settings, "enable.idempotence", "false");
        put(&mut settings, "enable.gapless.guarantee", "false");
        put(&mut settings, "max.in.flight.requests.per.connection", "1");
    } else {
        put(&mut settings, "enable.idempotence", "true");
        put(&mut settings, "enable.gapless.guarantee", "true");
    }
    put(&mut settings, "acks", "all");
    put(&mut settings, "message.timeout.ms", "0");
    put(&mut settings, "delivery.report.only.error", "false");
    put(&mut settings, "partitioner", "murmur2_random");
    put(&mut settings, "topic.metadata.propagation.max.ms", "1000");
    put(&mut settings, "message.max.bytes", &(limits.record_bytes + RECORD_SLACK_BYTES).to_string());
    put(&mut settings, "queue.buffering.max.messages", &bounds.messages.to_string());
    put(&mut settings, "queue.buffering.max.kbytes", &(bounds.bytes / 1024 + 1).to_string());
    put(&mut settings, "batch.num.messages", &key.batch_length.to_string());
    put(&mut settings, "linger.ms", &key.linger.as_millis().to_string());
    settings
}

fn put(settings: &mut Settings, name: &str, value: &str) {
    // The other name of a setting would be another entry, set in an order that nobody knows.
    let name = match name {
        "request.required.acks" => "acks",
        "delivery.timeout.ms" => "message.timeout.ms",
        "metadata.broker.list" => "bootstrap.servers",
        "sasl.mechanisms" => "sasl.mechanism",
        "queue.buffering.max.ms" => "linger.ms",
        "max.in.flight" => "max.in.flight.requests.per.connection",
        "compression.codec" => "compression.type",
        name => name,
    };
    settings.insert(name.to_owned(), value.to_owned());
}

/// As the binding takes them.
pub(crate) fn client_config(settings: &Settings) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.extend(settings.iter().map(|(name, value)| (name.clone(), value.clone())));
    config
}

/// One setting that librdkafka refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Position of the block whose `properties` hold it; `None`: it stands in `[kafka]`.
    pub block: Option<usize>,
    /// The setting; `None` when it is the settings together, or a file that they name.
    pub name: Option<String>,
    /// What librdkafka says of it, without the value of a secret.
    pub reason: String,
}

/// Whether librdkafka takes the settings of `[kafka]` and of these blocks: names, values, and whether a client can
/// be made of them. No broker is asked. May take 0.1 s for each block: not for a thread that must not block.
pub fn check(kafka: &Kafka, limits: &Limits, blocks: &[TopicBlock]) -> Vec<Finding> {
    let refused_in = |block, settings: &Settings| {
        let error = try_out(settings).err()?;
        Some(match error {
            BrokerError::Setting { name, reason } => Finding { block, name: Some(name), reason },
            BrokerError::Client { .. } | BrokerError::Thread { .. } | BrokerError::Letters { .. } => {
                Finding { block, name: None, reason: error.to_string() }
            }
        })
    };
    if let Some(finding) = refused_in(None, &connection(kafka, None)) {
        return vec![finding];
    }
    let each = blocks.iter().enumerate().filter_map(|(at, block)| {
        let bounds = QueueBounds::new(limits, 1, 1);
        refused_in(Some(at), &producer(kafka, limits, &ClientKey::of(block), bounds, false))
    });
    each.collect()
}

/// Makes a client that knows no broker, and drops it.
fn try_out(settings: &Settings) -> Result<(), BrokerError> {
    let mut alone = settings.clone();
    alone.remove("bootstrap.servers");
    let config = client_config(&alone);
    config.create_native_config().map_err(refusal)?;
    config.create::<rdkafka::producer::BaseProducer>().map_err(refusal)?;
    Ok(())
}

/// Why the binding made no client. Values are not shown where the name says that they are secret.
pub(crate) fn refusal(error: KafkaError) -> BrokerError {
    match error {
        KafkaError::ClientConfig(_, reason, name, value) => {
            let reason = if is_secret_name(&name) && !value.is_empty() {
                reason.replace(&value, "[REDACTED]")
            } else {
                reason
            };
            BrokerError::Setting { name, reason }
        }
        KafkaError::ClientCreation(reason) => BrokerError::Client { reason },
        other => BrokerError::Client { reason: other.to_string() },
    }
}

#[cfg(test)]
mod tests;
