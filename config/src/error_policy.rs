//! `[errors]`: what happens to a record that cannot be decoded, transformed, routed, encoded or sent for its size.

use crate::block::TopicBlock;
use crate::checked::Fields;
use crate::context::{Context, Draft};
use crate::rule::{Rule, check_topic_name};
use crate::shape::{Kind, Shape, field, words};

/// Records a minute that may be set aside when nothing is written: a source that fails as a whole is stopped by its
/// nacks before all of it lies in the dead-letter topic.
const MAX_PER_MINUTE_DEFAULT: u32 = 1_000;

/// The policy of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPolicy {
    /// What is done.
    pub on_record_error: OnRecordError,
    /// Records of one source that may be set aside or skipped within a minute (1000); past it the batch is nacked
    /// after all. Without effect for `nack`.
    pub max_per_minute: u32,
}

/// The policies there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum OnRecordError {
    /// The whole batch is nacked before producing, and read again.
    #[default]
    Nack,
    /// The record as the plugin gave it goes to a topic for people to look at, in the same batch.
    DeadLetter {
        /// Its name; passed `check_topic_name`, and is no topic of a block.
        topic: String,
    },
    /// It is left out and counted.
    Skip,
}

impl Default for ErrorPolicy {
    fn default() -> ErrorPolicy {
        ErrorPolicy { on_record_error: OnRecordError::Nack, max_per_minute: MAX_PER_MINUTE_DEFAULT }
    }
}

pub(crate) static ERRORS: Shape = Shape {
    fields: &[
        field(
            "on_record_error",
            words(&["nack", "dead_letter", "skip"]),
            "\"nack\"",
            "`nack`: the whole batch is nacked before producing and read again. `dead_letter`: the record goes to dead_letter_topic as it came, the others where they belong. `skip`: it is left out and counted.",
        ),
        field(
            "dead_letter_topic",
            Kind::Text,
            "none",
            "Topic of dead letters, a literal; needed for `dead_letter`. Made if a block of the source may make topics.",
        ),
        field(
            "max_per_minute",
            Kind::Integer { min: 1, max: 1_000_000_000 },
            "1000",
            "Records that may be set aside or skipped within a minute; past it the batch is nacked after all.",
        ),
    ],
    foreign: &[
        ("tolerance", "write on_record_error = \"skip\" or \"dead_letter\""),
        ("deadletterqueue", "write dead_letter_topic = \"NAME\""),
    ],
};

/// `fields` is the table around `[errors]`.
pub(crate) fn read_errors(cx: &mut Context<'_>, fields: &Fields, topics: &[TopicBlock]) -> ErrorPolicy {
    let Some(table) = fields.table("errors") else { return ErrorPolicy::default() };
    let topic = dead_letter_topic(cx, table, topics);
    let word = table.word("on_record_error");
    let on_record_error = match (word, topic) {
        (Some("dead_letter"), Some(topic)) => OnRecordError::DeadLetter { topic },
        (Some("skip"), _) => OnRecordError::Skip,
        // Without a good topic a finding says so, and nothing runs with this.
        (Some(_) | None, _) => OnRecordError::Nack,
    };
    if word != Some("dead_letter") {
        warn_without_effect(cx, table, "dead_letter_topic", "dead_letter");
    }
    if on_record_error == OnRecordError::Nack && word != Some("dead_letter") {
        warn_without_effect(cx, table, "max_per_minute", "dead_letter` or `skip");
    }
    let base = ErrorPolicy::default();
    let max_per_minute = table.number_u32("max_per_minute").unwrap_or(base.max_per_minute);
    ErrorPolicy { on_record_error, max_per_minute }
}

fn warn_without_effect(cx: &mut Context<'_>, table: &Fields, name: &str, needed: &str) {
    if let Some(item) = table.get(name) {
        let reason = format!("`{name}` has no effect: it is of `{needed}`");
        cx.add(&item.place, Draft::warning("config.no_effect", reason).hint("take it out"));
    }
}

fn dead_letter_topic(cx: &mut Context<'_>, table: &Fields, topics: &[TopicBlock]) -> Option<String> {
    let Some((topic, place)) = table.text("dead_letter_topic") else {
        if let Some(item) = table.get("on_record_error").filter(|_| {
            table.word("on_record_error") == Some("dead_letter") && !table.has_failed("dead_letter_topic")
        }) {
            let reason = "`dead_letter` needs a `dead_letter_topic`";
            let hint = "write dead_letter_topic = \"NAME\" below it";
            cx.add(&item.place, Draft::error("config.missing_field", reason).hint(hint));
        }
        return None;
    };
    if let Err(error) = check_topic_name(topic) {
        cx.add(place, Draft::parse("config.bad_topic", error));
        return None;
    }
    let is_own = |block: &TopicBlock| match &block.rule {
        Rule::Static(name) => name == topic,
        Rule::Dynamic { fallback, .. } => fallback.as_deref() == Some(topic),
    };
    if topics.iter().any(is_own) {
        let reason = format!("`dead_letter_topic` is `{topic}`, where good records go");
        let hint = "give dead letters a topic of their own";
        cx.add(place, Draft::error("config.bad_topic", reason).hint(hint));
        return None;
    }
    Some(topic.to_owned())
}
