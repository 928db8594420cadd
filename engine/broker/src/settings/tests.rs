use pico_config::{Rule, Sasl, Secret, SecurityProtocol};

use super::*;

fn block(properties: &[(&str, &str)]) -> TopicBlock {
    let properties = properties.iter().copied().collect();
    TopicBlock { properties, ..TopicBlock::new(Rule::Static("topic".to_owned())) }
}

fn check_one(properties: &[(&str, &str)]) -> Vec<Finding> {
    check(&Kafka::default(), &Limits::default(), &[block(&[]), block(properties)])
}

#[test]
fn the_defaults_are_taken() {
    assert_eq!(check_one(&[]), []);
}

#[test]
fn other_settings_of_the_producer_are_taken() {
    assert_eq!(check_one(&[("compression.type", "zstd"), ("batch.size", "500000")]), []);
}

#[test]
fn every_codec_is_built_in() {
    for codec in ["gzip", "snappy", "lz4", "zstd"] {
        assert_eq!(check_one(&[("compression.type", codec)]), [], "{codec}");
    }
}

#[test]
fn an_unknown_name_is_refused_by_name_and_block_b091() {
    let findings = check_one(&[("compresion.type", "zstd")]);

    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].block, findings[0].name.as_deref()), (Some(1), Some("compresion.type")));
    assert!(findings[0].reason.contains("compresion.type"), "{findings:?}");
}

#[test]
fn a_wrong_value_is_refused_by_name_b091() {
    let findings = check_one(&[("batch.size", "many")]);

    assert_eq!(findings[0].name.as_deref(), Some("batch.size"));
    assert!(findings[0].reason.contains("batch.size"), "{findings:?}");
}

#[test]
fn a_value_out_of_range_is_refused_by_name_b091() {
    let findings = check_one(&[("socket.timeout.ms", "-7")]);

    assert_eq!(findings[0].name.as_deref(), Some("socket.timeout.ms"));
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    let kafka = Kafka {
        properties: [("ssl.ca.location", "/no/such/file")].into_iter().collect(),
        ..Kafka::default()
    };
    let tls = Kafka { security_protocol: SecurityProtocol::Ssl, ..kafka };

    let findings = check(&tls, &Limits::default(), &[block(&[])]);

    assert_eq!((findings.len(), findings[0].block), (1, None));
    assert!(findings[0].reason.contains("ssl.ca.location"), "{findings:?}");
}

#[test]
fn a_fault_of_the_kafka_section_is_told_once() {
    let kafka = Kafka { properties: [("no.such.name", "1")].into_iter().collect(), ..Kafka::default() };

    let findings = check(&kafka, &Limits::default(), &[block(&[]), block(&[])]);

    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].block, findings[0].name.as_deref()), (None, Some("no.such.name")));
}

#[test]
fn a_refused_secret_is_not_shown() {
    let kafka = Kafka {
        properties: [("ssl.key.password", "canary")].into_iter().collect(),
        security_protocol: SecurityProtocol::SaslSsl,
        sasl: Sasl { password: Secret::new("canary".to_owned()), ..Sasl::default() },
        ..Kafka::default()
    };

    let findings = check(&kafka, &Limits::default(), &[block(&[("ssl.keystore.password", "canary")])]);

    assert!(!format!("{findings:?}").contains("canary"), "{findings:?}");
}

#[test]
fn nothing_overrides_what_the_engine_owns_b088() {
    let owned = [
        ("acks", "0"),
        ("request.required.acks", "1"),
        ("enable.idempotence", "false"),
        ("enable.gapless.guarantee", "false"),
        ("message.timeout.ms", "1000"),
        ("delivery.timeout.ms", "1000"),
        ("partitioner", "random"),
        ("message.max.bytes", "5000"),
        ("queue.buffering.max.messages", "7"),
        ("queue.buffering.max.ms", "900"),
        ("delivery.report.only.error", "true"),
        ("bootstrap.servers", "elsewhere:1"),
        ("metadata.broker.list", "elsewhere:1"),
    ];
    let plain = Kafka::default();
    let weak = Kafka { properties: owned.iter().copied().collect(), ..Kafka::default() };
    let bounds = QueueBounds { messages: 1_000, bytes: 1_000_000 };
    let key = |properties: &[(&str, &str)]| ClientKey::of(&block(properties));

    let wanted = producer(&plain, &Limits::default(), &key(&[]), bounds, false);

    assert_eq!(wanted["acks"], "all");
    assert_eq!(wanted["message.timeout.ms"], "0");
    assert_eq!(producer(&weak, &Limits::default(), &key(&[]), bounds, false), wanted);
    assert_eq!(producer(&plain, &Limits::default(), &key(&owned), bounds, false), wanted);
}

#[test]
fn a_client_holds_a_whole_window_of_every_block_that_shares_it() {
    let limits = Limits::default();

    let one = QueueBounds::new(&limits, 4, 1);
    let three = QueueBounds::new(&limits, 4, 3);

    assert_eq!(one.messages, 40_000);
    assert_eq!(one.bytes, limits.in_flight_bytes + limits.batch_bytes);
    assert_eq!((three.messages, three.bytes), (120_000, one.bytes * 3));
}

#[test]
fn blocks_differ_in_client_by_length_linger_and_properties_alone() {
    let plain = ClientKey::of(&block(&[]));

    assert_eq!(ClientKey::of(&TopicBlock { create_topics: true, ..block(&[]) }), plain);
    assert_ne!(ClientKey::of(&TopicBlock { batch_length: 7, ..block(&[]) }), plain);
    assert_ne!(ClientKey::of(&TopicBlock { linger: Duration::from_millis(5), ..block(&[]) }), plain);
    assert_ne!(ClientKey::of(&block(&[("compression.type", "lz4")])), plain);
}
