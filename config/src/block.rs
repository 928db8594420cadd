//! One `[[topics]]` block: a producer of its own. Every record of a source goes to every block.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use picomq_connector_sdk::Schema;
use regex::Regex;

use crate::expression::Expression;
use crate::parse_error::ParseError;
use crate::properties::Properties;
use crate::record_schema::{RecordSchema, SchemaRegistry};
use crate::rule::Rule;
use crate::template::Template;

/// A checked block.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicBlock {
    /// Where the records go.
    pub rule: Rule,
    /// The block takes the records for which it is true. None: all.
    pub when: Option<Expression>,
    /// Encoding on the wire (json).
    pub schema: Schema,
    /// What encodes JSON into `schema`. None: records must come in it already.
    pub record_schema: Option<RecordSchema>,
    /// Whether payloads get the frame of Confluent's wire format, and whose id it holds.
    pub schema_registry: Option<SchemaRegistry>,
    /// librdkafka's `batch.num.messages` (1000), 1 to 1,000,000.
    pub batch_length: u32,
    /// librdkafka's `linger.ms` (0 s), whole milliseconds, at most 900 s.
    pub linger: Duration,
    /// Whether missing topics are created through the admin API (false).
    pub create_topics: bool,
    /// Replication of topics we create.
    pub replication: Replication,
    /// Settings of topics we create, as the broker names them.
    pub topic_config: BTreeMap<String, String>,
    /// Topics this block may send to between two openings (1000); past it a name is unroutable.
    pub max_topics: u32,
    /// A name it does not match is unroutable.
    pub allowed_topics: Option<AllowedTopics>,
    /// The record key. None: the plugin's.
    pub record_key: Option<Template>,
    /// Extra headers in the order of the file; one whose value is missing is left out.
    pub headers: Vec<(String, Template)>,
    /// Whether each record gets the header `picomq.batch` (false).
    pub provenance: bool,
    /// Other librdkafka producer settings; names and values checked, none of them refused ones.
    pub properties: Properties,
}

impl TopicBlock {
    /// A block with this rule and the default of every other key.
    pub fn new(rule: Rule) -> TopicBlock {
        TopicBlock {
            rule,
            when: None,
            schema: Schema::Json,
            record_schema: None,
            schema_registry: None,
            batch_length: 1000,
            linger: Duration::ZERO,
            create_topics: false,
            replication: Replication::BrokerDefault,
            topic_config: BTreeMap::new(),
            max_topics: 1000,
            allowed_topics: None,
            record_key: None,
            headers: Vec::new(),
            provenance: false,
            properties: Properties::default(),
        }
    }
}

/// The replication factor asked for when a topic is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replication {
    /// Nothing written: −1, and once more with 1 where the broker refuses that.
    BrokerDefault,
    /// `replication_factor = 1`.
    One,
}

/// The regular expression of `allowed_topics`; it must match the whole name.
#[derive(Clone)]
pub struct AllowedTopics {
    text: String,
    regex: Regex,
}

impl AllowedTopics {
    /// Compiles the expression, anchored at both ends.
    pub fn parse(text: &str) -> Result<AllowedTopics, ParseError> {
        // Compiled bare first, so that the error speaks of what was written and `a)(b` cannot escape the group.
        Regex::new(text).map_err(|error| ParseError::new(0, one_line(&error.to_string())))?;
        let regex = Regex::new(&format!("^(?:{text})$"))
            .map_err(|error| ParseError::new(0, one_line(&error.to_string())))?;
        Ok(AllowedTopics { text: text.to_owned(), regex })
    }

    /// Whether a block may send to this topic.
    pub fn allows(&self, topic: &str) -> bool {
        self.regex.is_match(topic)
    }

    /// The expression as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The last line of regex's report is its reason; the lines before it draw the place.
pub(crate) fn one_line(report: &str) -> String {
    let reason = report.lines().last().unwrap_or(report).trim();
    reason.strip_prefix("error: ").unwrap_or(reason).to_owned()
}

impl PartialEq for AllowedTopics {
    fn eq(&self, other: &AllowedTopics) -> bool {
        self.text == other.text
    }
}

impl Eq for AllowedTopics {}

impl fmt::Debug for AllowedTopics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AllowedTopics").field(&self.text).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowed_topic_matches_as_a_whole() {
        let allowed = AllowedTopics::parse("orders|clicks").unwrap();
        assert!(allowed.allows("orders") && allowed.allows("clicks"));
        assert!(!allowed.allows("orders2") && !allowed.allows("xclicks"));
    }

    #[test]
    fn a_broken_expression_is_refused_in_one_line() {
        assert_eq!(AllowedTopics::parse("a(").unwrap_err().reason, "unclosed group");
        assert!(AllowedTopics::parse("a)|(b").is_err());
    }
}
