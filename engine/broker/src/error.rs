//! What can go wrong between us and a broker, and what the tree can do about it. Decided here and nowhere else.

use std::ffi::CString;
use std::time::Duration;

use pico_actors::ports::{Cause, DeliveryFailure, OpenFailure, OpenKind};
use rdkafka::types::RDKafkaErrorCode as Code;

/// Why a client could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// librdkafka refuses a setting.
    #[error("kafka setting {name}: {reason}")]
    Setting {
        /// Its name.
        name: String,
        /// What librdkafka says of it; no value of a secret.
        reason: String,
    },
    /// librdkafka refuses the settings together, or something they name, such as a certificate.
    #[error("kafka client: {reason}")]
    Client {
        /// What librdkafka says.
        reason: String,
    },
    /// The machine has no thread left.
    #[error("cannot start a thread for the kafka client: {source}")]
    Thread {
        /// What the system says.
        source: std::io::Error,
    },
    /// A topic of dead letters cannot be read, or the place of a replay in it not be kept.
    #[error("dead letters in {topic:?}: {reason}")]
    Letters {
        /// The topic.
        topic: String,
        /// What the client says.
        reason: String,
    },
}

impl BrokerError {
    /// Stable and dotted, for machines.
    pub fn code(&self) -> &'static str {
        match self {
            BrokerError::Setting { .. } => "broker.setting",
            BrokerError::Client { .. } => "broker.client",
            BrokerError::Thread { .. } => "broker.thread",
            BrokerError::Letters { .. } => "broker.dead_letters",
        }
    }

    /// As a failure of the batch for which a client was to be made.
    pub(crate) fn into_failure(self) -> DeliveryFailure {
        let needs_human = match self {
            BrokerError::Setting { .. } | BrokerError::Client { .. } => true,
            BrokerError::Thread { .. } | BrokerError::Letters { .. } => false,
        };
        let cause = Cause::new(self.code(), self.to_string());
        DeliveryFailure { cause, is_client_lost: false, needs_human }
    }
}

impl From<BrokerError> for OpenFailure {
    fn from(error: BrokerError) -> OpenFailure {
        let kind = match error {
            BrokerError::Setting { .. } | BrokerError::Client { .. } => OpenKind::Config,
            BrokerError::Thread { .. } | BrokerError::Letters { .. } => OpenKind::Passing,
        };
        OpenFailure { kind, cause: Cause::new(error.code(), error.to_string()) }
    }
}

/// A record that client or broker refused.
pub(crate) struct Refused<'a> {
    pub(crate) code: Code,
    pub(crate) topic: &'a str,
    /// Position among the outgoing records of its batch, where one record is at fault.
    pub(crate) record: Option<u32>,
}

/// What a refusal means for its batch.
pub(crate) fn refused(refused: &Refused<'_>) -> DeliveryFailure {
    let Refused { code, topic, record } = refused;
    let what = record.map_or(String::new(), |record| format!("record {record} of the batch for "));
    let message = format!("{what}topic {topic:?} was refused: {}", words(*code));
    let (machine, is_client_lost, needs_human) = class(*code);
    DeliveryFailure { cause: Cause::new(machine, message), is_client_lost, needs_human }
}

/// A record that cannot go because of its size: found before it was sent, so the client is whole.
pub(crate) fn too_large(topic: &str, record: u32, bytes: usize, bytes_max: usize) -> DeliveryFailure {
    let message =
        format!("record {record} of the batch for topic {topic:?} has {bytes} bytes, at most {bytes_max} go");
    let cause = Cause::new("broker.too_large", message);
    DeliveryFailure { cause, is_client_lost: false, needs_human: true }
}

/// What a topic that cannot be had means for the batch that names it.
pub(crate) fn unavailable(topic: &str, code: Code) -> DeliveryFailure {
    let hint = if is_unknown(code) { "; create it, or set create_topics = true" } else { "" };
    let message = format!("topic {topic:?} cannot be had: {}{hint}", words(code));
    let (machine, is_client_lost, needs_human) = class(code);
    DeliveryFailure { cause: Cause::new(machine, message), is_client_lost, needs_human }
}

/// What a topic that was not created means for the batch that names it. `more` others were not created either.
pub(crate) fn not_created(topic: &str, code: Code, words: &str, more: usize) -> DeliveryFailure {
    let others = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let message = format!("topic {topic:?} was not created: {words}{others}");
    let cause = Cause::new("broker.topic_not_created", message);
    DeliveryFailure { cause, is_client_lost: false, needs_human: is_identity(code) }
}

/// A record counts as delivered in the client and was never confirmed by the broker.
pub(crate) fn unconfirmed(topic: &str) -> DeliveryFailure {
    let message = format!("the broker confirmed later records of topic {topic:?} and not those before them");
    let cause = Cause::new("broker.unconfirmed", message);
    DeliveryFailure { cause, is_client_lost: true, needs_human: false }
}

/// A topic that was created and does not appear.
pub(crate) fn not_visible(topic: &str, waited: Duration) -> DeliveryFailure {
    let message = format!("topic {topic:?} was created and the broker does not show it for {waited:.1?}");
    let cause = Cause::new("broker.topic_not_visible", message);
    DeliveryFailure { cause, is_client_lost: false, needs_human: false }
}

/// No report for too long. The client's last complaint says more than the silence.
pub(crate) fn silent(waited: Duration, complaint: Option<(Code, String)>) -> DeliveryFailure {
    without_answer("broker.silent", format!("no delivery report for {waited:.1?}"), complaint)
}

/// The broker did not even answer what topics it has.
pub(crate) fn unreachable(waited: Duration, complaint: Option<(Code, String)>) -> DeliveryFailure {
    without_answer("broker.unreachable", format!("no answer from the broker for {waited:.1?}"), complaint)
}

fn without_answer(code: &'static str, what: String, complaint: Option<(Code, String)>) -> DeliveryFailure {
    let is_identity = complaint.as_ref().is_some_and(|(code, _)| is_identity(*code));
    let code = if is_identity { "broker.authentication" } else { code };
    let message =
        complaint.map_or(what.clone(), |(_, words)| format!("{what}; the kafka client says: {words}"));
    DeliveryFailure { cause: Cause::new(code, message), is_client_lost: true, needs_human: is_identity }
}

/// Code for machines, whether the client is lost by this code alone, whether a person is needed. Under the gapless
/// guarantee a client mostly does not survive a refusal; whether it did, it is asked itself.
fn class(code: Code) -> (&'static str, bool, bool) {
    match code {
        Code::Fatal | Code::Fenced => ("broker.fatal", true, false),
        // A purge is ours; the gapless guarantee ends the client itself.
        Code::PurgeInflight | Code::PurgeQueue | Code::GaplessGuarantee => {
            ("broker.client_dropped", true, false)
        }
        Code::MessageSizeTooLarge => ("broker.too_large", false, true),
        Code::TopicAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::TransactionalIdAuthorizationFailed => ("broker.authorization", false, true),
        Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::IllegalSASLState => ("broker.authentication", false, true),
        code if is_stale(code) => ("broker.unknown_topic", false, false),
        Code::BrokerTransportFailure | Code::AllBrokersDown | Code::OperationTimedOut => {
            ("broker.unreachable", false, false)
        }
        _ => ("broker.refused", false, false),
    }
}

/// Whether the failure is one of who we are, which only a person mends.
pub(crate) fn is_identity(code: Code) -> bool {
    let (_, _, needs_human) = class(code);
    needs_human && code != Code::MessageSizeTooLarge
}

/// Whether the broker knows no such topic.
pub(crate) fn is_unknown(code: Code) -> bool {
    matches!(code, Code::UnknownTopic | Code::UnknownTopicOrPartition)
}

/// Whether what we hold for the topic is out of date.
pub(crate) fn is_stale(code: Code) -> bool {
    is_unknown(code) || matches!(code, Code::UnknownPartition | Code::UnknownTopicId)
}

/// What the broker or its client calls the error.
pub(crate) fn words(code: Code) -> String {
    // The binding shows `Name (description)`.
    let shown = code.to_string();
    let description = shown.split_once(" (").and_then(|(_, rest)| rest.strip_suffix(')'));
    description.map(str::to_owned).unwrap_or(shown)
}

/// A topic name or setting for librdkafka.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text).expect("checked when it was loaded or routed: no zero byte")
}
