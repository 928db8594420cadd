//! A source on the SDK's bench, and what comes out of it.

use std::time::Duration;

use picomq_connector_elasticsearch_source::ElasticsearchSource;
use picomq_connector_sdk::conformance::{Bench, Setting};
use picomq_connector_sdk::report::Report;
use picomq_connector_sdk::{Check, CheckStatus, Error, Source, State, Verdict};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::server::Place;

/// How long anything may take before it counts as not coming.
const PATIENCE: Duration = Duration::from_secs(60);

/// A record as a test looks at it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) key: String,
    pub(crate) text: String,
    pub(crate) id: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) event_time_ns: Option<i64>,
}

/// `[plugin_config]` for an index, with `more` on top.
pub(crate) fn config(place: &Place, more: Value) -> Value {
    with(&place.url(), json!({ "index": place.name, "timestamp_field": "at" }), more)
}

/// `[plugin_config]` for a server.
pub(crate) fn with(url: &str, base: Value, more: Value) -> Value {
    let mut config = json!({ "url": url, "polling_interval": "10ms", "overlap": "0s" });
    for part in [base, more] {
        for (key, value) in part.as_object().unwrap() {
            match value {
                Value::Null => drop(config.as_object_mut().unwrap().remove(key)),
                value => config[key] = value.clone(),
            }
        }
    }
    config
}

/// An open source, and the state an engine would have saved.
pub(crate) struct Reading {
    pub(crate) bench: Bench<ElasticsearchSource>,
    pub(crate) saved: Option<State>,
}

impl Reading {
    pub(crate) async fn open(config: Value, saved: Option<State>) -> Reading {
        let setting = Setting::new(config).with_state(saved.clone());
        let bench = timeout(PATIENCE, Bench::open(setting)).await.expect("open ends");
        Reading { bench: bench.unwrap_or_else(|error| panic!("{}", error.chain())), saved }
    }

    /// One poll, acknowledged; the state is kept as an engine would.
    pub(crate) async fn step(&mut self) -> Result<Vec<Seen>, Error> {
        let (seen, state) = self.poll().await?;
        self.saved = state.or(self.saved.take());
        self.bench.resolve(Verdict::Ack).await?;
        Ok(seen)
    }

    /// One poll, so far without a verdict.
    pub(crate) async fn poll(&self) -> Result<(Vec<Seen>, Option<State>), Error> {
        let batch = timeout(PATIENCE, self.bench.poll()).await.expect("a poll ends")?;
        let text =
            |bytes: Option<&[u8]>| String::from_utf8(bytes.expect("is there").to_vec()).expect("UTF-8");
        let seen = batch.records().map(|record| Seen {
            key: text(record.key),
            text: text(record.payload),
            id: record.id.expect("every record has one").to_owned(),
            headers: record.headers().map(|(name, value)| (name.to_owned(), text(Some(value)))).collect(),
            event_time_ns: record.event_time_ns,
        });
        Ok((seen.collect(), batch.state().map(State::from_bytes)))
    }

    /// Reads and acknowledges until there are `count` records; their keys.
    pub(crate) async fn keys(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        while all.len() < count {
            let seen =
                self.step().await.unwrap_or_else(|error| panic!("{} after {}", error.chain(), all.len()));
            all.extend(seen.into_iter().map(|seen| seen.key));
        }
        assert_eq!(all.len(), count, "{all:?}");
        all
    }

    /// Nothing comes within a moment, in which it reads several times.
    pub(crate) async fn nothing(&mut self) {
        self.bench.ask(false);
        let brief = timeout(Duration::from_millis(700), self.step()).await;
        assert!(brief.is_err(), "{brief:?}");
    }

    /// Drops it as the death of a process would, and opens it again with what was saved.
    pub(crate) async fn killed(self, config: Value) -> Reading {
        let saved = self.saved.clone();
        drop(self.bench);
        Reading::open(config, saved).await
    }

    pub(crate) async fn close(&self) {
        self.bench.source().close().await;
    }

    /// How the check of that name stands.
    pub(crate) fn check(&self, name: &str) -> Option<(CheckStatus, String)> {
        let reports = self.bench.reports();
        reports.into_iter().rev().find_map(|report| match report {
            Report::Check(Check { name: other, status, advice, .. }) if other == name => {
                Some((status, advice))
            }
            Report::Check(_) | Report::Gauge { .. } => None,
        })
    }
}

/// Sorted, and each once.
pub(crate) fn distinct(mut keys: Vec<String>) -> Vec<String> {
    keys.sort();
    keys.dedup();
    keys
}
