//! A source on the SDK's bench, and what comes out of it.

use std::time::Duration;

use picomq_connector_postgres_source::PostgresSource;
use picomq_connector_sdk::conformance::{Bench, Setting};
use picomq_connector_sdk::{Error, Source, State, Verdict};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::server::Database;

/// How long anything may take before it counts as not coming.
const PATIENCE: Duration = Duration::from_secs(30);

/// A record as a test looks at it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) key: Option<String>,
    /// `Null` for a tombstone.
    pub(crate) value: Value,
    pub(crate) text: String,
    pub(crate) id: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
}

impl Seen {
    pub(crate) fn operation(&self) -> &str {
        self.value["operation_type"].as_str().unwrap_or_default()
    }

    pub(crate) fn data(&self) -> &Value {
        &self.value["data"]
    }
}

/// JSON in any case; `Null` when it holds a number that a `Value` has no room for.
fn parsed(bytes: &[u8]) -> Value {
    let raw = serde_json::from_slice::<&serde_json::value::RawValue>(bytes);
    raw.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)));
    serde_json::from_slice(bytes).unwrap_or_default()
}

/// An open source, and the state an engine would have saved.
pub(crate) struct Reading {
    pub(crate) bench: Bench<PostgresSource>,
    pub(crate) saved: Option<State>,
}

/// `[plugin_config]` for a database whose slot has its name, with `more` on top.
pub(crate) fn config(database: &Database, more: Value) -> Value {
    let mut config = json!({
        "connection_string": database.url(), "mode": "cdc", "slot_name": database.name, "snapshot_mode": "no_data",
    });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config
}

impl Reading {
    pub(crate) async fn open(config: Value, saved: Option<State>) -> Result<Reading, Error> {
        let setting = Setting::new(config).with_state(saved.clone());
        let bench = timeout(PATIENCE, Bench::open(setting)).await.expect("open ends")?;
        Ok(Reading { bench, saved })
    }

    /// Opens and reads on until the stream is being read, so that what happens from now on comes.
    pub(crate) async fn streaming(database: &Database, more: Value) -> Reading {
        let mut reading = Reading::open(config(database, more), None)
            .await
            .unwrap_or_else(|error| panic!("{}", error.chain()));
        for _ in 0..2 {
            assert_eq!(reading.step().await.unwrap(), []);
        }
        reading
    }

    /// One poll, acknowledged; the state is kept as an engine would.
    pub(crate) async fn step(&mut self) -> Result<Vec<Seen>, Error> {
        step(&self.bench, &mut self.saved).await
    }

    /// One poll, so far without a verdict.
    pub(crate) async fn poll(&self) -> Result<(Vec<Seen>, Option<State>), Error> {
        poll(&self.bench).await
    }

    /// Asks, and polls on until it is answered; what came meanwhile is in the answer too.
    pub(crate) async fn ask(&mut self, name: &str, arguments: Value) -> (Result<Value, String>, Vec<Seen>) {
        let Reading { bench, saved } = self;
        let mut answer = std::pin::pin!(bench.source().command(name, arguments));
        let mut seen = Vec::new();
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut answer => break answer,
                more = step(bench, saved) => seen.extend(more.unwrap()),
            }
        };
        (answer.map(|answer| answer.expect("a command we have")).map_err(|error| error.chain()), seen)
    }

    /// Reads and acknowledges until there are `count` records.
    pub(crate) async fn records(&mut self, count: usize) -> Vec<Seen> {
        let mut all = Vec::new();
        while all.len() < count {
            all.extend(self.step().await.unwrap_or_else(|error| panic!("{}", error.chain())));
        }
        assert_eq!(all.len(), count, "{all:#?}");
        all
    }

    /// Nothing comes within a moment.
    pub(crate) async fn nothing(&mut self) {
        let brief = timeout(Duration::from_millis(500), self.step()).await;
        assert!(brief.is_err(), "{brief:?}");
    }

    /// One poll; the payloads as text.
    pub(crate) async fn poll_raw(&self) -> (Vec<String>, Option<State>) {
        let batch =
            timeout(PATIENCE, self.bench.poll()).await.expect("a poll ends").expect("it brings something");
        let text =
            |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap_or_default().to_vec()).expect("UTF-8");
        (batch.records().map(|record| text(record.payload)).collect(), batch.state().map(State::from_bytes))
    }

    /// Drops it as the death of a process would, and opens it again with what was saved.
    pub(crate) async fn killed(self, config: Value) -> Reading {
        let saved = self.saved.clone();
        drop(self.bench);
        Reading::open(config, saved).await.unwrap_or_else(|error| panic!("{}", error.chain()))
    }

    /// Closes it as an engine would, and opens it again with what was saved.
    pub(crate) async fn again(self, config: Value) -> Reading {
        self.bench.source().close().await;
        let saved = self.saved.clone();
        drop(self.bench);
        Reading::open(config, saved).await.unwrap_or_else(|error| panic!("{}", error.chain()))
    }
}

async fn step(bench: &Bench<PostgresSource>, saved: &mut Option<State>) -> Result<Vec<Seen>, Error> {
    let (seen, state) = poll(bench).await?;
    *saved = state.or(saved.take());
    bench.resolve(Verdict::Ack).await?;
    Ok(seen)
}

async fn poll(bench: &Bench<PostgresSource>) -> Result<(Vec<Seen>, Option<State>), Error> {
    let polled = timeout(PATIENCE, bench.poll()).await.expect("a poll ends");
    let batch = polled?;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let seen = batch.records().map(|record| Seen {
        key: record.key.map(text),
        value: record.payload.map_or(Value::Null, parsed),
        text: record.payload.map(text).unwrap_or_default(),
        id: record.id.map(str::to_owned),
        headers: record.headers().map(|(name, value)| (name.to_owned(), text(value))).collect(),
    });
    Ok((seen.collect(), batch.state().map(State::from_bytes)))
}
