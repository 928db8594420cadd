//! A source that fails on purpose must be right wherever it does not: the chaos tests blame the engine.

use std::collections::BTreeSet;
use std::path::Path;

use picomq_connector_faulty_source::FaultySource;
use picomq_connector_sdk::conformance::{self, Bench, Setting, Subject};
use picomq_connector_sdk::ffi::host::{GuestBatch, RecordView};
use picomq_connector_sdk::{Error, Verdict};
use serde_json::{Value, json};

const RECORDS: usize = 24;

fn record(view: &RecordView<'_>) -> Value {
    serde_json::from_slice(view.payload.expect("no tombstones")).expect("JSON")
}

/// A mode that counts to an end.
struct Counter(Value);

impl Subject for Counter {
    type Source = FaultySource;

    async fn reset(&self) {}

    fn config(&self) -> Value {
        self.0.clone()
    }

    fn expected(&self) -> Vec<String> {
        (0..RECORDS).map(|sequence| sequence.to_string()).collect()
    }

    fn identity(&self, view: &RecordView<'_>) -> String {
        record(view)["sequence"].to_string()
    }
}

/// A folder of numbered files.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    fn names() -> Vec<String> {
        (0..RECORDS).map(|number| format!("{number:06}")).collect()
    }

    fn left(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("it is there");
        let names = entries.map(|entry| entry.expect("readable").file_name().into_string().expect("text"));
        names.filter(|name| !name.starts_with('.')).collect()
    }
}

impl Subject for Folder {
    type Source = FaultySource;

    async fn reset(&self) {
        fill(self.0.path());
    }

    fn config(&self) -> Value {
        json!({ "mode": "destructive", "folder": self.0.path(), "interval": "1ms", "records": 4 })
    }

    fn expected(&self) -> Vec<String> {
        Folder::names()
    }

    fn identity(&self, view: &RecordView<'_>) -> String {
        record(view)["name"].as_str().expect("text").to_owned()
    }

    async fn changed(&self) -> BTreeSet<String> {
        let left = self.left();
        Folder::names().into_iter().filter(|name| !left.contains(name)).collect()
    }

    fn has_effects(&self) -> bool {
        true
    }
}

fn fill(folder: &Path) {
    for name in Folder::names() {
        std::fs::write(folder.join(&name), format!("text of {name}")).expect("writable");
    }
    std::fs::write(folder.join(".hidden"), "no record").expect("writable");
    std::fs::create_dir_all(folder.join("subfolder")).expect("writable");
}

#[tokio::test(start_paused = true)]
async fn a_script_without_steps_keeps_the_rules() {
    let config = json!({ "mode": "script", "interval": "1ms", "records": 4, "max_count": RECORDS });
    conformance::check(&Counter(config)).await;
}

#[tokio::test(start_paused = true)]
async fn per_key_keeps_the_rules() {
    let config =
        json!({ "mode": "per_key", "interval": "1ms", "records": 4, "keys": 3, "max_count": RECORDS });
    conformance::check(&Counter(config)).await;
}

#[tokio::test]
async fn destructive_keeps_the_rules() {
    conformance::check(&Folder::new()).await;
}

async fn open(config: Value) -> Result<Bench<FaultySource>, Error> {
    Bench::open(Setting::new(config)).await
}

fn script(steps: Value) -> Value {
    json!({ "mode": "script", "interval": "0s", "records": 3, "steps": steps })
}

#[tokio::test]
async fn per_key_numbers_each_key_from_zero_without_a_gap() {
    let source = open(json!({ "mode": "per_key", "interval": "0s", "records": 8, "keys": 3 })).await.unwrap();
    let batch = source.poll().await.unwrap();
    let of_key: Vec<u64> = batch
        .records()
        .filter(|view| view.key == Some(b"key-1"))
        .map(|view| record(&view)["number"].as_u64().unwrap())
        .collect();
    assert_eq!(of_key, [0, 1, 2]);
}

#[tokio::test]
async fn a_step_happens_at_its_call_only() {
    let source = open(script(json!([{ "call": "poll", "at": 2, "do": "permanent" }]))).await.unwrap();
    assert_eq!(source.poll().await.unwrap().len(), 3);
    assert!(matches!(source.poll().await, Err(Error::Permanent(_))));
    assert_eq!(source.poll().await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_step_done_once_is_not_done_by_the_next_instance() {
    let folder = tempfile::tempdir().unwrap();
    let config = script(json!([{ "call": "open", "once": folder.path().join("m"), "do": "config" }]));
    assert!(matches!(open(config.clone()).await, Err(Error::Config(_))));
    assert!(open(config).await.is_ok());
}

#[tokio::test]
async fn a_poisoned_record_is_the_only_bad_one_of_its_batch() {
    let mut config = script(json!([]));
    config["poison"] =
        json!([{ "sequence": 1, "with": "not_json" }, { "sequence": 5, "with": { "bytes": 5000 } }]);
    let source = open(config).await.unwrap();
    let is_json = |batch: &GuestBatch, index: usize| {
        serde_json::from_slice::<Value>(batch.record(index).payload.unwrap()).is_ok()
    };
    let batch = source.poll().await.unwrap();
    assert_eq!([0, 1, 2].map(|index| is_json(&batch, index)), [true, false, true]);
    source.resolve(Verdict::Ack).await.unwrap();
    let batch = source.poll().await.unwrap();
    assert!(batch.record(2).payload.unwrap().len() > 5000 && is_json(&batch, 2));
}

#[tokio::test]
async fn every_kind_of_batch_can_be_asked_for() {
    let step = |at: u32, action: Value| json!({ "call": "poll", "at": at, "do": action });
    let steps = json!([
        step(1, json!("empty")),
        step(2, json!("watermark")),
        step(3, json!("no_state")),
        step(4, json!({ "records": 7 })),
    ]);
    let source = open(script(steps)).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let batch = source.poll().await.unwrap();
        seen.push((batch.len(), batch.state().is_some()));
        source.resolve(Verdict::Ack).await.unwrap();
    }
    assert_eq!(seen, [(0, false), (0, true), (3, false), (7, true)]);
}

#[tokio::test]
#[should_panic(expected = "the script says panic in Ack")]
async fn a_panic_in_a_verdict_panics() {
    let source = open(script(json!([{ "call": "ack", "do": "panic" }]))).await.unwrap();
    source.poll().await.unwrap();
    let _ = source.resolve(Verdict::Ack).await;
}
