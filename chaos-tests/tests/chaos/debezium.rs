//! The worker that others run: it is only used to compare with and to move over from, so one story shows that what the
//! harness says about it is so.

use std::time::Duration;

use chaos_tests::connect::{Connect, debezium};
use chaos_tests::consumer::LogReader;
use chaos_tests::kafka::Kafka;
use chaos_tests::postgres::Postgres;
use chaos_tests::site::scratch;
use chaos_tests::wait::wait_for;

const SOON: Duration = Duration::from_secs(60);

/// What is in the topic of the table now: the operation and the id of each record.
fn changes(reader: &mut LogReader, topic: &str, seen: &mut Vec<String>) -> usize {
    reader
        .read_to_end(&[topic], &mut |entry| {
            let payload = entry.payload.as_deref().unwrap_or(b"null");
            let value: serde_json::Value = serde_json::from_slice(payload).unwrap();
            seen.push(format!("{} {}", value["op"].as_str().unwrap_or("tombstone"), value["after"]["id"]));
        })
        .unwrap();
    seen.len()
}

#[test]
fn a_debezium_connector_is_made_stopped_resumed_and_asked_for_its_offsets() {
    let server = Postgres::start(&scratch().join("debezium-server"), 15).unwrap();
    server
        .sql("CREATE TABLE kv (id int PRIMARY KEY, v text); INSERT INTO kv VALUES (1, 'a'), (2, 'b')")
        .unwrap();
    let kafka = Kafka::shared();
    let worker = Connect::shared();
    let name = format!("debezium-{}", fastrand::u32(..));
    let topic = format!("{name}.public.kv");
    let mut reader = LogReader::new(&kafka.bootstrap()).unwrap();
    let mut seen = Vec::new();
    let mut wait_changes = |count: usize| {
        wait_for("the changes", SOON, || {
            worker.task(&name).unwrap();
            if changes(&mut reader, &topic, &mut seen) >= count { Ok(()) } else { Err(format!("{seen:?}")) }
        })
        .unwrap();
        seen.clone()
    };

    worker.create(&name, &debezium(&server, &name, "public.kv", &[("poll.interval.ms", "10")])).unwrap();
    assert_eq!(wait_changes(2), ["r 1", "r 2"]);
    server.sql("INSERT INTO kv VALUES (3, 'c')").unwrap();
    wait_changes(3);
    worker.stop(&name).unwrap();
    assert_eq!(worker.task(&name).unwrap(), None);
    let offsets = worker.offsets(&name).unwrap();
    assert!(offsets[0]["offset"]["lsn"].as_u64().is_some_and(|lsn| lsn > 0), "{offsets}");
    server.sql("DELETE FROM kv WHERE id = 1").unwrap();
    worker.resume(&name).unwrap();
    assert_eq!(wait_changes(5), ["r 1", "r 2", "c 3", "d null", "tombstone null"]);
    worker.delete(&name).unwrap();

    // A task that fails may have said RUNNING for a moment.
    let other = format!("{name}-other");
    let wrong = [("publication.name", "nowhere"), ("publication.autocreate.mode", "disabled")];
    let created = worker.create(&other, &debezium(&server, &other, "public.kv", &wrong));
    let failure = match created {
        Err(failed) => failed.to_string(),
        Ok(()) => wait_for("a failed task", SOON, || match worker.task(&other) {
            Err(failed) => Ok(failed.to_string()),
            Ok(state) => Err(format!("{state:?}")),
        })
        .unwrap(),
    };
    assert!(failure.contains("FAILED") && failure.contains("ublication"), "{failure}");
}
