//! Whether a record became what its test expects. Both sides are written as short texts that hold what the test speaks
//! of and nothing else: the test passes when they are equal, and their difference is what a person needs to see. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pico_config::{Expectation, ExpectedRecord, ExpectedValue, FieldPath};
use pico_record::Outgoing;

use super::canonical::{canonical, quoted};

/// What became of the record of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Actual {
    /// It left as these, block after block.
    Sent(Vec<SentRecord>),
    /// No block sends it.
    Filtered,
    /// It failed.
    Failed {
        /// Stable name of the fault.
        code: String,
        /// For people.
        message: String,
    },
}

/// One record as it would go to the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentRecord {
    block: u16,
    topic: String,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Vec<u8>)>,
}

impl SentRecord {
    pub(super) fn new(block: u16, topic: &str, outgoing: &Outgoing<'_>) -> SentRecord {
        SentRecord {
            block,
            topic: topic.to_owned(),
            key: outgoing.key.map(<[u8]>::to_vec),
            value: outgoing.payload.map(<[u8]>::to_vec),
            headers: outgoing.headers().map(|(name, value)| (name.to_owned(), value.to_vec())).collect(),
        }
    }
}

/// Both sides of a test, as texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) expected: String,
    pub(super) got: String,
    /// More about what came, for people: the message of a fault.
    pub(super) note: Option<String>,
}

impl Judged {
    pub(super) fn has_passed(&self) -> bool {
        self.expected == self.got
    }
}

/// Writes both sides.
pub(super) fn judge(expectation: &Expectation, actual: &Actual) -> Judged {
    let expected = match expectation {
        Expectation::Sent(records) => records.iter().enumerate().map(expected_text).collect(),
        Expectation::Filtered => FILTERED.to_owned(),
        Expectation::Fails(code) => failed_text(code),
    };
    let expected_records: &[ExpectedRecord] = match expectation {
        Expectation::Sent(records) => records,
        Expectation::Filtered | Expectation::Fails(_) => &[],
    };
    let got = match actual {
        Actual::Sent(records) => {
            let all = records.iter().enumerate();
            all.map(|(at, record)| sent_text(at, record, expected_records.get(at))).collect()
        }
        Actual::Filtered => FILTERED.to_owned(),
        Actual::Failed { code, .. } => failed_text(code),
    };
    let note = match actual {
        Actual::Failed { message, .. } => Some(message.clone()),
        Actual::Sent(_) | Actual::Filtered => None,
    };
    Judged { expected, got, note }
}

const FILTERED: &str = "filtered: nothing leaves\n";

fn failed_text(code: &str) -> String {
    format!("fails with {code}\n")
}

fn expected_text((at, record): (usize, &ExpectedRecord)) -> String {
    let mut lines = vec![format!("record {at}"), format!("topic {}", record.topic)];
    lines.extend(record.block.map(|block| format!("block {block}")));
    lines.extend(record.key.as_ref().map(|key| key_text(key.as_ref().map(String::as_bytes))));
    let headers = record.headers.iter();
    lines.extend(headers.map(|(name, value)| header_text(name, Some(value.as_bytes()))));
    lines.extend(record.without_headers.iter().map(|name| header_text(name, None)));
    lines.extend(match &record.value {
        ExpectedValue::Any => None,
        ExpectedValue::Tombstone => Some(exact_text(None)),
        ExpectedValue::Exact(bytes) => Some(exact_text(Some(bytes))),
        ExpectedValue::Json { text, ignore } => Some(json_text(Some(text.as_bytes()), ignore)),
    });
    lines.join("\n") + "\n"
}

/// What `expected` speaks of; all there is of a record that nobody expected.
fn sent_text(at: usize, record: &SentRecord, expected: Option<&ExpectedRecord>) -> String {
    let mut lines = vec![format!("record {at}"), format!("topic {}", record.topic)];
    let Some(expected) = expected else {
        lines.push(key_text(record.key.as_deref()));
        lines.extend(record.headers.iter().map(|(name, value)| header_text(name, Some(value))));
        lines.push(exact_text(record.value.as_deref()));
        return lines.join("\n") + "\n";
    };
    lines.extend(expected.block.map(|_| format!("block {}", record.block)));
    lines.extend(expected.key.as_ref().map(|_| key_text(record.key.as_deref())));
    let named = expected.headers.iter().map(|(name, _)| name).chain(&expected.without_headers);
    lines.extend(named.map(|name| header_text(name, header(record, name))));
    lines.extend(match &expected.value {
        ExpectedValue::Any => None,
        ExpectedValue::Tombstone | ExpectedValue::Exact(_) => Some(exact_text(record.value.as_deref())),
        ExpectedValue::Json { ignore, .. } => Some(json_text(record.value.as_deref(), ignore)),
    });
    lines.join("\n") + "\n"
}

/// The last one of a name, as Kafka's clients look one up.
fn header<'r>(record: &'r SentRecord, name: &str) -> Option<&'r [u8]> {
    let found = record.headers.iter().rev().find(|(found, _)| found == name);
    found.map(|(_, value)| value.as_slice())
}

fn key_text(key: Option<&[u8]>) -> String {
    format!("key {}", key.map_or("none".to_owned(), shown))
}

fn header_text(name: &str, value: Option<&[u8]>) -> String {
    format!("header {name} = {}", value.map_or("none".to_owned(), shown))
}

fn exact_text(value: Option<&[u8]>) -> String {
    format!("value {}", value.map_or("none".to_owned(), shown))
}

fn json_text(value: Option<&[u8]>, ignore: &[FieldPath]) -> String {
    let Some(bytes) = value else { return exact_text(None) };
    let json = std::str::from_utf8(bytes).map_err(|error| error.to_string());
    match json.and_then(|text| canonical(text, ignore)) {
        Ok(text) => format!("value {text}"),
        Err(reason) => format!("value {}, which is not JSON: {reason}", shown(bytes)),
    }
}

/// Bytes in one line, so that equal lines are equal bytes.
fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => quoted(text),
        Err(_not_text) => format!("base64 {}", STANDARD.encode(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(topic: &str, value: Option<&str>) -> SentRecord {
        SentRecord {
            block: 0,
            topic: topic.to_owned(),
            key: Some(b"k".to_vec()),
            value: value.map(|value| value.as_bytes().to_vec()),
            headers: vec![("a".to_owned(), b"1".to_vec()), ("a".to_owned(), b"2".to_vec())],
        }
    }

    fn expected(topic: &str) -> ExpectedRecord {
        ExpectedRecord {
            topic: topic.to_owned(),
            block: None,
            key: None,
            headers: Vec::new(),
            without_headers: Vec::new(),
            value: ExpectedValue::Any,
        }
    }

    fn passes(expected: ExpectedRecord, sent: SentRecord) -> bool {
        judge(&Expectation::Sent(vec![expected]), &Actual::Sent(vec![sent])).has_passed()
    }

    #[test]
    fn only_what_the_test_speaks_of_is_compared() {
        assert!(passes(expected("t"), sent("t", Some("anything"))));
        assert!(!passes(expected("t"), sent("u", Some("anything"))));
        let keyed = |key: Option<&str>| ExpectedRecord { key: Some(key.map(str::to_owned)), ..expected("t") };
        assert!(passes(keyed(Some("k")), sent("t", None)));
        assert!(!passes(keyed(None), sent("t", None)) && !passes(keyed(Some("x")), sent("t", None)));
    }

    #[test]
    fn the_last_header_of_a_name_counts_and_an_unwanted_one_is_found() {
        let with =
            |value: &str| ExpectedRecord { headers: vec![("a".into(), value.into())], ..expected("t") };
        assert!(passes(with("2"), sent("t", None)) && !passes(with("1"), sent("t", None)));
        let without = |name: &str| ExpectedRecord { without_headers: vec![name.into()], ..expected("t") };
        assert!(passes(without("b"), sent("t", None)) && !passes(without("a"), sent("t", None)));
    }

    #[test]
    fn a_tombstone_an_empty_value_and_an_empty_text_are_three_things() {
        let value = |value| ExpectedRecord { value, ..expected("t") };
        let exact = |text: &str| value(ExpectedValue::Exact(text.as_bytes().to_vec()));
        assert!(passes(value(ExpectedValue::Tombstone), sent("t", None)));
        assert!(!passes(value(ExpectedValue::Tombstone), sent("t", Some(""))));
        assert!(passes(exact(""), sent("t", Some(""))) && !passes(exact("none"), sent("t", None)));
        assert!(!passes(exact("\"\""), sent("t", Some(""))));
    }

    #[test]
    fn a_record_more_or_less_than_expected_fails_the_test() {
        let two = Actual::Sent(vec![sent("t", None), sent("u", Some("x"))]);
        let judged = judge(&Expectation::Sent(vec![expected("t")]), &two);
        assert!(!judged.has_passed() && judged.got.contains("topic u\nkey \"k\"\n"), "{judged:?}");
        let one = Actual::Sent(vec![sent("t", None)]);
        assert!(!judge(&Expectation::Sent(vec![expected("t"), expected("u")]), &one).has_passed());
        assert!(!judge(&Expectation::Filtered, &one).has_passed());
    }

    #[test]
    fn a_fault_is_compared_by_its_code_and_told_in_words() {
        let actual = Actual::Failed { code: "unroutable_record".into(), message: "no tenant".into() };
        assert!(judge(&Expectation::Fails("unroutable_record".into()), &actual).has_passed());
        let judged = judge(&Expectation::Fails("payload_not_json".into()), &actual);
        assert_eq!((judged.has_passed(), judged.note.as_deref()), (false, Some("no tenant")));
    }
}
