//! What leaves beside the payload.

use pico_config::{Limits, Schema, Value};
use pico_record::{RecordPath, RuleError};
use picomq_connector_sdk::Record;

use crate::given::*;

fn only(records: Vec<Record>, block: pico_config::TopicBlock) -> Vec<Sent> {
    sent(&path(&[block]).route(batch(Schema::Json, records), PROVENANCE).unwrap())
}

fn header(name: &str, value: &str) -> (String, Vec<u8>) {
    (name.to_owned(), value.as_bytes().to_vec())
}

#[test]
fn a_tombstone_stays_one_and_empty_stays_empty_b092() {
    let mut raw = to("t");
    raw.schema = Schema::Raw;
    let records = vec![Record::tombstone("k"), Record::new("").with_key(""), Record::new("x")];

    let sent = only(records, raw);

    let payloads: Vec<_> = sent.iter().map(|sent| sent.payload.as_deref()).collect();
    assert_eq!(payloads, [None, Some(&b""[..]), Some(b"x")]);
    let keys: Vec<_> = sent.iter().map(|sent| sent.key.as_deref()).collect();
    assert_eq!(keys, [Some(&b"k"[..]), Some(b""), None]);
}

#[test]
fn a_tombstone_is_fine_as_json_and_has_no_fields_b092() {
    assert_eq!(only(vec![Record::tombstone("k")], to("t"))[0].payload, None);

    let records = batch(Schema::Json, vec![Record::tombstone("k")]);
    let failure = path(&[by_tenant()]).route(records, PROVENANCE).unwrap_err();

    let expected = "record 0: field \"tenant\" cannot be read, the record has no payload";
    assert!(failure.message.starts_with(expected), "{failure}");
}

#[test]
fn a_tombstone_after_a_record_does_not_inherit_its_fields_b092() {
    let records = vec![Record::new(r#"{"tenant":"a"}"#), Record::tombstone("k")];
    let block = block(with_fallback(rule(field("tenant"), "{value}"), "none"));

    let topics: Vec<_> = only(records, block).into_iter().map(|sent| sent.topic).collect();

    assert_eq!(topics, ["a", "none"]);
}

#[test]
fn an_empty_payload_is_not_json_b092() {
    let failure = path(&[to("t")]).route(json(&[""]), PROVENANCE).unwrap_err();

    assert_eq!(failure.code, "payload_not_json");
}

#[test]
fn key_bytes_are_the_plugins_unless_the_definition_writes_a_key_b092() {
    let record = || Record::new(r#"{"user":"u1","n":7}"#).with_key([0xff, 0]);
    let mut keyed = to("t");
    keyed.record_key = Some(template("{field:user}/{field:n}/{key}"));

    assert_eq!(only(vec![record()], to("t"))[0].key.as_deref(), Some(&[0xff, 0][..]));
    assert_eq!(only(vec![record()], keyed)[0].key.as_deref(), Some(&b"u1/7/\xff\0"[..]));
}

#[test]
fn a_record_key_without_its_value_is_refused() {
    let mut keyed = to("t");
    keyed.record_key = Some(template("{field:user}"));

    let failure = topic_of(keyed, r#"{"user":null}"#).unwrap_err();

    assert_eq!(failure.code, "record_key_missing");
    let expected = "record 0: field \"user\" is null, so record_key of topics[0] cannot be written";
    assert!(failure.message.starts_with(expected), "{failure}");
}

#[test]
fn an_empty_string_is_a_value_of_a_key_and_a_header() {
    let mut block = to("t");
    block.record_key = Some(template("{field:user}"));
    block.headers = vec![("user".into(), template("{field:user}"))];

    let sent = only(vec![Record::new(r#"{"user":""}"#)], block).remove(0);

    assert_eq!(sent.key.as_deref(), Some(&b""[..]));
    assert_eq!(sent.headers, [header("user", "")]);
}

#[test]
fn headers_come_in_order_and_one_without_a_value_is_left_out() {
    let record = Record::new(r#"{"tenant":"a","n":null}"#)
        .with_id("id-1")
        .with_header("own", "1")
        .with_header("own", "2");
    let mut block = block(rule(field("tenant"), "t-{value}"));
    block.headers = vec![
        ("fixed".into(), template("text")),
        ("gone".into(), template("x{field:n}")),
        ("own".into(), template("{value}+{header:own}")),
    ];
    block.provenance = true;

    let sent = only(vec![Record::new(r#"{"tenant":"a"}"#), record], block);

    let provenance = header("picomq.batch", "77/5/1/2");
    let expected = [
        header("own", "1"),
        header("own", "2"),
        header("picomq.id", "id-1"),
        header("fixed", "text"),
        header("own", "a+2"),
        provenance,
    ];
    assert_eq!(sent[1].headers, expected);
}

#[test]
fn without_asking_nothing_is_added() {
    let sent = only(vec![Record::new("{}")], to("t"));

    assert_eq!((&sent[0].key, &sent[0].headers), (&None, &vec![]));
}

#[test]
fn each_block_writes_its_own_key_and_headers() {
    let mut first = to("first");
    first.headers = vec![("h".into(), template("1"))];
    let mut second = to("second");
    second.record_key = Some(template("k"));
    let mut path = path(&[first, second, to("third")]);

    let sent = sent(&path.route(json(&["{}"]), PROVENANCE).unwrap());

    let parts: Vec<_> = sent.iter().map(|sent| (sent.key.as_deref(), sent.headers.len())).collect();
    assert_eq!(parts, [(None, 1), (Some(&b"k"[..]), 0), (None, 0)]);
}

#[test]
fn the_value_of_a_hash_rule_is_its_bucket_in_headers_too() {
    let buckets = std::num::NonZeroU32::new(1).unwrap();
    let mut block = block(rule(Value::Hash { of: pico_config::HashOf::Key, buckets }, "t{value}"));
    block.headers = vec![("bucket".into(), template("{value}"))];

    let sent = only(vec![Record::new("{}").with_key("k")], block);

    assert_eq!(sent[0].headers, [header("bucket", "0")]);
}

#[test]
fn a_static_rule_has_no_value_to_write() {
    let mut block = to("t");
    block.headers = vec![("h".into(), template("{value}"))];

    let error = RecordPath::new(&[block], &Limits::default()).unwrap_err();

    assert!(matches!(&error, RuleError::NoValue { block: 0, place } if place == "header \"h\""), "{error}");
}
