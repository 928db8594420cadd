//! How much the tree itself costs: `cargo bench -p pico-actors`. One thread, ports in memory, a plugin that hands out
//! ready tables of JSON records of 200 bytes, field routing over four topics. Prints records a second and allocations
//! a batch and a record. The tables are made before the clock starts.

#![allow(clippy::print_stdout, reason = "what a bench is for")]

use std::alloc::System;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pico_actors::handle::{Engine, EngineSettings, Entry, SourceSpec};
use pico_actors::ports::{
    BoxFuture, CallFailure, CheckSink, OpenFailure, PluginFactory, PluginPort, PollOutcome,
};
use pico_actors::testing::{FakeAsked, FakeBroker, FakeDelivery, FakeStore};
use pico_config::{
    Definition, ErrorPolicy, FieldPath, Illegal, Limits, Location, PluginConfig, PluginConfigFormat, Rule,
    SourceKey, Supervision, Template, TopicBlock, Value,
};
use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Batch, Record, Schema, State, Verdict};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::sync::Notify;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const RECORDS: u64 = 10_000;
const BATCHES: u64 = 50;
const ROUNDS: usize = 9;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    for window in [1, 4] {
        let mut times = Vec::new();
        let mut allocations = Vec::new();
        for _ in 0..ROUNDS {
            let (time, allocated) = runtime.block_on(round(window));
            times.push(time);
            allocations.push(allocated);
        }
        times.sort_unstable();
        allocations.sort_unstable();
        let rate = |time: Duration| (RECORDS * BATCHES) as f64 / time.as_secs_f64();
        let per_batch = allocations[ROUNDS / 2] as f64 / BATCHES as f64;
        println!(
            "tree, W = {window}: best {:>10.0} records/s, median {:>10.0}; {per_batch:.0} allocations a batch, {:.4} a record",
            rate(times[0]),
            rate(times[ROUNDS / 2]),
            per_batch / RECORDS as f64,
        );
    }
}

/// One run over the ready tables: time, and allocations within it.
async fn round(window: u32) -> (Duration, usize) {
    let plugin = ReadyPlugin { ready: Arc::new(Mutex::new(tables())), done: Arc::new(Notify::new()) };
    let done = plugin.done.clone();
    let spec = SourceSpec {
        definition: Arc::new(definition(window)),
        plugin: Arc::new(plugin),
        delivery: Arc::new(FakeDelivery { broker: FakeBroker::null(), store: FakeStore::default() }),
        asked: Arc::new(FakeAsked::default()),
    };
    let settings = EngineSettings { limits: Limits::default(), grace: Duration::from_secs(1) };
    let region = Region::new(ALLOCATOR);
    let began = Instant::now();
    let engine = Engine::start(settings, vec![Entry::Good(Box::new(spec))]).await.expect("the root starts");
    done.notified().await;
    let time = began.elapsed();
    let change = region.change();
    engine.shutdown(Duration::from_secs(1)).await;
    (time, change.allocations + change.reallocations)
}

fn tables() -> VecDeque<GuestBatch> {
    (0..BATCHES).map(table).collect()
}

fn table(batch: u64) -> GuestBatch {
    let mut table = Batch::new(Schema::Json);
    for sequence in batch * RECORDS..(batch + 1) * RECORDS {
        let text = "x".repeat(60);
        let payload = format!(
            r#"{{"id":"7f1a1c8e-3d4b-4a0e-9f0c-2b6c1d5e8a90","sequence":{sequence},"user_id":"user-{}","title":"Hello","name":"World","text":"{text}"}}"#,
            sequence % 4
        );
        table.push(Record::new(format!("{payload:<200}").into_bytes()));
    }
    GuestBatch::from_batch(table.with_state(State::from_bytes(batch.to_le_bytes().to_vec())))
}

fn definition(window: u32) -> Definition {
    let rule = Rule::Dynamic {
        from: Value::Field(FieldPath::parse("user_id").expect("a path")),
        template: Template::value(),
        fallback: None,
        illegal: Illegal::Missing,
    };
    Definition {
        key: SourceKey::parse("bench").expect("a legal key"),
        enabled: true,
        version: 0,
        name: "bench".to_owned(),
        path: "ready".to_owned(),
        max_in_flight: window,
        plugin_config_format: PluginConfigFormat::Toml,
        verbose: false,
        benchmark: false,
        topics: vec![TopicBlock::new(rule)],
        transforms: Vec::new(),
        plugin_config: PluginConfig::from_json(serde_json::Map::new()),
        supervision: Supervision::default(),
        errors: ErrorPolicy::default(),
        tests: Vec::new(),
        file: "bench.toml".into(),
        written: pico_config::Written::default(),
        path_location: Location::File("bench.toml".into()),
    }
}

#[derive(Clone)]
struct ReadyPlugin {
    ready: Arc<Mutex<VecDeque<GuestBatch>>>,
    done: Arc<Notify>,
}

impl PluginFactory for ReadyPlugin {
    fn open(
        &self,
        _: Option<Vec<u8>>,
        _: CheckSink,
        _: BoxFuture<()>,
    ) -> BoxFuture<Result<Arc<dyn PluginPort>, OpenFailure>> {
        let opened: Arc<dyn PluginPort> = Arc::new(ReadyInstance {
            plugin: self.clone(),
            acked: Mutex::new(0),
            interrupted: Arc::new(Notify::new()),
        });
        Box::pin(async move { Ok(opened) })
    }
}

struct ReadyInstance {
    plugin: ReadyPlugin,
    acked: Mutex<u64>,
    interrupted: Arc<Notify>,
}

impl PluginPort for ReadyInstance {
    fn is_pipelined(&self) -> bool {
        true
    }

    fn poll(&self) -> BoxFuture<PollOutcome> {
        let next = self.plugin.ready.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let interrupted = self.interrupted.clone();
        Box::pin(async move {
            match next {
                Some(batch) => PollOutcome::Batch(batch),
                None => {
                    interrupted.notified().await;
                    PollOutcome::Ended
                }
            }
        })
    }

    fn resolve(&self, verdict: Verdict) -> BoxFuture<Result<(), CallFailure>> {
        assert_eq!(verdict, Verdict::Ack, "nothing fails here");
        let mut acked = self.acked.lock().unwrap_or_else(PoisonError::into_inner);
        *acked += 1;
        if *acked == BATCHES {
            self.plugin.done.notify_one();
        }
        Box::pin(async { Ok(()) })
    }

    fn interrupt(&self) {
        self.interrupted.notify_one();
    }

    fn end(&self, _: bool) -> BoxFuture<bool> {
        Box::pin(async { false })
    }
}
