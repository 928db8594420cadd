//! A source on the bench, its records as values, and small answers of stubs.

use std::time::Duration;

use picomq_connector_influxdb_source::InfluxSource;
use picomq_connector_sdk::conformance::{Bench, Setting};
use picomq_connector_sdk::ffi::host::GuestBatch;
use picomq_connector_sdk::{Error, State, Verdict};
use serde_json::{Value, json};
use tokio::time::timeout;

/// Longer than anything takes; it only ends a test that would hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// A record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) payload: String,
    pub(crate) key: Option<String>,
    pub(crate) id: String,
    pub(crate) timestamp_ms: Option<i64>,
    pub(crate) event_time_ns: Option<i64>,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.payload).unwrap_or_else(|error| panic!("{error}: {}", self.payload))
    }
}

/// `base` with the keys of a test.
pub(crate) fn with(mut base: Value, keys: Value) -> Value {
    for (key, value) in keys.as_object().unwrap() {
        base[key] = value.clone();
    }
    base
}

/// Against a stub of version 1, quick to give up.
pub(crate) fn v1(url: &str, keys: Value) -> Value {
    let base = json!({
        "version": "v1", "url": url, "db": "db", "measurement": "m", "fields": ["v"], "tags": ["t"],
        "poll_interval": "1ms", "max_retries": 1, "max_open_retries": 1, "retry_delay": "1ms", "retry_max_delay": "2ms",
        "circuit_breaker_threshold": 0,
    });
    with(base, keys)
}

pub(crate) async fn open(config: Value, state: Option<State>) -> Result<Bench<InfluxSource>, Error> {
    Bench::open(Setting::new(config).with_state(state)).await
}

pub(crate) fn seen(batch: &GuestBatch) -> Vec<Seen> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let seen = batch.records().map(|record| Seen {
        payload: text(record.payload.expect("no tombstones here")),
        key: record.key.map(text),
        id: record.id.expect("every record has an id").to_owned(),
        timestamp_ms: record.timestamp_ms,
        event_time_ns: record.event_time_ns,
    });
    seen.collect()
}

/// The next batch, with its state, acknowledged.
pub(crate) async fn next(bench: &Bench<InfluxSource>) -> Result<(Vec<Seen>, Option<State>), Error> {
    let polled = timeout(PATIENCE, bench.poll()).await.expect("a batch or an error comes")?;
    let state = polled.state().map(State::from_bytes);
    bench.resolve(Verdict::Ack).await.unwrap();
    Ok((seen(&polled), state))
}

/// Reads until there are so many records.
pub(crate) async fn read(bench: &Bench<InfluxSource>, records: usize) -> Vec<Seen> {
    let mut all = Vec::new();
    while all.len() < records {
        all.extend(next(bench).await.unwrap().0);
    }
    all
}

/// Whether a while brings nothing.
pub(crate) async fn is_quiet(bench: &Bench<InfluxSource>) -> bool {
    timeout(Duration::from_millis(200), bench.poll()).await.is_err()
}

/// The parameter of a request's URL, decoded.
pub(crate) fn parameter(target: &str, name: &str) -> String {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let value =
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default();
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digits = String::from_utf8(vec![*high, *low]).unwrap();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap());
                rest = after;
            }
            (b'+', after) => {
                bytes.push(b' ');
                rest = after;
            }
            (byte, after) => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}
