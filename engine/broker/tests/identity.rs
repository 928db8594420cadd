//! TLS, SASL and rights, on a real Kafka with an authorizer.

use std::time::Duration;

use pico_actors::ports::DeliveryFailure;
use pico_broker::Admin;
use pico_config::{Kafka, Sasl, SaslMechanism, Secret, SecurityProtocol, Tls, TopicBlock};
use picomq_connector_sdk::Record;

use crate::support::{
    SOON, Source, by_field, fresh, kafka, outside, partitions_of, record_for, server, settings, texts_in,
    to_topic, tool, until,
};

/// The user `writer` of the test server.
fn writer(address: &str, protocol: SecurityProtocol, password: &str) -> Kafka {
    let password = Secret::new(password.to_owned());
    let sasl = Sasl { mechanism: SaslMechanism::ScramSha512, username: "writer".to_owned(), password };
    Kafka { security_protocol: protocol, sasl, ..kafka(address) }
}

fn may(operation: &str, topic: &str) {
    let server = &server().plain;
    let rule = ["--add", "--allow-principal", "User:writer", "--operation", operation, "--topic", topic];
    tool(&[&["AclCommand", "--bootstrap-server", server][..], &rule[..]].concat());
}

fn failure_of(source: &mut Source, records: Vec<Record>) -> DeliveryFailure {
    source.deliver_json(records).failure()
}

/// Why nothing gets through, once the client knows more than that there was no answer: the first handshake on a busy
/// machine may outlast the deadline of a batch.
fn refusal(source: &mut Source) -> DeliveryFailure {
    let mut failure = None;
    until(SOON, || {
        let told = failure.insert(source.deliver(vec![Record::new("secret")]).failure());
        told.cause.message.contains("the kafka client says")
    });
    failure.expect("asked at least once")
}

/// One story, because granting a right takes seconds: may write to what exists, may not create.
#[test]
fn a_writer_without_the_right_to_create_still_writes_to_what_exists_b083() {
    let (there, missing, foreign) = (fresh("there"), fresh("there-missing"), fresh("foreign"));
    outside().create(&there, 1, &[]);
    outside().create(&foreign, 1, &[]);
    may("Write", &there);
    may("Describe", &missing);
    let kafka = writer(&server().sasl, SecurityProtocol::SaslPlaintext, "writer-secret");
    let mut source = Source::new(settings(kafka, vec![TopicBlock { create_topics: true, ..by_field() }]));

    source.deliver_json(vec![record_for(&there, 1)]).is_good();
    let refused = failure_of(&mut source, vec![record_for(&there, 2), record_for(&missing, 2)]);
    let forbidden = failure_of(&mut source, vec![record_for(&there, 3), record_for(&foreign, 3)]);
    source.deliver_json(vec![record_for(&there, 4)]).is_good();

    assert_eq!(refused.cause.code, "broker.topic_not_created", "{refused:?}");
    assert!(refused.needs_human && refused.cause.message.contains(&missing), "{refused:?}");
    assert!(refused.cause.message.to_lowercase().contains("authoriz"), "the broker's words: {refused:?}");
    assert_eq!(forbidden.cause.code, "broker.authorization", "{forbidden:?}");
    assert!(forbidden.needs_human && !forbidden.is_client_lost, "{forbidden:?}");
    assert_eq!(texts_in(&there).len(), 2);
    assert_eq!(partitions_of(&missing), 0);
}

#[test]
fn records_travel_through_tls_and_scram() {
    let topic = fresh("secure");
    outside().create(&topic, 1, &[]);
    may("Write", &topic);
    let tls = Tls { ca_file: Some(server().authority.clone()), ..Tls::default() };
    let kafka = Kafka { tls, ..writer(&server().sasl_tls, SecurityProtocol::SaslSsl, "writer-secret") };
    let properties = [("compression.type", "zstd")].into_iter().collect();
    let mut source = Source::new(settings(kafka, vec![TopicBlock { properties, ..to_topic(&topic) }]));

    source.deliver(vec![Record::new("secret")]).is_good();

    assert_eq!(texts_in(&topic), ["secret"]);
}

#[test]
fn a_broker_of_an_unknown_authority_is_not_spoken_to() {
    let kafka = writer(&server().sasl_tls, SecurityProtocol::SaslSsl, "writer-secret");
    let mut settings = settings(kafka, vec![to_topic("anywhere")]);
    settings.batch_deadline = Duration::from_secs(2);
    let mut source = Source::new(settings);

    let failure = refusal(&mut source);

    assert!(failure.cause.message.to_lowercase().contains("ssl"), "{failure:?}");
}

#[test]
fn a_wrong_password_needs_a_person_and_is_not_shown() {
    let kafka = writer(&server().sasl, SecurityProtocol::SaslPlaintext, "canary-password");
    let admin = Admin::open(&kafka).unwrap();
    let mut settings = settings(kafka, vec![to_topic("anywhere")]);
    settings.batch_deadline = Duration::from_secs(2);
    let mut source = Source::with_admin(admin.clone(), settings);

    let failure = refusal(&mut source);

    assert_eq!(failure.cause.code, "broker.authentication", "{failure:?}");
    assert!(failure.needs_human);
    assert!(!failure.cause.message.contains("canary"), "{failure:?}");
    assert!(until(SOON, || admin.last_error().is_some_and(|error| error.contains("uthentication"))));
    assert!(!admin.last_error().unwrap().contains("canary"));
}
