//! The harness against a real Kafka, before any story rests on it.

use std::time::Duration;

use chaos_tests::admin::Admin;
use chaos_tests::consumer::{Entry, LogReader, PROVENANCE};
use chaos_tests::kafka::{Kafka, Switches};
use chaos_tests::proxy::Proxy;
use chaos_tests::site::scratch;
use chaos_tests::wait::wait_for;
use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

fn producer(bootstrap: &str, more: &[(&str, &str)]) -> BaseProducer {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("linger.ms", "0").set("reconnect.backoff.max.ms", "100");
    for (name, value) in more {
        config.set(*name, *value);
    }
    config.create().unwrap()
}

fn send(producer: &BaseProducer, topic: &str, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let header = Header { key: PROVENANCE, value: Some("7/1/0/9") };
        let payload = number.to_string();
        let record =
            BaseRecord::<(), str>::to(topic).payload(&payload).headers(OwnedHeaders::new().insert(header));
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
}

fn read(reader: &mut LogReader, topic: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    reader.read_to_end(&[topic], &mut |entry| entries.push(entry)).unwrap();
    entries
}

fn payloads(entries: &[Entry]) -> Vec<u32> {
    let text = |entry: &Entry| String::from_utf8(entry.payload.clone().unwrap()).unwrap();
    entries.iter().map(|entry| text(entry).parse().unwrap()).collect()
}

#[test]
fn a_reader_goes_on_where_it_stopped_and_passes_over_absent_topics() {
    let bootstrap = Kafka::shared().bootstrap();
    let admin = Admin::new(&bootstrap).unwrap();
    let mut reader = LogReader::new(&bootstrap).unwrap();
    assert!(read(&mut reader, "harness-reader").is_empty());
    admin.create(&["harness-reader"], &[]).unwrap();
    assert_eq!(admin.partitions("harness-reader").unwrap(), Some(1));
    let producer = producer(&bootstrap, &[]);

    send(&producer, "harness-reader", 0..3);
    producer.flush(Duration::from_secs(10)).unwrap();
    let first = read(&mut reader, "harness-reader");
    send(&producer, "harness-reader", 3..5);
    producer.flush(Duration::from_secs(10)).unwrap();

    assert_eq!(payloads(&first), [0, 1, 2]);
    assert_eq!(first[0].provenance().unwrap().life, 7);
    assert!(first[0].timestamp_ms > 1_600_000_000_000, "records carry the clock: {first:?}");
    assert_eq!(payloads(&read(&mut reader, "harness-reader")), [3, 4]);
    admin.delete(&["harness-reader"]).unwrap();
    wait_for("the end of a deleted log", Duration::from_secs(10), || match reader.end("harness-reader") {
        Ok(None) => Ok(()),
        // The leader may answer for a moment longer than the metadata knows the topic.
        other => Err(format!("{other:?}")),
    })
    .unwrap();
}

#[test]
fn a_kafka_keeps_its_log_over_a_kill_and_answers_nothing_while_paused() {
    let mut kafka = Kafka::start(&scratch().join("harness-restart"), Switches::default()).unwrap();
    let admin = Admin::new(&kafka.bootstrap()).unwrap();
    admin.create(&["kept"], &[]).unwrap();
    let producer = producer(&kafka.bootstrap(), &[]);
    send(&producer, "kept", 0..2);
    producer.flush(Duration::from_secs(10)).unwrap();

    kafka.pause();
    send(&producer, "kept", 2..3);
    assert!(producer.flush(Duration::from_millis(300)).is_err(), "a paused broker acknowledges nothing");
    kafka.resume();
    producer.flush(Duration::from_secs(10)).unwrap();
    kafka.kill();
    kafka.restart().unwrap();

    let mut reader = LogReader::new(&kafka.bootstrap()).unwrap();
    assert_eq!(payloads(&read(&mut reader, "kept")), [0, 1, 2]);
}

#[test]
fn an_append_cut_before_its_answer_doubles_a_plain_record_and_not_an_idempotent_one() {
    let dir = scratch().join("harness-proxy");
    let kafka = Kafka::start(&dir, Switches { proxied: true, ..Switches::default() }).unwrap();
    let proxy = Proxy::start(kafka.proxied()).unwrap();
    let admin = Admin::new(&kafka.bootstrap()).unwrap();
    let mut reader = LogReader::new(&kafka.bootstrap()).unwrap();
    for (topic, idempotence, wanted) in
        [("plain", "false", vec![0, 1, 1]), ("idempotent", "true", vec![0, 1])]
    {
        admin.create(&[topic], &[]).unwrap();
        let producer = producer(&kafka.proxied_bootstrap(), &[("enable.idempotence", idempotence)]);
        send(&producer, topic, 0..1);
        producer.flush(Duration::from_secs(10)).unwrap();

        let before = proxy.appends_cut();
        proxy.cut_after_append(1);
        send(&producer, topic, 1..2);
        producer.flush(Duration::from_secs(10)).unwrap();

        assert_eq!(proxy.appends_cut(), before + 1);
        assert_eq!(payloads(&read(&mut reader, topic)), wanted, "{topic}");
    }
}

#[test]
fn a_user_may_what_was_granted_over_scram_and_tls() {
    let switches = Switches { sasl: true, sasl_tls: true, ..Switches::default() };
    let kafka = Kafka::start(&scratch().join("harness-rights"), switches).unwrap();
    Admin::new(&kafka.bootstrap()).unwrap().create(&["granted", "closed"], &[]).unwrap();
    kafka.allow("writer", &["Write", "Describe"], "granted").unwrap();
    let authority = kafka.authority().display().to_string();
    let user = [
        ("security.protocol", "sasl_ssl"),
        ("ssl.ca.location", authority.as_str()),
        ("sasl.mechanisms", "SCRAM-SHA-512"),
        ("sasl.username", "writer"),
        ("sasl.password", "writer-secret"),
    ];
    let producer = producer(&kafka.sasl_tls_bootstrap(), &user);

    send(&producer, "granted", 0..1);
    producer.flush(Duration::from_secs(10)).unwrap();

    let mut reader = LogReader::new(&kafka.bootstrap()).unwrap();
    assert_eq!(payloads(&read(&mut reader, "granted")), [0]);
    let refused = wait_for("a refusal", Duration::from_secs(10), || {
        producer.poll(Duration::ZERO);
        let record = BaseRecord::<(), str>::to("closed").payload("x");
        match producer.send(record) {
            Err((KafkaError::MessageProduction(code), _)) => Ok(code),
            other => Err(format!("{:?}", other.map_err(|(error, _)| error))),
        }
    });
    assert_eq!(refused.unwrap(), rdkafka::types::RDKafkaErrorCode::TopicAuthorizationFailed);
    assert_eq!(reader.end("closed").unwrap(), Some(0));
}
