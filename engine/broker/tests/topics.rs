//! Topics that are missing, made, refused, deleted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::Counter;
use pico_actors::ports::DeliveryEvent;
use pico_broker::{Admin, BrokerSettings};
use pico_config::{ErrorPolicy, OnRecordError, Replication, TopicBlock};
use picomq_connector_sdk::Record;

use crate::support::{
    SOON, Source, by_field, fresh, kafka, log_of, logs_of, most_partitions_of, outside, record_for, server,
    settings, texts_in, texts_in_all, to_topic, until,
};

fn creating() -> TopicBlock {
    TopicBlock { create_topics: true, ..by_field() }
}

#[test]
fn three_hundred_new_topics_in_one_batch_are_made_and_filled_b080() {
    let created = Arc::new(AtomicU64::new(0));
    let settings = settings(kafka(&server().plain), vec![creating()]);
    let topics_created = Counter::from_arc(created.clone());
    let mut source = Source::new(BrokerSettings { topics_created, ..settings });
    let topics: Vec<_> = (0..300).map(|_| fresh("tenant")).collect();

    let records = (0..600).map(|number| record_for(&topics[number % 300], number));
    source.deliver_json(records.collect()).is_good();

    let logs = logs_of(&server().plain, &topics.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(logs.len(), 300);
    assert!(logs.values().all(|log| log.len() == 2));
    assert_eq!(most_partitions_of(&topics), 1);
    assert_eq!(created.load(Ordering::Relaxed), 300);
}

#[test]
fn topics_made_by_rivals_at_the_same_moment_are_no_error_b082() {
    let topics: Vec<_> = (0..50).map(|_| fresh("rival")).collect();
    let records = || -> Vec<Record> { (0..50).map(|number| record_for(&topics[number], number)).collect() };

    std::thread::scope(|scope| {
        let rivals = [(); 3]
            .map(|()| scope.spawn(|| Source::on_kafka(vec![creating()]).deliver_json(records()).is_good()));
        let script = scope.spawn(|| {
            let outside = outside();
            for topic in &topics {
                let new = rdkafka::admin::NewTopic::new(topic, 1, rdkafka::admin::TopicReplication::Fixed(1));
                let new = [new];
                let made = outside.admin.create_topics(&new, &rdkafka::admin::AdminOptions::new());
                outside.runtime.block_on(made).unwrap();
            }
        });
        rivals.into_iter().for_each(|rival| rival.join().unwrap());
        script.join().unwrap();
    });

    let logs = texts_in_all(&topics);
    assert_eq!(logs.len(), 50);
    assert!(logs.values().all(|log| log.len() == 3), "{logs:?}");
    assert_eq!(most_partitions_of(&topics), 1);
}

#[test]
fn a_topic_is_made_with_the_settings_of_its_block() {
    let topic = fresh("compacted");
    let topic_config = [("cleanup.policy".to_owned(), "compact".to_owned())].into();
    let block = TopicBlock { topic_config, replication: Replication::One, ..creating() };
    let mut source = Source::on_kafka(vec![block]);

    source.deliver_json(vec![record_for(&topic, 1).with_key("k")]).is_good();

    let outside = outside();
    let asked = [rdkafka::admin::ResourceSpecifier::Topic(&topic)];
    let described = outside.admin.describe_configs(&asked, &rdkafka::admin::AdminOptions::new());
    let described = outside.runtime.block_on(described).unwrap().remove(0).unwrap();
    assert_eq!(described.get("cleanup.policy").unwrap().value.as_deref(), Some("compact"));
}

#[test]
fn a_refused_creation_names_topic_and_the_brokers_words_b081() {
    let (good, bad, other) = (fresh("made"), fresh("refused"), fresh("made"));
    let topic_config = [("cleanup.policy".to_owned(), "shred".to_owned())].into();
    let mut source = Source::on_kafka(vec![creating(), TopicBlock { topic_config, ..to_topic(&bad) }]);
    // The second block may not create; it shares nothing with the first but the batch.
    outside().create(&bad, 1, &[]);
    source.deliver_json(vec![record_for(&good, 1), record_for(&other, 1)]).is_good();

    let mut refusing = Source::on_kafka(vec![TopicBlock {
        topic_config: [("cleanup.policy".to_owned(), "shred".to_owned())].into(),
        ..creating()
    }]);
    let topic = fresh("refused");
    let failure = refusing.deliver_json(vec![record_for(&good, 2), record_for(&topic, 2)]).failure();

    assert_eq!(failure.cause.code, "broker.topic_not_created");
    assert!(failure.cause.message.contains(&topic), "{failure:?}");
    assert!(failure.cause.message.contains("shred"), "the broker's own words: {failure:?}");
    assert_eq!(texts_in(&good).len(), 1, "nothing of the failed batch was sent");
}

#[test]
fn a_dot_and_an_underscore_that_clash_at_the_broker_are_refused_in_its_words_b076() {
    let (base, healthy) = (fresh("clash"), fresh("healthy"));
    let (dotted, underscored) = (format!("{base}.x"), format!("{base}_x"));
    outside().create(&dotted, 1, &[]);
    let mut source = Source::on_kafka(vec![creating()]);

    let failure = source.deliver_json(vec![record_for(&underscored, 1)]).failure();

    assert!(!failure.is_client_lost);
    assert!(failure.cause.message.contains(&underscored), "{}", failure.cause.message);
    assert!(failure.cause.message.contains("collides"), "{}", failure.cause.message);
    source.deliver_json(vec![record_for(&healthy, 2), record_for(&dotted, 3)]).is_good();
}

#[test]
fn a_batch_with_a_missing_topic_sends_nothing_and_later_ones_do_not_overtake_it_b071() {
    let (first, missing, third) = (fresh("t"), fresh("missing"), fresh("t"));
    let outside = outside();
    outside.create(&first, 1, &[]);
    outside.create(&third, 1, &[]);
    let mut source = Source::on_kafka(vec![by_field()]);

    let poisoned =
        source.deliver_json(vec![record_for(&first, 1), record_for(&missing, 2), record_for(&third, 3)]);
    let behind = source.deliver_json(vec![record_for(&first, 4)]);

    let failure = poisoned.failure();
    assert_eq!(failure.cause.code, "broker.unknown_topic");
    assert!(failure.cause.message.contains(&missing), "{failure:?}");
    assert!(!failure.is_client_lost && !failure.needs_human);
    assert_eq!(behind.failure().cause.code, "broker.not_sent");
    assert!(texts_in(&first).is_empty() && texts_in(&third).is_empty());

    outside.create(&missing, 1, &[]);
    source
        .deliver_json(vec![record_for(&first, 1), record_for(&missing, 2), record_for(&third, 3)])
        .is_good();
    assert_eq!(texts_in(&missing).len(), 1);
}

/// The producer hears of a failure some time after it happened; what it hands over until then is behind it too.
#[test]
fn a_batch_handed_over_after_one_of_its_epoch_failed_does_not_overtake_it() {
    let topic = fresh("overtaken");
    outside().create(&topic, 1, &[]);
    let mut source = Source::on_kafka(vec![by_field()]);
    source.deliver_json(vec![record_for(&topic, 0)]).is_good();

    source.deliver_json(vec![record_for(&topic, 1), record_for(&fresh("missing"), 1)]).failure();
    source.set_epoch(0);
    let late = source.deliver_json(vec![record_for(&topic, 2)]);

    assert_eq!(late.failure().cause.code, "broker.not_sent", "although all was settled when it came");
    source.deliver_json(vec![record_for(&topic, 3)]).is_good();
    assert_eq!(texts_in(&topic).len(), 2);
}

#[test]
fn one_failing_source_leaves_another_on_the_same_admin_client_alone_b071() {
    let topic = fresh("healthy");
    outside().create(&topic, 1, &[]);
    let admin = Admin::open(&kafka(&server().plain)).unwrap();
    let on = |block| Source::with_admin(admin.clone(), settings(kafka(&server().plain), vec![block]));
    let (mut failing, mut healthy) = (on(to_topic(&fresh("missing"))), on(to_topic(&topic)));

    let failed: Vec<_> = (0..5).map(|_| failing.deliver(vec![Record::new("x")])).collect();
    healthy.deliver(vec![Record::new("y")]).is_good();

    failed.iter().for_each(|delivery| assert!(!delivery.failure().is_client_lost));
}

#[test]
fn a_deleted_topic_is_made_again_where_it_may_be_b085() {
    let topic = fresh("deleted");
    let mut source = Source::on_kafka(vec![creating()]);
    source.deliver_json(vec![record_for(&topic, 1)]).is_good();
    outside().delete(&topic);

    let mut nacks = 0;
    while nacks < 10 {
        let events = source.deliver_json(vec![record_for(&topic, 2)]).all();
        if events == [DeliveryEvent::Enqueued, DeliveryEvent::Settled] {
            break;
        }
        nacks += 1;
    }

    assert!(nacks < 10, "the source never recovered");
    assert_eq!(texts_in(&topic), [format!("{{\"topic\":\"{topic}\",\"number\":2}}")]);
}

#[test]
fn a_deleted_topic_fails_batches_where_it_may_not_be_made_b085() {
    let topic = fresh("deleted");
    let outside = outside();
    outside.create(&topic, 1, &[]);
    let mut source = Source::on_kafka(vec![to_topic(&topic)]);
    source.deliver(vec![Record::new("before")]).is_good();
    outside.delete(&topic);

    // A broker says that a topic is gone a moment before it takes no more for it.
    let mut deliver = |text: &str| source.deliver(vec![Record::new(text.to_owned())]);
    let good = [DeliveryEvent::Enqueued, DeliveryEvent::Settled];
    assert!(until(SOON, || deliver("late").all() != good), "everything is still taken");
    let failures: Vec<_> = (0..3).map(|_| deliver("after").failure()).collect();
    outside.create(&topic, 1, &[]);
    assert!(until(SOON, || deliver("again").all() == good), "nothing is taken again");

    for failure in &failures {
        assert_eq!(failure.cause.code, "broker.unknown_topic", "{failure:?}");
        assert!(!failure.is_client_lost, "{failure:?}");
    }
    assert_eq!(texts_in(&topic).last().unwrap(), "again");
}

/// Dead letters go where their source's blocks may send, and their topic is made as theirs are.
#[test]
fn the_topic_of_dead_letters_is_made_if_a_block_may_make_topics_and_else_holds_the_batch() {
    let letters = |topic: &str| ErrorPolicy {
        on_record_error: OnRecordError::DeadLetter { topic: topic.to_owned() },
        ..ErrorPolicy::default()
    };
    let (good, dead, other) = (fresh("letters-good"), fresh("letters-dead"), fresh("letters-other"));
    let source = |errors, create_topics| {
        let topic_config = [("cleanup.policy".to_owned(), "compact".to_owned())].into();
        let block = TopicBlock { create_topics, topic_config, ..by_field() };
        Source::new(BrokerSettings { errors, ..settings(kafka(&server().plain), vec![block]) })
    };
    let bad = || Record::new("{}").with_key("k");
    // Their topic is a compacted one, which takes none without a key.
    let keyed = |number| record_for(&good, number).with_key("k");

    source(letters(&dead), true).deliver_json(vec![keyed(1), bad(), keyed(2)]).is_good();
    let log = |topic: &str| log_of(&server().plain, topic);
    assert_eq!(log(&good).len(), 2);
    let letter = &log(&dead)[0];
    assert_eq!((letter.payload.as_deref(), letter.key.as_deref()), (Some(&b"{}"[..]), Some(&b"k"[..])));
    let code = letter.headers.iter().find(|(name, _)| name == "picomq.error.code");
    assert_eq!(code.map(|(_, value)| value.as_slice()), Some(&b"unroutable_record"[..]));

    let failure = source(letters(&other), false).deliver_json(vec![keyed(3), bad()]).failure();
    assert_eq!(failure.cause.code, "broker.unknown_topic");
    assert_eq!(log(&good).len(), 2, "nothing of the batch was sent");
}
