//! A Kafka, a source's port, and what lies in a topic.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use metrics::Counter;
use pico_actors::ports::{BrokerPort, DeliveryEvent, DeliveryFailure};
use pico_broker::{Admin, BrokerSettings, KafkaBroker};
use pico_config::{ErrorPolicy, FieldPath, Illegal, Kafka, Limits, Rule, Template, TopicBlock, Value};
use pico_record::{Ceiling, Provenance, RecordPath, Routed};
use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Batch, Record, Schema};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use rdkafka::{Offset, TopicPartitionList};

/// Longest wait for anything that has to come.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// One real Kafka for all tests of this process; it ends with the process.
pub(crate) struct Server {
    pub(crate) plain: String,
    pub(crate) sasl: String,
    pub(crate) sasl_tls: String,
    pub(crate) authority: std::path::PathBuf,
    _process: Child,
}

fn scripts() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chaos-tests/services/kafka")
}

/// The shared server, started at its first use.
pub(crate) fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("pico-broker-kafka-{}", std::process::id()));
        let ports: Vec<u16> = free_ports(4);
        let mut command = Command::new(scripts().join("kafka.sh"));
        command.env("DATA_DIR", &folder).env("STOP_ON_EOF", "1").env("REMOVE_AT_END", "1");
        command.env("PORT", ports[0].to_string()).env("CONTROLLER_PORT", ports[1].to_string());
        command.env("SASL_PORT", ports[2].to_string()).env("SASL_TLS_PORT", ports[3].to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().expect("kafka.sh can be started");
        let address = |port: u16| format!("127.0.0.1:{port}");
        let server = Server {
            plain: address(ports[0]),
            sasl: address(ports[2]),
            sasl_tls: address(ports[3]),
            authority: folder.join("tls/ca.pem"),
            _process: process,
        };
        let up =
            until(Duration::from_secs(120), || consumer(&server.plain).fetch_metadata(None, SOON).is_ok());
        assert!(up, "kafka did not start");
        server
    })
}

/// One of Kafka's own tools.
pub(crate) fn tool(arguments: &[&str]) {
    let mut command = Command::new(scripts().join("tool.sh"));
    let output = command.args(arguments).output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

fn free_ports(count: usize) -> Vec<u16> {
    let held: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

/// Looks until it is so; false when it was not in time.
pub(crate) fn until(longest: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < longest {
        if is_so() {
            return true;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    is_so()
}

/// A name that no other test uses.
pub(crate) fn fresh(word: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{word}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// `[kafka]` for a broker at `address`.
pub(crate) fn kafka(address: &str) -> Kafka {
    Kafka { bootstrap_servers: address.to_owned(), ..Kafka::default() }
}

/// A block that sends everything to one topic.
pub(crate) fn to_topic(topic: &str) -> TopicBlock {
    TopicBlock { schema: Schema::Raw, ..TopicBlock::new(Rule::Static(topic.to_owned())) }
}

/// A block that sends JSON records to the topic in their field `topic`.
pub(crate) fn by_field() -> TopicBlock {
    TopicBlock::new(Rule::Dynamic {
        from: Value::Field(FieldPath::parse("topic").unwrap()),
        template: Template::value(),
        fallback: None,
        illegal: Illegal::Missing,
    })
}

/// A record for [`by_field`].
pub(crate) fn record_for(topic: &str, number: usize) -> Record {
    Record::new(format!("{{\"topic\":\"{topic}\",\"number\":{number}}}"))
}

/// Settings with a deadline that no healthy test meets.
pub(crate) fn settings(kafka: Kafka, blocks: Vec<TopicBlock>) -> BrokerSettings {
    BrokerSettings {
        kafka,
        limits: Limits::default(),
        blocks,
        errors: ErrorPolicy::default(),
        max_in_flight: 64,
        batch_deadline: Duration::from_secs(20),
        idle_after: Duration::from_secs(300),
        queue_messages: None,
        topics_created: Counter::noop(),
    }
}

/// A source: its way of records and its port.
pub(crate) struct Source {
    pub(crate) port: KafkaBroker,
    pub(crate) admin: Admin,
    path: RecordPath,
    epoch: Arc<AtomicU64>,
}

impl Source {
    pub(crate) fn new(settings: BrokerSettings) -> Source {
        let admin = Admin::open(&settings.kafka).unwrap();
        Source::with_admin(admin, settings)
    }

    pub(crate) fn with_admin(admin: Admin, settings: BrokerSettings) -> Source {
        let path = RecordPath::new(&settings.blocks, &settings.limits).unwrap();
        let path = path.with_errors(&settings.errors, "source", Ceiling::default()).unwrap();
        Source { port: KafkaBroker::new(admin.clone(), settings), admin, path, epoch: Arc::default() }
    }

    /// A source on the shared server.
    pub(crate) fn on_kafka(blocks: Vec<TopicBlock>) -> Source {
        Source::new(settings(kafka(&server().plain), blocks))
    }

    /// What is delivered next belongs to this epoch; a failure that a test hears of ends the present one by itself.
    pub(crate) fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    pub(crate) fn route(&mut self, schema: Schema, records: Vec<Record>) -> Routed {
        let mut batch = Batch::new(schema);
        records.into_iter().for_each(|record| batch.push(record));
        self.path.route(GuestBatch::from_batch(batch), Provenance { life: 1, number: 1 }).unwrap()
    }

    /// Hands a batch to the port.
    pub(crate) fn deliver(&mut self, records: Vec<Record>) -> Delivery {
        self.deliver_as(Schema::Raw, records)
    }

    /// Hands a batch of JSON records to the port.
    pub(crate) fn deliver_json(&mut self, records: Vec<Record>) -> Delivery {
        self.deliver_as(Schema::Json, records)
    }

    fn deliver_as(&mut self, schema: Schema, records: Vec<Record>) -> Delivery {
        let routed = self.route(schema, records);
        let (sender, events) = mpsc::channel();
        let epoch = self.epoch.load(Ordering::Relaxed);
        self.port.deliver(epoch, routed, Box::new(move |event| sender.send(event).unwrap_or(())));
        Delivery { events, epoch, epochs: self.epoch.clone() }
    }
}

/// What the port says of one batch.
pub(crate) struct Delivery {
    events: Receiver<DeliveryEvent>,
    epoch: u64,
    /// A failure that the test has heard of ends the epoch, as the lifecycle does.
    epochs: Arc<AtomicU64>,
}

impl Delivery {
    /// The next thing it says.
    pub(crate) fn next(&self) -> DeliveryEvent {
        let event = self.events.recv_timeout(SOON).expect("an event in time");
        if matches!(event, DeliveryEvent::Failed(_)) {
            self.epochs.fetch_max(self.epoch + 1, Ordering::Relaxed);
        }
        event
    }

    /// Everything it says up to `Settled`, and nothing after it.
    pub(crate) fn all(&self) -> Vec<DeliveryEvent> {
        let mut events = Vec::new();
        while events.last() != Some(&DeliveryEvent::Settled) {
            events.push(self.next());
        }
        assert_eq!(self.events.try_recv().ok(), None, "something came after Settled");
        events
    }

    /// It was delivered whole.
    pub(crate) fn is_good(&self) {
        assert_eq!(self.all(), [DeliveryEvent::Enqueued, DeliveryEvent::Settled]);
    }

    /// It failed, and this is why.
    pub(crate) fn failure(&self) -> DeliveryFailure {
        let mut events = self.all();
        events.retain(|event| matches!(event, DeliveryEvent::Failed(_)));
        match events.as_slice() {
            [DeliveryEvent::Failed(failure)] => failure.clone(),
            other => panic!("not failed once: {other:?}"),
        }
    }
}

/// A record as it lies in a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) partition: i32,
    pub(crate) payload: Option<Vec<u8>>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) timestamp_ms: Option<i64>,
}

impl Stored {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.payload.clone().unwrap_or_default()).unwrap()
    }
}

fn consumer(address: &str) -> BaseConsumer {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", address).set("group.id", "tests").set("enable.auto.commit", "false");
    config.set("auto.offset.reset", "earliest").set("fetch.wait.max.ms", "50");
    config.create().unwrap()
}

/// Everything in a topic now, partition after partition.
pub(crate) fn log_of(address: &str, topic: &str) -> Vec<Stored> {
    let mut logs = logs_of(address, &[topic]);
    logs.remove(topic).unwrap_or_default()
}

/// Everything in some topics now.
pub(crate) fn logs_of(address: &str, topics: &[&str]) -> BTreeMap<String, Vec<Stored>> {
    let consumer = consumer(address);
    let metadata = consumer.fetch_metadata((topics.len() == 1).then_some(topics[0]), SOON).unwrap();
    let mut wanted = 0;
    let mut places = TopicPartitionList::new();
    for topic in metadata.topics().iter().filter(|topic| topics.contains(&topic.name())) {
        for partition in topic.partitions() {
            let (_, end) = consumer.fetch_watermarks(topic.name(), partition.id(), SOON).unwrap();
            wanted += end;
            places.add_partition_offset(topic.name(), partition.id(), Offset::Beginning).unwrap();
        }
    }
    consumer.assign(&places).unwrap();
    let mut logs: BTreeMap<String, Vec<Stored>> = BTreeMap::new();
    for _ in 0..wanted {
        let message = consumer.poll(SOON).expect("a record in time").unwrap();
        let headers = message.headers().map(|headers| {
            headers.iter().map(|h| (h.key.to_owned(), h.value.unwrap_or_default().to_vec())).collect()
        });
        logs.entry(message.topic().to_owned()).or_default().push(Stored {
            partition: message.partition(),
            payload: message.payload().map(<[u8]>::to_vec),
            key: message.key().map(<[u8]>::to_vec),
            headers: headers.unwrap_or_default(),
            timestamp_ms: message.timestamp().to_millis(),
        });
    }
    logs.values_mut().for_each(|log| log.sort_by_key(|record| record.partition));
    logs
}

/// The payloads in a topic as text.
pub(crate) fn texts_in(topic: &str) -> Vec<String> {
    log_of(&server().plain, topic).iter().map(Stored::text).collect()
}

/// The payloads in some topics as text.
pub(crate) fn texts_in_all(topics: &[String]) -> BTreeMap<String, Vec<String>> {
    let names: Vec<_> = topics.iter().map(String::as_str).collect();
    let logs = logs_of(&server().plain, &names);
    logs.into_iter().map(|(topic, log)| (topic, log.iter().map(Stored::text).collect())).collect()
}

/// Number of partitions, 0 when there is no such topic.
pub(crate) fn partitions_of(topic: &str) -> usize {
    let metadata = consumer(&server().plain).fetch_metadata(Some(topic), SOON).unwrap();
    metadata.topics()[0].partitions().len()
}

/// Partitions of the topic that has most.
pub(crate) fn most_partitions_of(topics: &[String]) -> usize {
    let metadata = consumer(&server().plain).fetch_metadata(None, SOON).unwrap();
    let asked = metadata.topics().iter().filter(|topic| topics.iter().any(|name| name == topic.name()));
    asked.map(|topic| topic.partitions().len()).max().unwrap_or(0)
}

/// An admin client that is not ours, and its runtime.
pub(crate) struct Outside {
    pub(crate) admin: AdminClient<DefaultClientContext>,
    pub(crate) runtime: tokio::runtime::Runtime,
}

/// What a person does to the shared server with other tools.
pub(crate) fn outside() -> Outside {
    let mut config = ClientConfig::new();
    let admin = config.set("bootstrap.servers", &server().plain).create().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    Outside { admin, runtime }
}

impl Outside {
    /// Creates a topic with settings and waits until it is there.
    pub(crate) fn create(&self, topic: &str, partitions: i32, settings: &[(&str, &str)]) {
        let mut new = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
        for (name, value) in settings {
            new = new.set(name, value);
        }
        let results = self.runtime.block_on(self.admin.create_topics(&[new], &AdminOptions::new())).unwrap();
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert!(until(SOON, || partitions_of(topic) == partitions as usize));
    }

    /// Deletes a topic and waits until it is gone.
    pub(crate) fn delete(&self, topic: &str) {
        let results =
            self.runtime.block_on(self.admin.delete_topics(&[topic], &AdminOptions::new())).unwrap();
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert!(until(SOON, || partitions_of(topic) == 0));
    }
}
