//! The named points really kill the process.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use picomq_connector_sdk::Record;

use crate::support::{Source, by_field, fresh, kafka, record_for, server, settings};

const ADDRESS: &str = "PICO_BROKER_TEST_ADDRESS";
const TOPIC: &str = "PICO_BROKER_TEST_TOPIC";

#[test]
fn one_batch_to_a_new_topic_passes_every_point() {
    let _scenario = fail::FailScenario::setup();
    let address = std::env::var(ADDRESS).unwrap_or_else(|_| server().plain.clone());
    let topic = std::env::var(TOPIC).unwrap_or_else(|_| fresh("killed"));
    let block = pico_config::TopicBlock { create_topics: true, ..by_field() };
    let mut source = Source::new(settings(kafka(&address), vec![block]));

    let records: Vec<Record> = (0..100).map(|number| record_for(&topic, number)).collect();
    source.deliver_json(records).is_good();
}

#[test]
fn each_point_kills_the_process() {
    for point in ["topics_created", "half_enqueued", "enqueued", "first_report", "all_reports"] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "kills::one_batch_to_a_new_topic_passes_every_point"]);
        child
            .env(ADDRESS, &server().plain)
            .env(TOPIC, fresh("killed"))
            .env("FAILPOINTS", format!("{point}=return"));

        let status = child.output().unwrap().status;

        assert_eq!(status.signal(), Some(9), "{point} killed nobody: {status}");
    }
}
