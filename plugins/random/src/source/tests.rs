use std::collections::HashSet;

use picomq_connector_sdk::conformance::{self, Bench, Setting, Subject};
use picomq_connector_sdk::ffi::host::{GuestBatch, RecordView};
use serde_json::{Value, json};

use super::*;

/// The source with an end, so that the kit can see that nothing follows.
struct Numbers {
    config: Value,
}

impl Subject for Numbers {
    type Source = RandomSource;

    async fn reset(&self) {}

    fn config(&self) -> Value {
        self.config.clone()
    }

    fn expected(&self) -> Vec<String> {
        (0..60).map(|sequence: u64| sequence.to_string()).collect()
    }

    fn identity(&self, record: &RecordView<'_>) -> String {
        let record: Value = serde_json::from_slice(record.payload.expect("no tombstones")).expect("JSON");
        record["sequence"].to_string()
    }
}

#[tokio::test(start_paused = true)]
async fn the_source_keeps_the_rules() {
    let config = json!({ "interval": "2s", "messages_range": [1, 9], "max_count": 60, "payload_size": 3 });
    conformance::check(&Numbers { config }).await;
}

#[tokio::test(start_paused = true)]
async fn the_source_keeps_the_rules_without_an_interval() {
    let config = json!({ "interval": "0s", "messages_range": [0, 5], "max_count": 60, "seed": 7 });
    conformance::check(&Numbers { config }).await;
}

async fn open(config: Value) -> Bench<RandomSource> {
    Bench::open(Setting::new(config)).await.unwrap()
}

fn payloads(batch: &GuestBatch) -> Vec<Vec<u8>> {
    batch.records().map(|record| record.payload.unwrap().to_vec()).collect()
}

#[tokio::test(start_paused = true)]
async fn max_count_is_met_exactly_and_nothing_follows_b111() {
    let source = open(json!({ "messages_range": [5, 5], "max_count": 7 })).await;
    let mut sizes = Vec::new();
    for _ in 0..4 {
        let batch = source.poll().await.unwrap();
        assert_eq!(batch.state().is_some(), !batch.is_empty());
        sizes.push(batch.len());
        source.resolve(Verdict::Ack).await.unwrap();
    }
    assert_eq!(sizes, [5, 2, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_count_above_a_lowered_max_count_is_no_panic() {
    let state = picomq_connector_sdk::State::encode(&Produced { count: 9 }, STATE_VERSION).unwrap();
    let setting = Setting::new(json!({ "max_count": 7 })).with_state(Some(state));
    let source = Bench::<RandomSource>::open(setting).await.unwrap();
    assert!(source.poll().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_sequence_goes_on_after_a_restart_without_a_gap_b111() {
    let config = json!({ "messages_range": [5, 5] });
    let source = open(config.clone()).await;
    let batch = source.poll().await.unwrap();
    let state = batch.state().map(picomq_connector_sdk::State::from_bytes);
    drop(source);
    let source = Bench::<RandomSource>::open(Setting::new(config).with_state(state)).await.unwrap();
    let batch = source.poll().await.unwrap();
    let first: Value = serde_json::from_slice(batch.record(0).payload.unwrap()).unwrap();
    assert_eq!(first["sequence"], 5);
}

#[tokio::test(start_paused = true)]
async fn the_user_is_the_sequence_modulo_the_pool_and_the_key_only_if_asked() {
    for key_by_user in [false, true] {
        let config = json!({ "messages_range": [9, 9], "user_pool": 4, "key_by_user": key_by_user });
        let batch = open(config).await.poll().await.unwrap();
        for (sequence, record) in batch.records().enumerate() {
            let value: Value = serde_json::from_slice(record.payload.unwrap()).unwrap();
            let user = format!("user-{}", sequence % 4);
            assert_eq!(value["user_id"], user.as_str());
            assert_eq!(record.key, key_by_user.then_some(user.as_bytes()));
            assert_eq!((record.timestamp_ms, record.id, record.headers().len()), (None, None, 0));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_has_the_same_sequences_with_fresh_ids_and_text() {
    let source = open(json!({ "messages_range": [5, 5] })).await;
    let first = payloads(&source.poll().await.unwrap());
    source.resolve(Verdict::Nack).await.unwrap();
    let second = payloads(&source.poll().await.unwrap());
    let all: HashSet<&Vec<u8>> = first.iter().chain(&second).collect();
    assert_eq!(all.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn with_a_seed_a_replay_is_the_same_to_the_byte_also_in_another_process() {
    let config = json!({ "messages_range": [5, 5], "seed": 42 });
    let source = open(config.clone()).await;
    let first = payloads(&source.poll().await.unwrap());
    source.resolve(Verdict::Nack).await.unwrap();
    let second = payloads(&source.poll().await.unwrap());
    let elsewhere = payloads(&open(config).await.poll().await.unwrap());
    assert_eq!((&first, &first), (&second, &elsewhere));
}

#[tokio::test(start_paused = true)]
async fn batch_sizes_are_spread_over_the_whole_range_the_end_excluded() {
    let source = open(json!({ "interval": "0s", "messages_range": [3, 7], "payload_size": 1 })).await;
    let mut sizes = HashSet::new();
    for _ in 0..200 {
        sizes.insert(source.poll().await.unwrap().len());
        source.resolve(Verdict::Ack).await.unwrap();
    }
    assert_eq!(sizes, HashSet::from([3, 4, 5, 6]));
}

#[tokio::test(start_paused = true)]
async fn each_poll_sleeps_the_interval_first() {
    let source = open(json!({ "interval": "90s" })).await;
    let started = tokio::time::Instant::now();
    source.poll().await.unwrap();
    source.poll().await.unwrap();
    let slept = started.elapsed();
    assert!(slept >= std::time::Duration::from_secs(180) && slept < std::time::Duration::from_secs(181));
}

#[tokio::test(start_paused = true)]
async fn a_long_sleep_ends_at_once_when_interrupted_b141() {
    let source = open(json!({ "interval": "1h" })).await;
    source.ask(true);
    assert!(matches!(source.poll().await, Err(Error::Interrupted)));
}

#[tokio::test]
async fn an_unknown_key_is_refused_with_the_one_that_was_meant() {
    let setting = Setting::new(json!({ "payload_sise": 3 }));
    let error = Bench::<RandomSource>::open(setting).await.err().unwrap();
    assert!(error.to_string().contains("did you mean `payload_size`"), "{error}");
}
