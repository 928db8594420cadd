//! A broker that grants little: writing but not creating (B083), creating some topics but not others (B081), and a
//! password that is wrong. One Kafka with an authorizer, users by SCRAM over TLS.

use std::time::Duration;

use chaos_tests::campaign::seed;
use chaos_tests::kafka::{Kafka, Switches};
use chaos_tests::site::scratch;
use chaos_tests::wait::pause;
use chaos_tests::workload::Workload;

use crate::stage::{QUICK, Stage, WITHIN, complaint, wait_nacks};

fn kafka(name: &str) -> Kafka {
    let switches = Switches { sasl_tls: true, ..Switches::default() };
    Kafka::start(&scratch().join(name), switches).unwrap()
}

/// `[kafka]` for a user, by SCRAM over TLS.
fn user(kafka: &Kafka, name: &str, password: &str) -> String {
    format!(
        "security_protocol = \"sasl_ssl\"\n\
         [kafka.sasl]\nmechanism = \"SCRAM-SHA-512\"\nusername = \"{name}\"\npassword = \"{password}\"\n\
         [kafka.tls]\nca_file = {:?}\n",
        kafka.authority()
    )
}

fn source(key: &str, pool: u64) -> Workload {
    Workload { pool, sections: QUICK.to_owned(), ..Workload::new(key, seed()) }
}

#[test]
fn what_was_not_granted_is_told_in_the_brokers_words_and_the_rest_works_b081_b083() {
    let kafka = kafka("rights-kafka");
    let plain = Stage::on("rights-plain", &kafka.bootstrap(), "");
    let stage = Stage::on("rights", &kafka.sasl_tls_bootstrap(), &user(&kafka, "writer", "writer-secret"));
    let (there, partly) = (source("there", 1), source("partly", 3));
    plain.admin.create(&[there.topic(0), partly.topic(0)], &[]).unwrap();
    kafka.allow("writer", &["Write", "Describe"], &there.topic(0)).unwrap();
    kafka.allow("writer", &["Write", "Describe"], &partly.topic(0)).unwrap();
    kafka.allow("writer", &["Write", "Describe", "Create"], &partly.topic(1)).unwrap();
    stage.define(&there);
    stage.define(&partly);

    let daemon = stage.start();

    // May write, may not create, needs not: B083.
    stage.wait_position("there", 500);
    assert_eq!(daemon.source("there").unwrap().consecutive_nacks, 0, "{}", complaint(&daemon, "there"));
    // One of three topics exists, one may be made, one may not: B081.
    wait_nacks(&daemon, "partly", 2);
    let message = complaint(&daemon, "partly");
    assert!(message.contains(&partly.topic(2)) && message.contains("uthorization"), "{message}");
    daemon.wait_status("partly", "error", WITHIN).unwrap();
    assert_eq!(plain.admin.partitions(&partly.topic(2)).unwrap(), None);
    assert_eq!(stage.position("partly"), 0);
    // Granted, and asked again.
    kafka.allow("writer", &["Write", "Describe", "Create"], &partly.topic(2)).unwrap();
    daemon.command("partly", "restart").unwrap();
    stage.wait_position("partly", 500);
    assert_eq!(plain.admin.partitions(&partly.topic(2)).unwrap(), Some(1));
    // Taken back under way: it is an error, and nobody tries again without a person.
    kafka.revoke("writer", &["Write"], &there.topic(0)).unwrap();
    daemon.wait_status("there", "error", WITHIN).unwrap();
    assert!(complaint(&daemon, "there").contains("uthorization"), "{}", complaint(&daemon, "there"));
    stage.wait_position("partly", stage.position("partly") + 500);
}

#[test]
fn a_wrong_password_is_said_without_being_shown() {
    let kafka = kafka("rights-wrong-kafka");
    let more = user(&kafka, "writer", "not-the-secret") + "[supervision]\nbatch_deadline = \"2s\"\n";
    let stage = Stage::on("rights-wrong", &kafka.sasl_tls_bootstrap(), &more);
    stage.define(&Workload { sections: String::new(), ..source("wrong", 1) });

    let daemon = stage.start();
    wait_nacks(&daemon, "wrong", 1);

    let message = complaint(&daemon, "wrong");
    assert!(message.to_lowercase().contains("authentication"), "{message}");
    pause(Duration::from_millis(100));
    let log = std::fs::read_to_string(stage.site.log()).unwrap();
    for text in [message, log, daemon.request("GET", "/metrics").unwrap().body] {
        assert!(!text.contains("not-the-secret"), "the password is shown: {text}");
    }
    assert_eq!(daemon.request("GET", "/ready").unwrap().status, 503, "the broker was never reached");
}
