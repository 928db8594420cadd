//! Blocks and their rules.

use std::num::NonZeroU32;
use std::time::Duration;

use pico_config::{
    FieldPath, HashOf, Illegal, Part, Replication, Rule, Schema, Severity, Template, Value, check_topic_name,
};

use crate::given::{check, code, good, refused, source};

fn rule(text: &str) -> Rule {
    good(&source("", "").replace("\"t\"", text)).topics.remove(0).rule
}

fn refused_rule(text: &str) -> String {
    refused(&source("", "").replace("\"t\"", text))
}

fn dynamic(from: Value) -> Rule {
    Rule::Dynamic { from, template: Template::value(), fallback: None, illegal: Illegal::Missing }
}

#[test]
fn every_key_of_a_block_is_read() {
    let block = "schema = \"raw\"\nbatch_length = 7\nlinger_time = \"5ms\"\ncreate_topics = true\npartitions = 1\n\
                 replication_factor = 1\ntopic_config = { \"cleanup.policy\" = \"compact\", \"retention.ms\" = 5 }\n\
                 max_topics = 9\nallowed_topics = \"t|u\"\nrecord_key = \"{field:id}\"\n\
                 headers = { b = \"x{key}\", a = \"{header:y}\" }\nprovenance = true\n\
                 properties = { \"compression.type\" = \"zstd\" }";
    let block = good(&source("", block)).topics.remove(0);

    assert_eq!(block.rule, Rule::Static("t".to_owned()));
    assert_eq!((block.schema, block.batch_length, block.linger), (Schema::Raw, 7, Duration::from_millis(5)));
    assert!(block.create_topics && block.provenance);
    assert_eq!((block.replication, block.max_topics), (Replication::One, 9));
    assert_eq!(block.topic_config["retention.ms"], "5");
    assert_eq!(block.allowed_topics.unwrap().as_str(), "t|u");
    assert_eq!(block.record_key.unwrap().to_string(), "{field:id}");
    let names: Vec<&str> = block.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(block.properties.get("compression.type"), Some("zstd"));
}

#[test]
fn every_strategy_is_read() {
    let path = || FieldPath::parse("a.b").unwrap();
    let buckets = NonZeroU32::new(16).unwrap();
    assert_eq!(rule("{ strategy = \"static\", name = \"u\" }"), Rule::Static("u".to_owned()));
    assert_eq!(rule("{ name = \"u\" }"), Rule::Static("u".to_owned()));
    assert_eq!(rule("{ strategy = \"field\", path = \"a.b\" }"), dynamic(Value::Field(path())));
    assert_eq!(rule("{ strategy = \"header\", header = \"h\" }"), dynamic(Value::Header("h".to_owned())));
    assert_eq!(rule("{ strategy = \"key\" }"), dynamic(Value::Key));
    let hash = |of| dynamic(Value::Hash { of, buckets });
    assert_eq!(rule("{ strategy = \"hash\", buckets = 16, path = \"a.b\" }"), hash(HashOf::Field(path())));
    assert_eq!(
        rule("{ strategy = \"hash\", buckets = 16, header = \"h\" }"),
        hash(HashOf::Header("h".to_owned()))
    );
    assert_eq!(rule("{ strategy = \"hash\", buckets = 16 }"), hash(HashOf::Key));
}

#[test]
fn template_fallback_and_replacement_are_read() {
    let text =
        "{ strategy = \"key\", template = \"o.{value}\", fallback = \"o.none\", illegal = \"replace\" }";
    let Rule::Dynamic { template, fallback, illegal, .. } = rule(text) else { unreachable!() };
    assert_eq!(template.parts, [Part::Literal("o.".to_owned()), Part::Value]);
    assert_eq!((fallback.as_deref(), illegal), (Some("o.none"), Illegal::Replace));
}

#[test]
fn a_rule_without_what_its_strategy_needs_is_refused() {
    insta::assert_snapshot!(refused_rule("{ strategy = \"field\" }"), @r#"config.missing_field 6:9 topics[0].topic: `path` is missing: strategy = "field" needs it"#);
    insta::assert_snapshot!(refused_rule("{ strategy = \"hash\" }"), @r#"config.missing_field 6:9 topics[0].topic: `buckets` is missing: strategy = "hash" needs it (choose it with room: changing it later moves most keys)"#);
    insta::assert_snapshot!(refused_rule("{ strategy = \"fild\", path = \"x\" }"), @"config.unknown_value 6:22 topics[0].topic.strategy: `strategy` must be one of `static`, `field`, `header`, `key`, `hash`, not `fild` (did you mean `field`?)");
    insta::assert_snapshot!(refused_rule("{ strategy = \"hash\", buckets = 0 }"), @"config.out_of_range 6:40 topics[0].topic.buckets: `buckets` is 0, allowed is 1 to 2147483647");
    insta::assert_snapshot!(refused_rule("{}"), @r#"config.missing_field 6:9 topics[0].topic: `name` is missing: strategy = "static" needs it"#);
}

#[test]
fn a_broken_template_is_refused_at_its_character_b078() {
    let template = |text: &str| format!("{{ strategy = \"field\", path = \"x\", template = \"{text}\" }}");
    insta::assert_snapshot!(refused_rule(&template("orders.{valeu}")), @"config.bad_template 6:62 topics[0].topic.template: unknown placeholder `{valeu}` (did you mean `{value}`?)");
    insta::assert_snapshot!(refused_rule(&template("{data.tenant}")), @"config.bad_template 6:55 topics[0].topic.template: unknown placeholder `{data.tenant}` (placeholders are {value}, {key}, {field:PATH} and {header:NAME}; a field is {field:data.tenant})");
    insta::assert_snapshot!(refused_rule(&template("a{value")), @"config.bad_template 6:56 topics[0].topic.template: `{` is never closed (write `{{` for a brace)");
    insta::assert_snapshot!(refused_rule(&template("}")), @"config.bad_template 6:55 topics[0].topic.template: `}` closes nothing (write `}}` for a brace)");
    insta::assert_snapshot!(refused_rule(&template("")), @"config.bad_template 6:54 topics[0].topic.template: the template is empty");
    insta::assert_snapshot!(refused_rule(&template("orders")), @r#"config.bad_template 6:55 topics[0].topic.template: the template of a rule needs `{value}` (for one topic write topic = "NAME")"#);
    insta::assert_snapshot!(refused_rule(&template("a/{value}")), @"config.bad_template 6:55 topics[0].topic.template: the template cannot give a topic name, it contains '/' (topic names are made of A-Z a-z 0-9 . _ -)");
    insta::assert_snapshot!(refused_rule(&template("__{value}")), @"config.bad_template 6:55 topics[0].topic.template: names that begin with `__` are the broker's own");
}

#[test]
fn a_template_that_leaves_no_room_is_refused_b073() {
    let long = "x".repeat(249);
    let text = format!("{{ strategy = \"key\", template = \"{long}{{value}}\" }}");
    assert!(refused_rule(&text).contains("leaves no room"));
}

#[test]
fn topics_that_no_broker_takes_are_refused_b073() {
    insta::assert_snapshot!(refused_rule("\"orders.{value}\""), @r#"config.bad_topic 6:17 topics[0].topic: a topic name cannot contain '{' (a topic that depends on the record is a rule: topic = { strategy = "field", path = "tenant", template = "orders.{value}" })"#);
    for name in ["", ".", "..", "__x", "a b", &"x".repeat(250)] {
        assert!(check_topic_name(name).is_err());
        assert_eq!(
            code(&source("", "").replace("\"t\"", &format!("{name:?}"))),
            "config.bad_topic",
            "{name}"
        );
        let fallback = format!("{{ strategy = \"key\", fallback = {name:?} }}");
        assert_eq!(code(&source("", "").replace("\"t\"", &fallback)), "config.bad_topic", "{name}");
    }
}

#[test]
fn keys_that_a_strategy_does_not_read_are_said() {
    let text = source("", "").replace("\"t\"", "{ strategy = \"key\", path = \"x\", buckets = 3 }");
    let (definition, findings) = check(&text);
    assert!(definition.is_some());
    let said: Vec<_> = findings.iter().map(|f| (f.severity, f.code, f.toml_path.as_str())).collect();
    let no_effect = (Severity::Warning, "config.no_effect");
    let expected =
        ["topics[0].topic.path", "topics[0].topic.buckets"].map(|path| (no_effect.0, no_effect.1, path));
    assert_eq!(said, expected);
}

#[test]
fn value_has_no_meaning_beside_a_literal_topic() {
    insta::assert_snapshot!(refused(&source("", "record_key = \"{value}\"")), @"config.bad_template 7:14 topics[0].record_key: `{value}` is the value of the topic's rule, and this topic has none (name the field: {field:PATH})");
    assert_eq!(code(&source("", "headers = { x = \"{value}\" }")), "config.bad_template");
    good(&source("", "record_key = \"{value}\"").replace("\"t\"", "{ strategy = \"key\" }"));
}

#[test]
fn headers_of_the_engine_are_not_for_others() {
    assert_eq!(code(&source("", "headers = { \"picomq.batch\" = \"x\" }")), "config.bad_header");
}

#[test]
fn allowed_topics_must_allow_the_blocks_own_topic() {
    assert_eq!(code(&source("", "allowed_topics = \"u\"")), "config.topic_not_allowed");
    assert_eq!(code(&source("", "allowed_topics = \"(\"")), "config.bad_regex");
}

#[test]
fn linger_is_whole_milliseconds_up_to_librdkafkas_limit() {
    assert_eq!(code(&source("", "linger_time = \"1500us\"")), "config.bad_duration");
    assert_eq!(code(&source("", "linger_time = \"901s\"")), "config.out_of_range");
}

#[test]
fn replication_other_than_one_is_refused() {
    assert_eq!(code(&source("", "replication_factor = 3")), "config.replication_unsupported");
    assert_eq!(good(&source("", "")).topics[0].replication, Replication::BrokerDefault);
}
