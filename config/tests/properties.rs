//! librdkafka settings inside a definition and inside `[kafka]`.

use std::time::Duration;

use pico_config::Severity;

use crate::given::{check, code, engine, good, refused, refused_engine, source};

fn with(properties: &str) -> String {
    source("", &format!("properties = {{ {properties} }}"))
}

#[test]
fn settings_that_fake_an_acknowledgement_are_refused_with_the_reason_b088() {
    insta::assert_snapshot!(refused(&with("acks = \"0\"")), @"config.property_refused 7:16 topics[0].properties.acks: the property `acks` is refused: a batch is acked only after a real report of all in-sync replicas for every record (take it out)");
    insta::assert_snapshot!(refused(&with("\"delivery.report.only.error\" = true")), @r#"config.property_refused 7:16 topics[0].properties."delivery.report.only.error": the property `delivery.report.only.error` is refused: a batch is acked only after a real report of all in-sync replicas for every record (take it out)"#);
}

#[test]
fn settings_that_break_the_engine_are_refused_by_name_b091() {
    insta::assert_snapshot!(refused(&with("\"bootstrap.servers\" = \"x:9092\"")), @r#"config.property_refused 7:16 topics[0].properties."bootstrap.servers": the property `bootstrap.servers` is refused: every source sends to the one broker of config.toml, [kafka] bootstrap_servers (take it out)"#);
    insta::assert_snapshot!(refused(&with("\"compresion.type\" = \"zstd\"")), @r#"config.property_unknown 7:16 topics[0].properties."compresion.type": librdkafka has no property `compresion.type` (did you mean `compression.type`?)"#);
    insta::assert_snapshot!(refused(&with("\"compression.type\" = \"zip\"")), @r#"config.property_value 7:37 topics[0].properties."compression.type": the property `compression.type` must be one of `none`, `gzip`, `snappy`, `lz4`, `zstd`, not `zip`"#);
    insta::assert_snapshot!(refused(&with("\"batch.size\" = 0")), @r#"config.property_value 7:31 topics[0].properties."batch.size": the property `batch.size` must be an integer from 1 to 2147483647, not `0`"#);
    insta::assert_snapshot!(refused(&with("\"group.id\" = \"x\"")), @r#"config.property_refused 7:16 topics[0].properties."group.id": the property `group.id` is one of consumers, a source only produces (take it out)"#);
    assert_eq!(code(&source("", "partitions = 3")), "config.partitions_unsupported");
}

#[test]
fn the_clients_queue_is_not_for_definitions_b086() {
    insta::assert_snapshot!(refused(&with("\"queue.buffering.max.messages\" = 10")), @r#"config.property_refused 7:16 topics[0].properties."queue.buffering.max.messages": the property `queue.buffering.max.messages` is refused: the engine sizes the client's queue from [limits] (take it out)"#);
}

#[test]
fn settings_that_are_keys_of_the_block_are_sent_there() {
    insta::assert_snapshot!(refused(&with("\"linger.ms\" = 5, \"batch.num.messages\" = 5")), @r#"
    config.property_refused 7:16 topics[0].properties."linger.ms": the property `linger.ms` has a key of its own (write it as `linger_time` of the block)
    config.property_refused 7:33 topics[0].properties."batch.num.messages": the property `batch.num.messages` has a key of its own (write it as `batch_length` of the block)
    "#);
}

#[test]
fn values_equal_to_the_engines_own_are_accepted_and_left_out() {
    let text =
        with("acks = \"all\", \"enable.idempotence\" = true, \"message.timeout.ms\" = 0, \"batch.size\" = 5");
    let properties = good(&text).topics.remove(0).properties;
    assert_eq!(properties.iter().collect::<Vec<_>>(), [("batch.size", "5")]);
}

#[test]
fn a_message_timeout_becomes_the_batch_deadline_and_is_said() {
    let (definition, findings) = check(&with("\"delivery.timeout.ms\" = 90000"));
    let definition = definition.unwrap();
    assert_eq!(definition.supervision.batch_deadline, Duration::from_secs(90));
    assert!(definition.topics[0].properties.is_empty());
    assert_eq!((findings[0].severity, findings[0].code), (Severity::Info, "config.batch_deadline"));
    assert!(findings[0].hint.as_ref().unwrap().contains("\"1m30s\""), "{findings:?}");
}

#[test]
fn two_deadlines_that_differ_are_refused() {
    let timeout = "properties = { \"message.timeout.ms\" = 90000 }";
    let both = source("[supervision]\nbatch_deadline = \"1m\"", timeout);
    assert!(refused(&both).contains("[supervision] batch_deadline differ"));
    good(&source("[supervision]\nbatch_deadline = \"90s\"", timeout));
    let blocks =
        source("", timeout) + "[[topics]]\ntopic = \"u\"\nproperties = { \"message.timeout.ms\" = 1 }\n";
    assert!(refused(&blocks).contains("two blocks differ"));
}

#[test]
fn kafka_properties_may_reach_files_but_not_weaken_delivery_b091() {
    let (engine, _) =
        engine("[kafka.properties]\n\"ssl.ca.location\" = \"/x\"\n\"debug\" = \"broker\"\n").unwrap();
    assert_eq!(engine.kafka.properties.len(), 2);
    insta::assert_snapshot!(refused_engine("[kafka]\nproperties = { acks = 1, \"bootstrap.servers\" = \"x\" }"), @r#"
    config.property_refused 2:16 kafka.properties.acks: the property `acks` is refused: a batch is acked only after a real report of all in-sync replicas for every record (take it out)
    config.property_refused 2:26 kafka.properties."bootstrap.servers": the property `bootstrap.servers` is refused: write it as [kafka] bootstrap_servers (take it out)
    "#);
}
