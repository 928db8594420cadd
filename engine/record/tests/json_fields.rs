//! Fields of JSON payloads as topics.

use pico_config::Schema;
use picomq_connector_sdk::Record;

use crate::given::*;

#[test]
fn a_value_without_text_is_refused_with_record_and_field_b074() {
    for (payload, why) in [
        (r#"{"id":1}"#, "is not there"),
        (r#"{"tenant":null}"#, "is null"),
        (r#"{"tenant":""}"#, "is empty"),
        (r#"{"tenant":[]}"#, "is an object or an array"),
        (r#"{"tenant":{}}"#, "is an object or an array"),
    ] {
        let failure = topic_of(by_tenant(), payload).unwrap_err();

        assert_eq!(failure.code, "unroutable_record");
        let expected = format!("record 0: field \"tenant\" {why}, so topics[0] has no topic for it");
        assert!(failure.message.starts_with(&expected), "{}", failure.message);
    }
}

#[test]
fn a_value_without_text_goes_to_the_fallback_b074() {
    let block = || block(with_fallback(rule(field("tenant"), "orders.{value}"), "orders-unknown"));
    for value in ["null", "\"\"", "[]", "{}", "[1]", "{\"a\":1}"] {
        let topic = topic_of(block(), &format!(r#"{{"tenant":{value}}}"#)).unwrap();
        assert_eq!(topic, "orders-unknown", "{value}");
    }
    assert_eq!(topic_of(block(), "{}").unwrap(), "orders-unknown");
    assert_eq!(topic_of(block(), "5").unwrap(), "orders-unknown");
}

#[test]
fn numbers_and_booleans_name_topics_with_and_without_fallback_b074() {
    let fallback = || block(with_fallback(rule(field("tenant"), "{value}"), "other"));
    for (payload, topic) in [(r#"{"tenant":5}"#, "5"), (r#"{"tenant":true}"#, "true")] {
        assert_eq!(topic_of(fallback(), payload).unwrap(), topic);
        assert_eq!(topic_of(by_tenant(), payload).unwrap(), format!("orders.{topic}"));
    }
}

#[test]
fn a_nested_path_works_and_a_dotted_key_is_not_one_b079() {
    let nested = || block(with_fallback(rule(field("a.b"), "{value}"), "none"));
    assert_eq!(topic_of(nested(), r#"{"a":{"b":"x"}}"#).unwrap(), "x");
    assert_eq!(topic_of(nested(), r#"{"a.b":"y"}"#).unwrap(), "none");
    assert_eq!(topic_of(nested(), r#"{"a":[{"b":"z"}]}"#).unwrap(), "none");
    let indexed = block(rule(field("a.0.b"), "{value}"));
    assert_eq!(topic_of(indexed, r#"{"a":[{"b":"z"}]}"#).unwrap(), "z");
}

#[test]
fn escapes_are_undone_before_the_name_is_judged() {
    assert_eq!(topic_of(by_tenant(), r#"{"tenant":"\u0061cme"}"#).unwrap(), "orders.acme");
    assert!(refusal(by_tenant(), r#"{"tenant":"a\u002fb"}"#).contains("'/' cannot stand in a topic name"));
}

#[test]
fn a_field_of_a_text_payload_is_read_where_it_is_json() {
    let mut block = block(with_fallback(rule(field("tenant"), "{value}"), "plain"));
    block.schema = Schema::Text;
    let records = vec![Record::new("tenant = acme"), Record::new(r#"{"tenant":"acme"}"#)];

    let routed = path(&[block]).route(batch(Schema::Text, records), PROVENANCE).unwrap();

    assert_eq!(topics(&routed), ["plain", "acme"]);
}

#[test]
fn a_field_of_a_raw_payload_is_never_read() {
    let mut block = by_tenant();
    block.schema = Schema::Raw;
    let records = vec![Record::new(r#"{"tenant":"acme"}"#)];

    let failure = path(&[block]).route(batch(Schema::Raw, records), PROVENANCE).unwrap_err();

    assert!(
        failure.message.contains("field \"tenant\" cannot be read, the payload is not JSON"),
        "{failure}"
    );
}
