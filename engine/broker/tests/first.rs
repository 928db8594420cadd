//! The first record of a client for a topic: nothing may stand before it, and it may not get lost, whatever the
//! broker makes of the first request.

use pico_actors::ports::{BrokerPort, DeliveryEvent};
use pico_broker::BrokerSettings;
use pico_config::TopicBlock;
use picomq_connector_sdk::Record;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use crate::support::{Source, fresh, kafka, log_of, outside, settings, texts_in, to_topic};

/// A mock broker, which takes any sequence number, with one topic; one record a request.
fn mock(topic: &str, partitions: i32) -> (MockCluster<'static, DefaultProducerContext>, BrokerSettings) {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic(topic, partitions, 1).unwrap();
    let block = TopicBlock { batch_length: 1, ..to_topic(topic) };
    let settings = settings(kafka(&cluster.bootstrap_servers()), vec![block]);
    (cluster, settings)
}

fn numbered(count: usize) -> Vec<Record> {
    (0..count).map(|number| Record::new(format!("{number:02}")).with_key("k".to_owned())).collect()
}

/// As a topic answers that was made this moment.
fn refuse_once(cluster: &MockCluster<'static, DefaultProducerContext>) {
    let errors = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION];
    cluster.request_errors(RDKafkaApiKey::Produce, &errors);
}

#[test]
fn a_leader_that_is_not_ready_for_the_first_request_costs_no_record() {
    let topic = fresh("unready");
    let (cluster, settings) = mock(&topic, 1);
    let mut source = Source::new(settings);

    refuse_once(&cluster);
    let deliveries: Vec<_> = (0..3).map(|_| source.deliver(numbered(5))).collect();
    deliveries.into_iter().for_each(|delivery| delivery.is_good());

    let texts: Vec<_> =
        log_of(&cluster.bootstrap_servers(), &topic).iter().map(|stored| stored.text()).collect();
    let wanted: Vec<_> = (0..3).flat_map(|_| (0..5).map(|number| format!("{number:02}"))).collect();
    assert_eq!(texts, wanted);
}

#[test]
fn over_several_partitions_a_record_that_was_only_concluded_to_be_there_fails_its_batch() {
    let topic = fresh("concluded");
    let (cluster, settings) = mock(&topic, 2);
    let mut source = Source::new(settings);

    refuse_once(&cluster);
    let failure = source.deliver(numbered(20)).failure();

    assert_eq!((failure.cause.code, failure.is_client_lost), ("broker.unconfirmed", true));
    assert!(failure.cause.message.contains(&topic), "{failure:?}");
}

#[test]
fn after_a_refused_first_record_nothing_of_its_partition_is_accepted_from_the_client() {
    let topic = fresh("refusing-first");
    outside().create(&topic, 1, &[("cleanup.policy", "compact")]);
    let mut source = Source::on_kafka(vec![TopicBlock { batch_length: 1, ..to_topic(&topic) }]);
    let keyed = |text: &str| Record::new(text).with_key(text.to_owned());

    let refused = source.deliver(vec![Record::new("keyless"), keyed("a")]);
    let behind: Vec<_> = (0..10).map(|n| source.deliver(vec![keyed(&format!("later-{n}"))])).collect();

    let failed = refused.next();
    let DeliveryEvent::Failed(failure) = &failed else { panic!("{failed:?}") };
    assert!(failure.cause.message.contains("record 0"), "{failure:?}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(source.port.drop_client());
    behind.iter().for_each(|delivery| drop(delivery.failure()));
    assert!(texts_in(&topic).is_empty());
    source.deliver(vec![keyed("a"), keyed("b")]).is_good();
    assert_eq!(texts_in(&topic), ["a", "b"]);
}
