//! Refusals, silence, fatal errors, and clients that are dropped.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use pico_actors::ports::{BrokerPort, DeliveryEvent};
use pico_broker::{Admin, BrokerSettings};
use pico_config::TopicBlock;
use picomq_connector_sdk::{Record, Schema};
use rdkafka::admin::{AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use crate::support::{SOON, Source, fresh, kafka, outside, server, settings, texts_in, to_topic, until};

type Mock = MockCluster<'static, DefaultProducerContext>;

/// A mock broker with one topic of one partition, and settings for it with a short deadline.
fn mock(topic: &str) -> (Mock, BrokerSettings) {
    let cluster = Mock::new(1).unwrap();
    cluster.create_topic(topic, 1, 1).unwrap();
    let settings = BrokerSettings {
        batch_deadline: Duration::from_secs(2),
        ..settings(kafka(&cluster.bootstrap_servers()), vec![to_topic(topic)])
    };
    (cluster, settings)
}

fn one(text: &str) -> Vec<Record> {
    vec![Record::new(text)]
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(SOON, future).await.expect("an answer in time") })
}

/// Trap 19, an assumption of the window: the broker is asked. One record a request, five requests in flight: those
/// behind the refused record are already at the broker when it is refused.
#[test]
fn after_a_refused_record_nothing_of_its_partition_is_accepted_from_the_client() {
    let topic = fresh("refusing");
    outside().create(&topic, 1, &[("cleanup.policy", "compact")]);
    let mut source = Source::on_kafka(vec![TopicBlock { batch_length: 1, ..to_topic(&topic) }]);
    let keyed = |text: &str| Record::new(text).with_key(text.to_owned());

    let good = source.deliver(vec![keyed("a"), keyed("b")]);
    let refused = source.deliver(vec![keyed("c"), Record::new("keyless"), keyed("d")]);
    let behind: Vec<_> = (0..10).map(|n| source.deliver(vec![keyed(&format!("later-{n}"))])).collect();

    good.is_good();
    assert_eq!(refused.next(), DeliveryEvent::Enqueued);
    let failed = refused.next();
    let DeliveryEvent::Failed(failure) = &failed else { panic!("{failed:?}") };
    assert!(
        failure.cause.message.contains("record 1") && failure.cause.message.contains(&topic),
        "{failure:?}"
    );
    // Under the gapless guarantee the refusal ends the client.
    assert!(failure.is_client_lost, "{failure:?}");
    wait(source.port.drop_client());
    behind.iter().for_each(|delivery| drop(delivery.failure()));
    assert_eq!(texts_in(&topic), ["a", "b", "c"]);

    source.deliver(vec![keyed("c"), keyed("d")]).is_good();
    assert_eq!(texts_in(&topic), ["a", "b", "c", "c", "d"]);
}

#[test]
fn a_record_too_big_for_the_broker_fails_its_batch_until_the_limit_is_raised_b070() {
    let topic = fresh("small");
    let outside = outside();
    outside.create(&topic, 1, &[("max.message.bytes", "2000")]);
    let mut source = Source::on_kafka(vec![to_topic(&topic)]);
    let records = || -> Vec<Record> {
        let small = (0..50).map(|number| Record::new(format!("small-{number}")));
        small.chain([Record::new("x".repeat(5_000))]).collect()
    };

    let failure = source.deliver(records()).failure();
    assert!(failure.needs_human, "{failure:?}");
    assert_eq!(failure.cause.code, "broker.too_large");
    assert!(failure.cause.message.contains(&topic), "{failure:?}");
    wait(source.port.drop_client());

    let raised = [AlterConfig::new(ResourceSpecifier::Topic(&topic)).set("max.message.bytes", "1000000")];
    let raised = outside.admin.alter_configs(&raised, &AdminOptions::new());
    outside.runtime.block_on(raised).unwrap()[0].as_ref().unwrap();
    source.deliver(records()).is_good();

    let texts = texts_in(&topic);
    assert_eq!(texts.iter().filter(|text| text.len() == 5_000).count(), 1);
    assert!((0..50).all(|number| texts.contains(&format!("small-{number}"))));
}

#[test]
fn a_record_too_big_for_the_client_is_named_before_it_is_sent_and_the_client_lives() {
    let topic = fresh("huge");
    outside().create(&topic, 1, &[]);
    let mut wide = settings(kafka(&server().plain), vec![to_topic(&topic)]);
    wide.limits.record_bytes = 2_000_000;
    let mut source = Source::new(BrokerSettings { ..wide.clone() });
    wide.limits.record_bytes = 1_000;
    let mut narrow = Source::new(wide);

    let big = source.route(Schema::Raw, vec![Record::new("before"), Record::new("x".repeat(100_000))]);
    let (sender, events) = mpsc::channel();
    narrow.port.deliver(0, big, Box::new(move |event| sender.send(event).unwrap_or(())));

    let failed = events.recv_timeout(SOON).unwrap();
    let DeliveryEvent::Failed(failure) = &failed else { panic!("{failed:?}") };
    assert!(failure.needs_human && !failure.is_client_lost);
    assert!(failure.cause.message.contains("record 1") && failure.cause.message.contains("100000 bytes"));
    assert_eq!(events.recv_timeout(SOON).unwrap(), DeliveryEvent::Settled);
    narrow.set_epoch(1);
    narrow.deliver(one("after")).is_good();
    assert_eq!(texts_in(&topic).last().unwrap(), "after");
}

#[test]
fn silence_past_the_deadline_loses_the_client_and_dropping_it_ends_the_reports() {
    let topic = fresh("silent");
    let (cluster, settings) = mock(&topic);
    let mut source = Source::new(settings);
    source.deliver(one("first")).is_good();

    cluster.broker_round_trip_time(1, Duration::from_secs(60)).unwrap();
    let started = Instant::now();
    let (older, newer) = (source.deliver(one("older")), source.deliver(one("newer")));
    assert_eq!(older.next(), DeliveryEvent::Enqueued);
    let failed = older.next();
    let silence = started.elapsed();
    wait(source.port.drop_client());

    let DeliveryEvent::Failed(failure) = &failed else { panic!("{failed:?}") };
    assert_eq!((failure.cause.code, failure.is_client_lost), ("broker.silent", true));
    assert!(silence > Duration::from_millis(1_900) && silence < Duration::from_secs(4), "{silence:?}");
    assert_eq!(older.next(), DeliveryEvent::Settled);
    assert!(newer.failure().is_client_lost);
    cluster.broker_round_trip_time(1, Duration::ZERO).unwrap();
    source.deliver(one("again")).is_good();
}

/// Every report restarts the clock: a slow broker is not a silent one.
#[test]
fn a_broker_that_reports_slowly_is_not_silent() {
    let topic = fresh("slow");
    let (cluster, mut settings) = mock(&topic);
    settings.blocks[0].batch_length = 1;
    let mut source = Source::new(settings);
    source.deliver(one("first")).is_good();

    // Five requests are in flight at once, so twelve records take three times the answer's second.
    cluster.broker_round_trip_time(1, Duration::from_secs(1)).unwrap();
    let started = Instant::now();
    source.deliver((0..12).map(|number| Record::new(number.to_string())).collect()).is_good();

    assert!(started.elapsed() > Duration::from_secs(2), "it did not outlast the deadline");
}

#[test]
fn a_fatal_client_is_replaced_b089() {
    let topic = fresh("fatal");
    let (cluster, settings) = mock(&topic);
    let mut source = Source::new(settings);
    source.deliver(one("first")).is_good();

    let fatal = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER];
    cluster.request_errors(RDKafkaApiKey::Produce, &fatal);
    let delivery = source.deliver(one("second"));
    let (first, second) = (delivery.next(), delivery.next());
    wait(source.port.drop_client());
    let settled = delivery.next();

    // The report may be faster than the call that caused it.
    let failed = if first == DeliveryEvent::Enqueued { second } else { first };
    let DeliveryEvent::Failed(failure) = &failed else { panic!("{failed:?}") };
    assert!(failure.is_client_lost, "{failure:?}");
    assert_eq!(settled, DeliveryEvent::Settled);
    source.deliver(one("third")).is_good();
}

/// A request that the broker says it appended before, at an offset it no longer knows, cannot be told from one that
/// librdkafka only concludes to be there: the batch is repeated.
#[test]
fn a_report_without_an_offset_is_no_delivery() {
    let topic = fresh("twice");
    let (cluster, settings) = mock(&topic);
    let mut source = Source::new(settings);
    source.deliver(one("first")).is_good();

    let duplicate = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER];
    cluster.request_errors(RDKafkaApiKey::Produce, &duplicate);
    let failure = source.deliver(one("second")).failure();
    wait(source.port.drop_client());

    assert_eq!((failure.cause.code, failure.is_client_lost), ("broker.unconfirmed", true));
    source.deliver(one("second")).is_good();
}

#[test]
fn a_topic_recreated_under_load_does_not_fail_every_later_batch_b089() {
    let topic = fresh("recreated");
    let outside = outside();
    outside.create(&topic, 1, &[]);
    let mut source = Source::on_kafka(vec![to_topic(&topic)]);
    source.deliver(one("before")).is_good();

    outside.delete(&topic);
    outside.create(&topic, 1, &[]);
    let started = Instant::now();
    loop {
        let delivery = source.deliver(one("after"));
        let events = delivery.all();
        match events.as_slice() {
            [DeliveryEvent::Enqueued, DeliveryEvent::Settled] => break,
            events if events.iter().any(|e| matches!(e, DeliveryEvent::Failed(f) if f.is_client_lost)) => {
                wait(source.port.drop_client());
            }
            _ => {}
        }
        assert!(started.elapsed() < SOON, "it never recovered");
    }

    assert!(texts_in(&topic).contains(&"after".to_owned()));
}

/// Under the gapless guarantee librdkafka ends a client when a record that was on its way is refused, for whatever
/// reason: so the port says that it is lost, and after it is dropped the next one sends.
#[test]
fn a_refusal_of_rights_asks_for_a_person_and_ends_the_client() {
    let topic = fresh("forbidden");
    let (cluster, settings) = mock(&topic);
    let mut source = Source::new(settings);
    source.deliver(one("first")).is_good();

    let refusal = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED];
    cluster.request_errors(RDKafkaApiKey::Produce, &refusal);
    let failure = source.deliver(one("second")).failure();
    let refused = source.deliver(one("third")).failure();
    wait(source.port.drop_client());

    assert_eq!(failure.cause.code, "broker.authorization");
    assert!(failure.needs_human && failure.is_client_lost, "{failure:?}");
    assert!(refused.is_client_lost, "{refused:?}");
    source.deliver(one("fourth")).is_good();
}

#[test]
fn an_unreachable_broker_fails_the_batch_at_the_deadline_and_says_why() {
    let mut nowhere = settings(kafka("127.0.0.1:1"), vec![to_topic("anywhere")]);
    nowhere.batch_deadline = Duration::from_secs(1);
    let mut source = Source::new(nowhere);

    let started = Instant::now();
    let failure = source.deliver(one("lost")).failure();

    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    assert_eq!((failure.cause.code, failure.is_client_lost), ("broker.unreachable", true));
    assert!(failure.cause.message.contains("127.0.0.1:1"), "{failure:?}");
    assert!(!source.admin.reached_once());
    assert!(source.admin.last_error().is_some_and(|error| error.contains("127.0.0.1:1")));
}

#[test]
fn dropping_the_client_ends_a_wait_for_a_broker_at_once() {
    let mut source = Source::new(settings(kafka("127.0.0.1:1"), vec![to_topic("anywhere")]));
    let waiting = source.deliver(one("lost"));
    let queued = source.deliver(one("behind"));

    let started = Instant::now();
    wait(source.port.drop_client());

    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(waiting.failure().cause.code, "broker.client_dropped");
    drop(queued.failure());
}

#[test]
fn dropping_a_client_with_reports_outstanding_settles_every_batch_once() {
    let topic = fresh("dropped");
    let (cluster, settings) = mock(&topic);
    let mut source = Source::new(BrokerSettings { batch_deadline: SOON, ..settings });
    source.deliver(one("first")).is_good();
    cluster.broker_round_trip_time(1, Duration::from_secs(5)).unwrap();

    let window: Vec<_> = (0..8).map(|n| source.deliver(one(&n.to_string()))).collect();
    assert_eq!(window[7].next(), DeliveryEvent::Enqueued);
    wait(source.port.drop_client());
    wait(source.port.drop_client());

    for delivery in &window {
        assert_eq!(delivery.failure().cause.code, "broker.client_dropped");
    }
}

#[test]
fn a_panic_of_whoever_hears_the_reports_is_a_lost_client() {
    let topic = fresh("panicking");
    let (_cluster, settings) = mock(&topic);
    // The panic is to be heard of, not the deadline, which a new client on a busy machine may meet too.
    let mut source = Source::new(BrokerSettings { batch_deadline: SOON / 2, ..settings });
    let routed = source.route(Schema::Raw, one("first"));
    source.port.deliver(
        0,
        routed,
        Box::new(|event| assert_ne!(event, DeliveryEvent::Settled, "a panic of the test, on purpose")),
    );

    let lost = || {
        let delivery = source.deliver(one("next"));
        while let event = delivery.next()
            && event != DeliveryEvent::Settled
        {
            if matches!(&event, DeliveryEvent::Failed(failure) if failure.is_client_lost) {
                return true;
            }
        }
        false
    };

    assert!(until(SOON, lost), "nobody was told");
    wait(source.port.drop_client());
    source.deliver(one("again")).is_good();
}

#[test]
fn a_closed_port_refuses() {
    let topic = fresh("closed");
    let (_cluster, settings) = mock(&topic);
    let mut source = Source::new(settings);
    source.deliver(one("first")).is_good();

    wait(source.port.close());
    let failure = source.deliver(one("late")).failure();

    assert_eq!(failure.cause.code, "broker.closed");
}

#[test]
fn a_broker_without_idempotence_is_noticed_and_gets_one_batch_at_a_time() {
    let topic = fresh("unordered");
    let (cluster, settings) = mock(&topic);
    cluster.apiversion(RDKafkaApiKey::InitProducerId, None, None).unwrap();
    let admin = Admin::open(&settings.kafka).unwrap();
    assert!(until(SOON, || admin.is_unordered()));
    let mut source = Source::with_admin(admin, settings);

    let window: Vec<_> = (0..5).map(|n| source.deliver(one(&n.to_string()))).collect();

    window.iter().for_each(|delivery| delivery.is_good());
    assert_eq!(source.port.conditions(), ["unordered_on_error"]);
}

#[test]
fn more_batches_than_a_window_can_hold_are_refused() {
    let mut source = Source::new(settings(kafka("127.0.0.1:1"), vec![to_topic("anywhere")]));
    let held: Vec<_> = (0..128).map(|n| source.deliver(one(&n.to_string()))).collect();

    let failure = source.deliver(one("one too many")).failure();

    assert_eq!(failure.cause.code, "broker.too_many_batches");
    wait(source.port.drop_client());
    held.iter().for_each(|delivery| drop(delivery.failure()));
}
