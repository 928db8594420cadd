//! What may become of a value in a topic name.

use std::num::NonZeroU32;

use pico_config::{AllowedTopics, HashOf, Limits, Schema, Value};
use pico_record::{RecordPath, RuleError, murmur2};
use picomq_connector_sdk::Record;
use proptest::prelude::*;

use crate::given::*;

fn tenant(value: &str) -> String {
    serde_json::json!({ "tenant": value }).to_string()
}

#[test]
fn a_very_long_name_is_refused_with_record_and_value_cut_short_b073() {
    for length in [255, 5_000] {
        let message = refusal(by_tenant(), &tenant(&"x".repeat(length)));

        let shown = format!("\"{}…\"", "x".repeat(60));
        assert!(message.starts_with(&format!("record 0: {shown} names the topic \"orders.xx")), "{message}");
        assert!(message.contains(&format!("has {} characters, at most 249", length + 7)), "{message}");
        assert!(message.len() < 400, "{message}");
    }
    assert_eq!(topic_of(by_tenant(), &tenant(&"x".repeat(242))).unwrap().len(), 249);
}

#[test]
fn a_very_long_name_goes_to_the_fallback_b073() {
    let block = block(with_fallback(rule(field("tenant"), "orders.{value}"), "long"));
    assert_eq!(topic_of(block, &tenant(&"x".repeat(5_000))).unwrap(), "long");
}

#[test]
fn by_default_nothing_is_rewritten_and_case_is_kept_b075() {
    for value in ["a@b", "a$b", "a b", " ", "ä", "a/b", "orders\n"] {
        assert!(refusal(by_tenant(), &tenant(value)).contains("cannot stand in a topic name"), "{value}");
    }
    assert_eq!(topic_of(by_tenant(), &tenant("Acme")).unwrap(), "orders.Acme");
    assert_eq!(topic_of(by_tenant(), &tenant("acme")).unwrap(), "orders.acme");
}

#[test]
fn one_bad_name_refuses_the_whole_batch_and_good_ones_go_on_b071() {
    let mut path = path(&[to("all"), block(rule(field("tenant"), "{value}"))]);
    let [good, bad, other] = ["t1", "bad!name", "t2"].map(tenant);

    let failure = path.route(json(&[&good, &bad, &other]), PROVENANCE).unwrap_err();

    assert_eq!(failure.code, "unroutable_record");
    let expected =
        "record 1: field \"tenant\" is \"bad!name\", and '!' cannot stand in a topic name, so topics[1]";
    assert!(failure.message.starts_with(expected), "{failure}");
    assert_eq!(topics(&path.route(json(&[&good, &other]), PROVENANCE).unwrap()), ["all", "all", "t1", "t2"]);
}

#[test]
fn two_values_that_meet_by_replacing_are_reported_once_with_both_b075() {
    let mut path = path(&[block(replacing(rule(field("tenant"), "{value}")))]);
    let payloads = ["a@b", "a@b", "ok", "a$b", "a€b", "a@b"].map(tenant);
    let payloads: Vec<&str> = payloads.iter().map(String::as_str).collect();

    let routed = path.route(json(&payloads), PROVENANCE).unwrap();
    let clashes = path.take_clashes();

    assert_eq!(topics(&routed), ["a_b", "a_b", "a_b", "a_b", "a_b", "ok"]);
    assert_eq!(clashes.len(), 1);
    assert_eq!((clashes[0].block, &*clashes[0].topic), (0, "a_b"));
    assert_eq!(clashes[0].values, ["\"a@b\"", "\"a$b\""]);
    path.route(json(&payloads), PROVENANCE).unwrap();
    assert_eq!(path.take_clashes(), []);
}

#[test]
fn a_value_that_looks_like_a_placeholder_is_only_text_b078() {
    let record = Record::new("{}").with_key("{key}{field:x}{value}");
    let mut block = block(rule(Value::Key, "{value}"));
    block.record_key = Some(template("<{key}|{value}>"));
    let mut with_other_name = block.clone();
    with_other_name.rule = replacing(with_other_name.rule);

    let failure = path(&[block]).route(batch(Schema::Json, vec![record.clone()]), PROVENANCE).unwrap_err();
    let routed = path(&[with_other_name]).route(batch(Schema::Json, vec![record]), PROVENANCE).unwrap();

    assert!(failure.message.contains("'{' cannot stand in a topic name"), "{failure}");
    let sent = sent(&routed).remove(0);
    assert_eq!(sent.topic, "_key__field_x__value_");
    assert_eq!(sent.key.unwrap(), b"<{key}{field:x}{value}|{key}{field:x}{value}>");
}

#[test]
fn a_placeholder_may_stand_twice_b078() {
    let twice = block(rule(field("tenant"), "x{value}y{value}"));
    assert_eq!(topic_of(twice, &tenant("my")).unwrap(), "xmyymy");
}

#[test]
fn names_that_no_broker_takes_or_that_are_its_own_are_refused() {
    for value in [".", "..", "__consumer_offsets", "__"] {
        let block = block(rule(field("tenant"), "{value}"));
        assert!(topic_of(block, &tenant(value)).is_err(), "{value}");
    }
    assert_eq!(topic_of(block(rule(field("tenant"), "{value}")), &tenant("...")).unwrap(), "...");
    assert_eq!(topic_of(by_tenant(), &tenant("__x")).unwrap(), "orders.__x");
}

#[test]
fn a_value_with_a_character_that_stands_between_two_is_refused() {
    let two = || block(rule(field("tenant"), "{value}-{field:region}"));
    let payload =
        |tenant: &str, region: &str| serde_json::json!({ "tenant": tenant, "region": region }).to_string();

    assert_eq!(topic_of(two(), &payload("a", "b")).unwrap(), "a-b");
    assert!(refusal(two(), &payload("a-b", "c")).contains("'-' also stands between the values"));
    assert!(refusal(two(), &payload("a", "b-c")).contains("field \"region\" is \"b-c\""));
}

#[test]
fn two_values_side_by_side_are_refused_at_opening() {
    let blocks = [to("x"), block(rule(field("tenant"), "{value}{field:region}"))];

    let error = RecordPath::new(&blocks, &Limits::default()).unwrap_err();

    assert_eq!(error, RuleError::Adjacent { block: 1 });
}

#[test]
fn the_last_header_of_a_name_and_the_key_name_topics_and_absent_ones_do_not() {
    let by_header = || path(&[block(rule(Value::Header("tenant".into()), "{value}"))]);
    let by_key = || path(&[block(rule(Value::Key, "{value}"))]);
    let full = || Record::new("{}").with_key("k1").with_header("tenant", "h1").with_header("tenant", "h2");
    let one = |record| batch(Schema::Json, vec![record]);

    assert_eq!(topics(&by_header().route(one(full()), PROVENANCE).unwrap()), ["h2"]);
    assert_eq!(topics(&by_key().route(one(full()), PROVENANCE).unwrap()), ["k1"]);
    let no_header = by_header().route(one(Record::new("{}")), PROVENANCE).unwrap_err();
    assert!(no_header.message.contains("header \"tenant\" is not there"), "{no_header}");
    let no_key = by_key().route(one(Record::new("{}")), PROVENANCE).unwrap_err();
    assert!(no_key.message.contains("the record key is not there"), "{no_key}");
}

#[test]
fn bytes_that_are_no_text_are_illegal_or_replaced() {
    let by_key = |rule| path(&[block(rule)]);
    let record = || batch(Schema::Json, vec![Record::new("{}").with_key([b'a', 0xff])]);

    assert!(by_key(rule(Value::Key, "{value}")).route(record(), PROVENANCE).is_err());
    let routed = by_key(replacing(rule(Value::Key, "{value}"))).route(record(), PROVENANCE).unwrap();
    assert_eq!(topics(&routed), ["a_"]);
}

#[test]
fn a_hash_names_the_bucket_kafka_would() {
    let buckets = NonZeroU32::new(16).unwrap();
    let block = |of| block(rule(Value::Hash { of, buckets }, "b{value}"));
    // murmur2("21") is negative as Kafka computes it; the sign is taken off before the remainder.
    let expected = format!("b{}", (-973_932_308_i32 & 0x7fff_ffff) % 16);

    let by_field = block(HashOf::Field(pico_config::FieldPath::parse("n").unwrap()));
    assert_eq!(topic_of(by_field, r#"{"n":21}"#).unwrap(), expected);
    for of in [HashOf::Key, HashOf::Header("h".into())] {
        let record = Record::new("{}").with_key("21").with_header("h", "21");
        let routed = path(&[block(of)]).route(batch(Schema::Json, vec![record]), PROVENANCE).unwrap();
        assert_eq!(topics(&routed), std::slice::from_ref(&expected));
    }
    assert!(refusal(block(HashOf::Key), "{}").contains("the record key is not there"));
}

#[test]
fn a_name_outside_allowed_topics_is_unroutable() {
    let mut block = by_tenant();
    block.allowed_topics = Some(AllowedTopics::parse(r"orders\.(a|b)").unwrap());

    assert_eq!(topic_of(block.clone(), &tenant("a")).unwrap(), "orders.a");
    assert!(refusal(block.clone(), &tenant("c")).contains("which allowed_topics does not match"));
    block.rule = with_fallback(block.rule, "orders.b");
    assert_eq!(topic_of(block.clone(), &tenant("c")).unwrap(), "orders.b");
    block.rule = with_fallback(block.rule, "elsewhere");
    let error = RecordPath::new(&[block], &Limits::default()).unwrap_err();
    assert!(matches!(error, RuleError::NotAllowed { block: 0, .. }), "{error}");
}

proptest! {
    #[test]
    fn without_replacing_two_records_share_a_topic_only_with_equal_values(
        pairs in proptest::collection::vec(("[ab.-]{1,3}", "[ab.-]{1,3}"), 1..40),
        text in prop_oneof![Just("{value}.{field:b}"), Just("{field:b}-x-{value}"), Just("{value}.{field:b}.{value}")],
    ) {
        let rule = with_fallback(rule(field("a"), text), "no-topic");
        let payloads: Vec<String> =
            pairs.iter().map(|(a, b)| serde_json::json!({ "a": a, "b": b }).to_string()).collect();
        let mut path = path(&[block(rule)]);

        let mut seen = std::collections::HashMap::new();
        for (pair, payload) in pairs.iter().zip(&payloads) {
            let topic = topics(&path.route(json(&[payload]), PROVENANCE).unwrap()).remove(0);
            if topic != "no-topic" {
                prop_assert_eq!(seen.entry(topic).or_insert(pair), &pair);
            }
        }
    }

    #[test]
    fn a_bucket_is_always_below_the_number_of_buckets(key in any::<Vec<u8>>(), buckets in 1..u32::MAX) {
        let buckets = NonZeroU32::new(buckets).unwrap();
        let rule = rule(Value::Hash { of: HashOf::Key, buckets }, "{value}");
        let record = Record::new("{}").with_key(key.clone());

        let routed = path(&[block(rule)]).route(batch(Schema::Json, vec![record]), PROVENANCE).unwrap();

        let bucket: u32 = topics(&routed)[0].parse().unwrap();
        prop_assert_eq!(bucket, (murmur2(&key) & 0x7fff_ffff) % buckets);
    }
}
