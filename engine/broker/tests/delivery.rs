//! What goes right: records in their topics, in order, whole; events in order; queues that fill.

use std::time::{Duration, Instant};

use pico_actors::ports::{BrokerPort, DeliveryEvent};
use pico_config::{Template, TopicBlock};
use picomq_connector_sdk::Record;

use crate::support::{
    Source, Stored, by_field, fresh, kafka, log_of, outside, record_for, server, settings, texts_in,
    texts_in_all, to_topic,
};

fn numbers(from: usize, count: usize) -> Vec<Record> {
    (from..from + count).map(|number| Record::new(number.to_string())).collect()
}

fn texts(from: usize, count: usize) -> Vec<String> {
    (from..from + count).map(|number| number.to_string()).collect()
}

#[test]
fn a_batch_is_enqueued_then_settled_and_lies_in_its_topic_in_order() {
    let topic = fresh("ordered");
    outside().create(&topic, 1, &[]);
    let mut source = Source::on_kafka(vec![to_topic(&topic)]);

    let delivery = source.deliver(numbers(0, 2_500));

    assert_eq!(delivery.all(), [DeliveryEvent::Enqueued, DeliveryEvent::Settled]);
    assert_eq!(texts_in(&topic), texts(0, 2_500));
}

#[test]
fn a_window_of_batches_keeps_their_order() {
    let topic = fresh("window");
    outside().create(&topic, 1, &[]);
    let mut source = Source::on_kafka(vec![to_topic(&topic)]);

    let window: Vec<_> = (0..16).map(|batch| source.deliver(numbers(batch * 500, 500))).collect();

    window.iter().for_each(|delivery| delivery.is_good());
    assert_eq!(texts_in(&topic), texts(0, 8_000));
}

#[test]
fn keys_headers_timestamps_and_ids_travel_and_empty_is_not_null_b092() {
    let topic = fresh("whole");
    outside().create(&topic, 1, &[]);
    let mut source = Source::on_kafka(vec![to_topic(&topic)]);

    let records = vec![
        Record::new("plain"),
        Record::tombstone("gone"),
        Record::new("").with_key(""),
        Record::new("dressed")
            .with_key("k")
            .with_header("a", "1")
            .with_header("b", "")
            .with_timestamp_ms(1_234_567),
        Record::new("named").with_id("id-7"),
        Record::new("last"),
    ];
    source.deliver(records).is_good();

    let stored = log_of(&server().plain, &topic);
    let parts: Vec<_> = stored.iter().map(|s| (s.payload.as_deref(), s.key.as_deref())).collect();
    assert_eq!(parts[0], (Some(&b"plain"[..]), None));
    assert_eq!(parts[1], (None, Some(&b"gone"[..])));
    assert_eq!(parts[2], (Some(&b""[..]), Some(&b""[..])));
    assert_eq!(parts[3], (Some(&b"dressed"[..]), Some(&b"k"[..])));
    assert_eq!(parts[5], (Some(&b"last"[..]), None));
    assert_eq!(stored[3].headers, [("a".to_owned(), b"1".to_vec()), ("b".to_owned(), Vec::new())]);
    assert_eq!(stored[3].timestamp_ms, Some(1_234_567));
    assert_eq!(stored[4].headers, [("picomq.id".to_owned(), b"id-7".to_vec())]);
    assert!(stored[0].timestamp_ms.is_some_and(|ms| ms > 1_700_000_000_000), "the time of producing");
}

#[test]
fn every_record_goes_to_every_block() {
    let (left, right, slow) = (fresh("left"), fresh("right"), fresh("slow"));
    [&left, &right, &slow].iter().for_each(|topic| outside().create(topic, 1, &[]));
    // The third differs in its client's settings, so it has a client of its own.
    let slow_block = TopicBlock { linger: Duration::from_millis(5), ..to_topic(&slow) };
    let mut source = Source::on_kafka(vec![to_topic(&left), to_topic(&right), slow_block]);

    source.deliver(numbers(0, 1_500)).is_good();

    for topic in [&left, &right, &slow] {
        assert_eq!(texts_in(topic), texts(0, 1_500), "{topic}");
    }
}

#[test]
fn a_topic_with_more_partitions_is_keyed_as_kafka_does() {
    let topic = fresh("keyed");
    outside().create(&topic, 3, &[]);
    let mut source = Source::on_kafka(vec![to_topic(&topic)]);

    let records =
        (0..300).map(|number| Record::new(number.to_string()).with_key(format!("key-{}", number % 20)));
    source.deliver(records.collect()).is_good();

    let stored = log_of(&server().plain, &topic);
    assert_eq!(stored.len(), 300);
    for Stored { partition, key, .. } in &stored {
        let hash = pico_record::murmur2(key.as_deref().unwrap()) & 0x7fff_ffff;
        assert_eq!(*partition as u32, hash % 3);
    }
}

#[test]
fn a_batch_fans_out_to_many_topics() {
    let block = TopicBlock { create_topics: true, headers: vec![], ..by_field() };
    let mut source = Source::on_kafka(vec![block]);
    let topics: Vec<_> = (0..50).map(|_| fresh("fan")).collect();

    let records = (0..1_000).map(|number| record_for(&topics[number % 50], number));
    source.deliver_json(records.collect()).is_good();

    let logs = texts_in_all(&topics);
    for (at, topic) in topics.iter().enumerate() {
        let expected: Vec<_> =
            (0..20).map(|n| format!("{{\"topic\":\"{topic}\",\"number\":{}}}", at + n * 50)).collect();
        assert_eq!(logs[topic], expected);
    }
}

#[test]
fn a_header_of_the_definition_travels_with_every_record() {
    let topic = fresh("headed");
    outside().create(&topic, 1, &[]);
    let headers = vec![("origin".to_owned(), Template::parse("tests").unwrap())];
    let mut source = Source::on_kafka(vec![TopicBlock { headers, ..to_topic(&topic) }]);

    source.deliver(numbers(0, 1_200)).is_good();

    let stored = log_of(&server().plain, &topic);
    assert_eq!(stored.iter().map(Stored::text).collect::<Vec<_>>(), texts(0, 1_200));
    assert!(stored.iter().all(|s| s.headers == [("origin".to_owned(), b"tests".to_vec())]));
}

/// The refusal of the property by name is the configuration's part of the case.
#[test]
fn a_full_queue_makes_room_without_holding_the_caller_b086() {
    let topic = fresh("full");
    outside().create(&topic, 1, &[]);
    let narrow = pico_broker::BrokerSettings {
        queue_messages: Some(10),
        ..settings(kafka(&server().plain), vec![to_topic(&topic)])
    };
    let mut source = Source::new(narrow);

    let started = Instant::now();
    let delivery = source.deliver(numbers(0, 1_000));
    let held = started.elapsed();

    assert!(held < Duration::from_millis(100), "the caller was held for {held:?}");
    delivery.is_good();
    assert_eq!(texts_in(&topic), texts(0, 1_000));
}

#[test]
fn records_with_headers_wait_for_room_in_their_place() {
    let topic = fresh("full-headed");
    outside().create(&topic, 1, &[]);
    let narrow = pico_broker::BrokerSettings {
        queue_messages: Some(7),
        ..settings(kafka(&server().plain), vec![to_topic(&topic)])
    };
    let mut source = Source::new(narrow);

    let dress =
        |(at, record): (usize, Record)| if at % 3 == 0 { record.with_header("h", "v") } else { record };
    source.deliver(numbers(0, 300).into_iter().enumerate().map(dress).collect()).is_good();

    assert_eq!(texts_in(&topic), texts(0, 300));
}

#[test]
fn a_source_that_was_idle_sends_again_with_a_new_client() {
    let topic = fresh("idle");
    outside().create(&topic, 1, &[]);
    let lazy = pico_broker::BrokerSettings {
        idle_after: Duration::from_millis(50),
        ..settings(kafka(&server().plain), vec![to_topic(&topic)])
    };
    let mut source = Source::new(lazy);
    source.deliver(numbers(0, 10)).is_good();

    std::thread::park_timeout(Duration::from_millis(400));
    source.deliver(numbers(10, 10)).is_good();

    assert_eq!(texts_in(&topic), texts(0, 20));
}

#[test]
fn a_warm_client_delivers_its_first_records_at_once() {
    let topic = fresh("warm");
    outside().create(&topic, 1, &[]);
    let mut source = Source::on_kafka(vec![to_topic(&topic)]);
    source.port.warm();
    std::thread::park_timeout(Duration::from_millis(1_500));

    let started = Instant::now();
    source.deliver(numbers(0, 10)).is_good();

    // A cold one needs half a second for its producer id.
    assert!(started.elapsed() < Duration::from_millis(400), "{:?}", started.elapsed());
}
