//! What an idle and a closed source cost: counted in a process of its own, where nobody else has threads.

use std::process::Command;
use std::time::Duration;

use pico_actors::ports::BrokerPort;
use pico_broker::BrokerSettings;
use picomq_connector_sdk::Record;
use rdkafka::mocking::MockCluster;

use crate::support::{SOON, Source, kafka, settings, to_topic, until};

const ALONE: &str = "PICO_BROKER_TEST_ALONE";

/// Threads of this process by the beginning of their names.
fn threads(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|comm| comm.starts_with(name)).count()
}

/// The polling threads beside that of the admin client, and the couriers.
fn of_sources() -> (usize, usize) {
    (threads("kafka-reports").saturating_sub(1), threads("kafka-courier") + threads("kafka-end"))
}

#[test]
fn a_source_has_threads_only_while_it_sends() {
    if std::env::var_os(ALONE).is_none() {
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "threads::a_source_has_threads_only_while_it_sends"]).env(ALONE, "1");
        let output = alone.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("threads", 1, 1).unwrap();
    let lazy = settings(kafka(&cluster.bootstrap_servers()), vec![to_topic("threads")]);
    let mut source = Source::new(BrokerSettings { idle_after: Duration::from_millis(300), ..lazy });
    // A thread bears its name a moment after it was started.
    assert!(until(SOON, || threads("kafka-reports") == 1), "the admin client has one");
    assert_eq!(of_sources(), (0, 0), "none before the first batch");

    source.deliver(vec![Record::new("x")]).is_good();
    assert_eq!(of_sources(), (1, 1), "one client");

    assert!(until(SOON, || of_sources() == (0, 0)), "an idle client was kept");
    source.deliver(vec![Record::new("y")]).is_good();

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(source.port.close());
    assert!(until(Duration::from_secs(1), || of_sources() == (0, 0)), "closed: {:?}", of_sources());
}
