//! Records a second through the port beside a bare producer loop with the same settings, in alternating rounds.
//!
//! `throughput BOOTSTRAP WINDOW [TOPICS] [ROUNDS]`: batches of 10,000 records of 200 bytes, spread over as many topics
//! as said. Both sides send ready-made batches; what is compared is the way from a batch to its last report.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a tool for people at a terminal")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pico_actors::ports::{BrokerPort, DeliveryEvent};
use pico_broker::{Admin, BrokerSettings, KafkaBroker};
use pico_config::{ErrorPolicy, Kafka, Limits, Rule, Template, TopicBlock, Value};
use pico_record::{Provenance, RecordPath, Routed};
use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Batch, Schema};
use rdkafka::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseProducer, BaseRecord, ProducerContext};

const RECORDS: usize = 10_000;
const PAYLOAD: usize = 200;
/// Sent in one timed round.
const BATCHES: usize = 40;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default| arguments.get(at).map_or(default, |text| text.parse().unwrap());
    let (address, window) = (arguments[0].clone(), number(1, 1));
    let (topics, rounds) = (number(2, 1), number(3, 5));
    let topics: Vec<String> = (0..topics).map(|n| format!("throughput-{}-{n}", std::process::id())).collect();

    let mut port = Port::new(&address, &topics, window);
    let bare = Bare::new(&address);
    port.round(2, window);
    bare.round(&topics, 2, window);
    let mut best = (0.0f64, 0.0f64);
    let before = own_cpu();
    for _ in 0..rounds {
        let ours = port.round(BATCHES, window);
        let theirs = bare.round(&topics, BATCHES, window);
        println!("port {:>9.0}/s   bare {:>9.0}/s   ratio {:.3}", ours, theirs, ours / theirs);
        best = (best.0.max(ours), best.1.max(theirs));
    }
    let after = own_cpu();
    let sent = (rounds * BATCHES * RECORDS) as f64;
    let (courier, reports) = ((after.0 - before.0) / sent, (after.1 - before.1) / sent);
    println!("the port's own threads, ns a record: courier {courier:.0}, reports {reports:.0}");
    println!("best of {rounds}: port {:.0}/s, bare {:.0}/s, ratio {:.3}", best.0, best.1, best.0 / best.1);
}

/// Nanoseconds that the port's courier and its polling threads ran so far.
fn own_cpu() -> (f64, f64) {
    let mut cpu = (0.0, 0.0);
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let ran: f64 = read("schedstat").split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
        match read("comm").trim() {
            "kafka-courier" => cpu.0 += ran,
            "kafka-reports" => cpu.1 += ran,
            _ => {}
        }
    }
    cpu
}

fn rate(batches: usize, took: Duration) -> f64 {
    (batches * RECORDS) as f64 / took.as_secs_f64()
}

/// The port of this crate.
struct Port {
    port: KafkaBroker,
    path: RecordPath,
    topics: Vec<String>,
}

impl Port {
    fn new(address: &str, topics: &[String], window: usize) -> Port {
        let rule = Rule::Dynamic {
            from: Value::Key,
            template: Template::value(),
            fallback: None,
            illegal: pico_config::Illegal::Missing,
        };
        let block = TopicBlock {
            schema: Schema::Raw,
            batch_length: RECORDS as u32,
            create_topics: true,
            max_topics: 1_000_000,
            ..TopicBlock::new(rule)
        };
        let settings = BrokerSettings {
            kafka: Kafka { bootstrap_servers: address.to_owned(), ..Kafka::default() },
            limits: Limits::default(),
            blocks: vec![block],
            errors: ErrorPolicy::default(),
            max_in_flight: window as u32,
            batch_deadline: Duration::from_secs(30),
            idle_after: Duration::from_secs(300),
            queue_messages: None,
            topics_created: metrics::Counter::noop(),
        };
        let admin = Admin::open(&settings.kafka).unwrap();
        let path = RecordPath::new(&settings.blocks, &settings.limits).unwrap();
        Port { port: KafkaBroker::new(admin, settings), path, topics: topics.to_vec() }
    }

    fn batch(&mut self) -> Routed {
        let payload = [b'x'; PAYLOAD];
        let mut batch = Batch::with_capacity(Schema::Raw, RECORDS, RECORDS * (PAYLOAD + 20));
        for number in 0..RECORDS {
            batch.add().payload(&payload).key(self.topics[number % self.topics.len()].as_bytes());
        }
        self.path.route(GuestBatch::from_batch(batch), Provenance { life: 1, number: 1 }).unwrap()
    }

    fn round(&mut self, batches: usize, window: usize) -> f64 {
        let ready: Vec<_> = (0..batches).map(|_| self.batch()).collect();
        let mut open: VecDeque<Receiver<DeliveryEvent>> = VecDeque::new();
        let started = Instant::now();
        for batch in ready {
            if open.len() == window {
                settle(&open.pop_front().unwrap());
            }
            let (sender, events) = mpsc::channel();
            self.port.deliver(1, batch, Box::new(move |event| sender.send(event).unwrap_or(())));
            open.push_back(events);
        }
        open.iter().for_each(settle);
        rate(batches, started.elapsed())
    }
}

fn settle(events: &Receiver<DeliveryEvent>) {
    loop {
        match events.recv().unwrap() {
            DeliveryEvent::Enqueued => {}
            DeliveryEvent::Settled => return,
            DeliveryEvent::Failed(failure) => panic!("{failure:?}"),
        }
    }
}

/// A producer loop as anybody would write it: send by name, count reports.
struct Bare {
    producer: Arc<BaseProducer<Count>>,
    is_ending: Arc<AtomicBool>,
}

struct Count {
    left: Arc<Vec<AtomicUsize>>,
    done: Mutex<mpsc::Sender<usize>>,
    events: Mutex<Receiver<usize>>,
}

impl ClientContext for Count {}

impl ProducerContext for Count {
    type DeliveryOpaque = usize;

    fn delivery(&self, report: &DeliveryResult<'_>, batch: usize) {
        assert!(report.is_ok());
        if self.left[batch].fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.lock().unwrap().send(batch).unwrap();
        }
    }
}

impl Bare {
    fn new(address: &str) -> Bare {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", address).set("enable.idempotence", "true");
        config.set("enable.gapless.guarantee", "true").set("acks", "all").set("linger.ms", "0");
        config.set("batch.num.messages", RECORDS.to_string()).set("message.timeout.ms", "0");
        config.set("message.max.bytes", "1016384").set("queue.buffering.max.messages", "1000000");
        let (done, events) = mpsc::channel();
        let left = Arc::new((0..BATCHES).map(|_| AtomicUsize::new(0)).collect());
        let context = Count { left, done: Mutex::new(done), events: Mutex::new(events) };
        let producer: Arc<BaseProducer<Count>> = Arc::new(config.create_with_context(context).unwrap());
        let is_ending = Arc::new(AtomicBool::new(false));
        let (polled, ending) = (producer.clone(), is_ending.clone());
        std::thread::spawn(move || {
            while !ending.load(Ordering::Acquire) {
                polled.poll(Duration::from_millis(500));
            }
        });
        Bare { producer, is_ending }
    }

    fn round(&self, topics: &[String], batches: usize, window: usize) -> f64 {
        use rdkafka::producer::Producer as _;
        let payload = [b'x'; PAYLOAD];
        let context = self.producer.client().context().clone();
        let started = Instant::now();
        let events = context.events.lock().unwrap();
        let mut open = 0;
        for batch in 0..batches {
            if open == window {
                events.recv().unwrap();
                open -= 1;
            }
            context.left[batch].store(RECORDS, Ordering::Release);
            for number in 0..RECORDS {
                let topic = &topics[number % topics.len()];
                let record =
                    BaseRecord::with_opaque_to(topic, batch).payload(&payload[..]).key(topic.as_bytes());
                self.producer.send(record.partition(0)).map_err(|(error, _)| error).unwrap();
            }
            open += 1;
        }
        for _ in 0..open {
            events.recv().unwrap();
        }
        rate(batches, started.elapsed())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Release);
    }
}
