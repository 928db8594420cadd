//! What stories that watch several sources at once have in common.

use std::collections::BTreeMap;
use std::time::Duration;

use chaos_tests::admin::Admin;
use chaos_tests::consumer::{Entry, LogReader};
use chaos_tests::daemon::Daemon;
use chaos_tests::kafka::Kafka;
use chaos_tests::launch::Launch;
use chaos_tests::site::{Site, scratch};
use chaos_tests::wait::wait_for;
use chaos_tests::workload::Workload;

/// Long enough for anything that happens by itself.
pub(crate) const WITHIN: Duration = Duration::from_secs(30);
/// Thirty nacks in a second or two, and nothing that heals by itself.
pub(crate) const QUICK: &str =
    "[supervision]\nbackoff_initial = \"10ms\"\nbackoff_max = \"50ms\"\nrestart_after = \"off\"\n";

/// The steps of a batch as fail points, in about their order; the first is passed once in a life of the process.
pub(crate) const STEPS: [&str; 16] = [
    "opened",
    "poll_returned",
    "routed",
    "topics_created",
    "half_enqueued",
    "enqueued",
    "first_report",
    "all_reports",
    "all_delivered",
    "state_temp_written",
    "state_temp_synced",
    "state_renamed",
    "state_dir_synced",
    "saved_event",
    "before_ack",
    "after_ack",
];

/// A site on the shared Kafka.
pub(crate) struct Stage {
    pub(crate) site: Site,
    pub(crate) admin: Admin,
    pub(crate) bootstrap: String,
}

impl Stage {
    pub(crate) fn new(name: &str) -> Self {
        Self::on(name, &Kafka::shared().bootstrap(), "")
    }

    /// On another broker, with more configuration.
    pub(crate) fn on(name: &str, bootstrap: &str, more: &str) -> Self {
        let site = Site::new(&scratch().join(name), bootstrap, more).unwrap();
        Self { site, admin: Admin::new(bootstrap).unwrap(), bootstrap: bootstrap.to_owned() }
    }

    pub(crate) fn define(&self, workload: &Workload) {
        self.site.define(&workload.key, &workload.definition()).unwrap();
    }

    pub(crate) fn start(&self) -> Daemon {
        self.start_with(&Launch::default())
    }

    pub(crate) fn start_with(&self, launch: &Launch) -> Daemon {
        let mut daemon = self.site.start(launch).unwrap();
        daemon.wait_serving().unwrap();
        daemon
    }

    /// Waits until the saved position of `key` has reached `position`.
    pub(crate) fn wait_position(&self, key: &str, position: u64) {
        wait_for(&format!("position {position} of {key}"), WITHIN, || match self.position(key) {
            now if now >= position => Ok(()),
            now => Err(format!("{now}")),
        })
        .unwrap();
    }

    pub(crate) fn position(&self, key: &str) -> u64 {
        self.site.state(key).unwrap().map_or(0, |file| file.position().unwrap())
    }

    /// Every record of a topic.
    pub(crate) fn entries(&self, topic: &str) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut reader = LogReader::new(&self.bootstrap).unwrap();
        reader.read_to_end(&[topic], &mut |entry| entries.push(entry)).unwrap();
        entries
    }

    /// The sequences in a topic of a counting source, in the order of the log.
    pub(crate) fn sequences(&self, topic: &str) -> Vec<u64> {
        self.logs(&[topic]).remove(topic).unwrap_or_default()
    }

    /// The sequences in many topics.
    pub(crate) fn logs<T: AsRef<str>>(&self, topics: &[T]) -> BTreeMap<String, Vec<u64>> {
        let mut logs: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut reader = LogReader::new(&self.bootstrap).unwrap();
        let mut take = |entry: Entry| {
            let sequence = field(&entry, "sequence").as_u64().unwrap();
            logs.entry(entry.topic).or_default().push(sequence);
        };
        reader.read_to_end(topics, &mut take).unwrap();
        logs
    }
}

/// A field of the JSON document that a record is.
pub(crate) fn field(entry: &Entry, name: &str) -> serde_json::Value {
    let document: serde_json::Value = serde_json::from_slice(entry.payload.as_deref().unwrap()).unwrap();
    document[name].clone()
}

/// Nacks of one source since its process began.
pub(crate) fn nacks(daemon: &Daemon, key: &str) -> u64 {
    daemon.metric_with("picomq_connector_batches_total", key, "verdict=\"nack\"").unwrap() as u64
}

/// What the API says is wrong with a source.
pub(crate) fn complaint(daemon: &Daemon, key: &str) -> String {
    daemon.source(key).unwrap().last_error.map(|error| error.message).unwrap_or_default()
}

pub(crate) fn wait_nacks(daemon: &Daemon, key: &str, nacks: u64) {
    daemon
        .wait_source(key, &format!("{nacks} nacks"), WITHIN, |view| view.consecutive_nacks >= nacks)
        .unwrap();
}
