//! `describe`: everything there is to know about one source.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::Value;

use crate::cli::ask::OneSource;
use crate::cli::{Cli, Format};
use crate::client::{Client, escaped};
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream, harmless};
use crate::status::{mark, short};
use crate::{runtime, status};

/// What is shown of `GET /sources/{key}`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Detail {
    key: String,
    name: String,
    path: String,
    /// One of six words.
    pub(crate) status: String,
    since: u64,
    conditions: Vec<String>,
    consecutive_nacks: u32,
    in_flight: usize,
    checkpoint_age_ms: Option<u64>,
    records_per_second: f64,
    lag_seconds: Option<f64>,
    lag_bytes: Option<f64>,
    last_error: Option<LastError>,
    topics: Vec<Topic>,
    /// What was looked at.
    pub(crate) checks: Vec<Check>,
}

#[derive(Debug, Clone, Deserialize)]
struct LastError {
    message: String,
    code: String,
    timestamp: u64,
}

#[derive(Debug, Clone, Deserialize)]
struct Topic {
    topic: String,
    schema: String,
}

/// One check of a source.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) since: Option<u64>,
    pub(crate) advice: String,
}

/// Asks and prints.
pub(super) fn run(cli: &Cli, arguments: &OneSource) -> Result<Exit, Error> {
    let client = Client::new(&cli.url)?;
    let path = format!("/sources/{}", escaped(&arguments.key));
    match cli.format() {
        Format::Json => {
            let source: Value = runtime::block_on(client.get(&path))?;
            output::write_json(&source);
        }
        Format::Human | Format::Github => {
            let source: Detail = runtime::block_on(client.get(&path))?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            output::write(Stream::Stdout, &text(&source, now));
        }
    }
    Ok(Exit::Ok)
}

fn text(source: &Detail, now: Duration) -> String {
    let ago = |ms: u64| short(now.saturating_sub(Duration::from_millis(ms)));
    let mut text = format!(
        "{}  {} {} for {}\n",
        source.key,
        mark(&source.status, &source.conditions),
        source.status,
        ago(source.since)
    );
    let mut row = |name: &str, value: String| text.push_str(&format!("  {name:<12}{value}\n"));
    row("name", harmless(&source.name));
    row("plugin", source.path.clone());
    row("conditions", status::listed(&source.conditions));
    row("rate", format!("{:.1} records/s", source.records_per_second));
    row("lag", status::lag(source.lag_seconds, source.lag_bytes));
    row("in flight", format!("{} batches", source.in_flight));
    row("nacks", format!("{} in a row", source.consecutive_nacks));
    let age = source.checkpoint_age_ms.map(|age| format!("{} ago", short(Duration::from_millis(age))));
    row("checkpoint", age.unwrap_or_else(|| "none saved since the start".to_owned()));
    if let Some(error) = &source.last_error {
        row(
            "last error",
            format!("{} ago  {}  {}", ago(error.timestamp), error.code, harmless(&error.message)),
        );
    }
    text.push_str("topics\n");
    for Topic { topic, schema } in &source.topics {
        text.push_str(&format!("  {topic}  {schema}\n"));
    }
    text.push_str("checks\n");
    for check in &source.checks {
        let since = check.since.map(|since| format!("  for {}", ago(since))).unwrap_or_default();
        text.push_str(&format!("  {} {}{since}\n", check.mark(), check.name));
        for line in check.advice.lines() {
            text.push_str(&format!("      {}\n", harmless(line)));
        }
    }
    text
}

impl Detail {
    /// What went wrong last, if it still stands.
    pub(crate) fn error(&self) -> Option<&str> {
        self.last_error.as_ref().map(|error| error.message.as_str())
    }
}

impl Check {
    /// Told apart without colour.
    pub(crate) fn mark(&self) -> char {
        match self.status.as_str() {
            "ok" => '✓',
            "warning" => '!',
            "error" => '✗',
            _ => '·',
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_source_in_trouble_says_what_and_what_to_do() {
        let source: Detail = serde_json::from_value(json!({
            "id": 1, "key": "orders", "name": "Orders", "path": "libpg", "status": "running", "since": 1_000,
            "conditions": ["backing_off(7/30)"], "consecutive_nacks": 7, "in_flight": 1, "checkpoint_age_ms": 61_000,
            "records_per_second": 13.96, "lag_seconds": null, "lag_bytes": 3_250_586.0,
            "last_error": { "message": "broker unavailable", "code": "broker.silent", "timestamp": 41_000 },
            "topics": [{ "topic": "field:tenant → orders.{value}", "schema": "json" }],
            "checks": [
                { "name": "plugin_loaded", "status": "ok", "since": 1_000, "advice": "" },
                { "name": "broker_reachable", "status": "error", "since": 41_000, "advice": "is it up?" },
                { "name": "lag", "status": "waiting", "since": null, "advice": "" },
            ],
        }))
        .unwrap();
        insta::assert_snapshot!(text(&source, Duration::from_millis(82_000)), @r"
        orders  ◐ running for 1m21s
          name        Orders
          plugin      libpg
          conditions  backing_off(7/30)
          rate        14.0 records/s
          lag         3.1 MiB
          in flight   1 batches
          nacks       7 in a row
          checkpoint  1m1s ago
          last error  41s ago  broker.silent  broker unavailable
        topics
          field:tenant → orders.{value}  json
        checks
          ✓ plugin_loaded  for 1m21s
          ✗ broker_reachable  for 41s
              is it up?
          · lag
        ");
    }
}
