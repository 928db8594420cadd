//! What waits in a client is what keeps its partitions busy, and no more.

use std::sync::mpsc;
use std::time::Duration;

use pico_actors::ports::{BrokerPort, DeliveryEvent};
use pico_config::TopicBlock;
use picomq_connector_sdk::{Record, Schema};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use crate::support::{SOON, Source, fresh, kafka, settings, to_topic};

const BATCHES: usize = 8;

type Mock = MockCluster<'static, DefaultProducerContext>;

/// A mock broker with one topic of one partition, and a source for it.
fn mock(topic: &str) -> (Mock, Source) {
    let cluster = Mock::new(1).unwrap();
    cluster.create_topic(topic, 1, 1).unwrap();
    let lingering = TopicBlock { linger: Duration::from_millis(5), ..to_topic(topic) };
    let source = Source::new(settings(kafka(&cluster.bootstrap_servers()), vec![lingering]));
    (cluster, source)
}

/// As much as a request holds.
fn a_request() -> Vec<Record> {
    (0..10).map(|_| Record::new(vec![b'x'; 100_000])).collect()
}

/// Hands so many batches over; what is said of them comes in one order, with the batch's position.
fn deliver(source: &mut Source, batches: usize) -> mpsc::Receiver<(usize, DeliveryEvent)> {
    let (sender, events) = mpsc::channel();
    for at in 0..batches {
        let sender = sender.clone();
        let routed = source.route(Schema::Raw, a_request());
        source.port.deliver(0, routed, Box::new(move |event| sender.send((at, event)).unwrap_or(())));
    }
    events
}

fn next(events: &mpsc::Receiver<(usize, DeliveryEvent)>) -> (usize, DeliveryEvent) {
    events.recv_timeout(SOON).expect("an event in time")
}

#[test]
fn batches_stay_outside_a_client_that_has_enough_on_its_hands() {
    let topic = fresh("room");
    let (cluster, mut source) = mock(&topic);
    deliver(&mut source, 1).iter().take(2).for_each(drop);
    cluster.broker_round_trip_time(1, Duration::from_millis(300)).unwrap();

    let events = deliver(&mut source, BATCHES);
    let said: Vec<_> = (0..2 * BATCHES).map(|_| next(&events)).collect();

    let place = |what: (usize, DeliveryEvent)| said.iter().position(|event| *event == what).unwrap();
    for at in 4..BATCHES {
        // The client holds little more than two of them: four back is at the broker.
        let (entered, delivered) =
            (place((at, DeliveryEvent::Enqueued)), place((at - 4, DeliveryEvent::Settled)));
        assert!(delivered < entered, "batch {at} entered at once: {said:?}");
    }
}

#[test]
fn a_batch_that_waits_outside_is_not_sent_after_a_failure_before_it() {
    let topic = fresh("room-refused");
    let (cluster, mut source) = mock(&topic);
    deliver(&mut source, 1).iter().take(2).for_each(drop);
    cluster.broker_round_trip_time(1, Duration::from_millis(300)).unwrap();
    let refusal = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    cluster.request_errors(RDKafkaApiKey::Produce, &[refusal]);

    let events = deliver(&mut source, BATCHES);
    let mut said = Vec::new();
    while !(0..BATCHES).all(|at| said.contains(&(at, DeliveryEvent::Settled))) {
        said.push(next(&events));
    }

    assert!(!said.contains(&(BATCHES - 1, DeliveryEvent::Enqueued)), "{said:?}");
    let failed = |at| said.iter().any(|event| matches!(event, (of, DeliveryEvent::Failed(_)) if *of == at));
    assert!((0..BATCHES).all(failed), "{said:?}");
}
