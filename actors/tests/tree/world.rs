//! One source with ports in memory, and ways to wait for what a test is about.

use std::sync::Arc;
use std::time::Duration;

use pico_actors::handle::{Command, Engine, EngineSettings, Entry, SourceSpec};
use pico_actors::status::{SourceView, Status};
use pico_actors::testing::{
    BrokerFault, CountingPlugin, FakeAsked, FakeBroker, FakeDelivery, FakeStore, PluginFault, StoreFault,
};
use pico_config::{
    Definition, ErrorPolicy, Limits, Location, PluginConfig, PluginConfigFormat, Rule, SourceKey,
    Supervision, TopicBlock,
};

/// Paused time runs this far before a test gives up; nothing in a test waits so long by right.
const PATIENCE: Duration = Duration::from_secs(3600);

/// What a test is about, before it runs.
pub(crate) struct Plan {
    pub(crate) window: u32,
    pub(crate) total: u64,
    pub(crate) plugin: Vec<PluginFault>,
    pub(crate) verdicts_taken: Vec<bool>,
    pub(crate) broker: Vec<BrokerFault>,
    pub(crate) store: Vec<StoreFault>,
    pub(crate) supervision: Supervision,
    pub(crate) errors: ErrorPolicy,
    pub(crate) topics: Vec<TopicBlock>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            window: 1,
            total: 100,
            plugin: Vec::new(),
            verdicts_taken: Vec::new(),
            broker: Vec::new(),
            store: Vec::new(),
            supervision: Supervision::default(),
            errors: ErrorPolicy::default(),
            topics: vec![TopicBlock::new(Rule::Static("numbers".to_owned()))],
        }
    }
}

/// A running source and its world.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) plugin: CountingPlugin,
    pub(crate) delivery: FakeDelivery,
    asked: Arc<FakeAsked>,
    total: u64,
}

impl Plan {
    pub(crate) async fn run(self) -> World {
        let plugin = CountingPlugin::new(10, self.total)
            .with_faults(self.plugin)
            .with_verdicts_taken(self.verdicts_taken);
        let delivery = FakeDelivery {
            broker: FakeBroker::with_faults(self.broker),
            store: FakeStore::with_faults(self.store),
        };
        let asked = Arc::new(FakeAsked::default());
        let mut definition = definition("numbers", self.window, self.supervision);
        definition.errors = self.errors;
        definition.topics = self.topics;
        let spec = spec(definition, &plugin, &delivery, asked.clone());
        let engine =
            Engine::start(settings(), vec![Entry::Good(Box::new(spec))]).await.expect("the root starts");
        World { engine, plugin, delivery, asked, total: self.total }
    }
}

fn spec(
    definition: Definition,
    plugin: &CountingPlugin,
    delivery: &FakeDelivery,
    asked: Arc<FakeAsked>,
) -> SourceSpec {
    SourceSpec {
        definition: Arc::new(definition),
        plugin: Arc::new(plugin.clone()),
        delivery: Arc::new(delivery.clone()),
        asked,
    }
}

pub(crate) fn settings() -> EngineSettings {
    EngineSettings { limits: Limits::default(), grace: Duration::from_secs(25) }
}

pub(crate) fn definition(key: &str, window: u32, supervision: Supervision) -> Definition {
    Definition {
        key: SourceKey::parse(key).expect("a legal key"),
        enabled: true,
        version: 0,
        name: key.to_owned(),
        path: "counting".to_owned(),
        max_in_flight: window,
        plugin_config_format: PluginConfigFormat::Toml,
        verbose: false,
        benchmark: false,
        topics: vec![TopicBlock::new(Rule::Static("numbers".to_owned()))],
        transforms: Vec::new(),
        plugin_config: PluginConfig::from_json(serde_json::Map::new()),
        supervision,
        errors: ErrorPolicy::default(),
        tests: Vec::new(),
        file: "numbers.toml".into(),
        written: pico_config::Written::default(),
        path_location: Location::File("numbers.toml".into()),
    }
}

impl World {
    pub(crate) async fn view(&self) -> SourceView {
        let list = self.engine.list().await;
        list.into_iter().find(|view| view.key == "numbers").expect("it is listed")
    }

    /// A definition over the same plugin, broker and store.
    pub(crate) fn entry(&self, definition: Definition) -> Entry {
        Entry::Good(Box::new(spec(definition, &self.plugin, &self.delivery, self.asked.clone())))
    }

    /// Makes these the whole set; what failed is tried again.
    pub(crate) async fn apply(&self, entries: Vec<Entry>) {
        self.engine.apply(entries, true).await.expect("the engine runs");
    }

    pub(crate) async fn until_none(&self) {
        let began = tokio::time::Instant::now();
        while !self.engine.list().await.is_empty() {
            assert!(began.elapsed() < PATIENCE, "it never goes");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) async fn command(&self, command: Command) {
        self.engine.command("numbers", command).await.expect("the command is taken");
    }

    /// Waits, on paused time, until `is_so`.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&SourceView) -> bool) -> SourceView {
        let began = tokio::time::Instant::now();
        loop {
            let view = self.view().await;
            if is_so(&view) {
                return view;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "waited for {what}: {view:?}, plugin {:?}",
                self.plugin.log()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) async fn until_status(&self, status: Status) -> SourceView {
        self.until(status.as_str(), |view| view.status == status).await
    }

    /// Waits until everything the plugin has is delivered, saved and acked.
    pub(crate) async fn until_all_acked(&self) {
        let total = self.total;
        let plugin = self.plugin.clone();
        self.until("all acked", |view| plugin.log().committed == total && view.in_flight == 0).await;
        assert_eq!(self.saved(), total, "the plugin is never ahead of the store");
    }

    /// The position that is saved.
    pub(crate) fn saved(&self) -> u64 {
        self.delivery
            .store
            .state()
            .map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    /// The numbers in the log, in order.
    pub(crate) fn sent(&self) -> Vec<u64> {
        let number = |payload: Vec<u8>| String::from_utf8(payload).expect("text").parse().expect("a number");
        self.delivery.broker.log().into_iter().map(|record| number(record.payload)).collect()
    }

    /// No loss, first occurrences in order; returns how many copies there are beyond the first.
    pub(crate) fn check_log(&self) -> usize {
        let sent = self.sent();
        let mut next = 0;
        for n in &sent {
            assert!(*n <= next, "{n} overtook {next}: {sent:?}");
            next = next.max(n + 1);
        }
        assert_eq!(next, self.total, "all are in the log");
        sent.len() - self.total as usize
    }
}
