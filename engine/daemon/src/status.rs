//! `status`: how the sources of a running daemon are, in one table.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use comfy_table::{CellAlignment, Table, presets};
use serde::Deserialize;
use serde_json::Value;

use crate::cli::{Cli, Format};
use crate::client::Client;
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream, trimmed};
use crate::runtime;

/// A longer message is cut in the table; `--json` has all of it.
const ERROR_CHARACTERS_MAX: usize = 100;

/// What the table needs of `GET /sources`. Everything else there may be is left alone.
#[derive(Debug, Clone, Deserialize)]
struct Source {
    key: String,
    status: String,
    conditions: Vec<String>,
    since: u64,
    checkpoint_age_ms: Option<u64>,
    last_error: Option<LastError>,
}

#[derive(Debug, Clone, Deserialize)]
struct LastError {
    message: String,
}

/// What it needs of `GET /stats`.
#[derive(Debug, Clone, Deserialize)]
struct Stats {
    connectors_runtime_version: String,
    sources_total: usize,
    sources_running: usize,
    /// Microseconds.
    run_time: u64,
    connectors: Vec<Connector>,
    warnings: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Connector {
    key: String,
    messages_sent: u64,
}

/// Asks the daemon and prints what it says.
pub(crate) fn run(cli: &Cli) -> Result<Exit, Error> {
    let client = Client::new(&cli.url)?;
    match cli.format() {
        Format::Json => {
            let sources: Value = runtime::block_on(client.get("/sources"))?;
            output::write_json(&sources);
        }
        Format::Human | Format::Github => {
            let (sources, stats): (Vec<Source>, Stats) = runtime::block_on(async {
                let sources = client.get("/sources").await?;
                Ok((sources, client.get("/stats").await?))
            })?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            output::write(Stream::Stdout, &text(&sources, &stats, now));
        }
    }
    Ok(Exit::Ok)
}

/// The table, for this moment since the epoch.
fn text(sources: &[Source], stats: &Stats, now: Duration) -> String {
    let summary = summary(stats);
    if sources.is_empty() {
        return format!("{summary}no definition is loaded\n");
    }
    let sent: BTreeMap<&str, u64> =
        stats.connectors.iter().map(|one| (one.key.as_str(), one.messages_sent)).collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["SOURCE", "STATUS", "CONDITIONS", "SINCE", "SENT", "CHECKPOINT", "LAST ERROR"]);
    for source in sources {
        table.add_row(row(source, sent.get(source.key.as_str()).copied(), now));
    }
    for place in [3, 4, 5] {
        if let Some(column) = table.column_mut(place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}{summary}", trimmed(&table.to_string()))
}

fn summary(stats: &Stats) -> String {
    let Stats { connectors_runtime_version: version, sources_total, sources_running, run_time, .. } = stats;
    let up = short(Duration::from_micros(*run_time));
    let mut text =
        format!("pico-connectors {version}, up {up}: {sources_running} of {sources_total} sources run\n");
    for warning in &stats.warnings {
        text.push_str(&format!("! {warning}\n"));
    }
    text
}

fn row(source: &Source, sent: Option<u64>, now: Duration) -> [String; 7] {
    let none = || "–".to_owned();
    let listed = |list: &[String]| if list.is_empty() { none() } else { list.join(", ") };
    let since = now.saturating_sub(Duration::from_millis(source.since));
    [
        source.key.clone(),
        format!("{} {}", mark(&source.status, &source.conditions), source.status),
        listed(&source.conditions),
        short(since),
        sent.map_or_else(none, grouped),
        source
            .checkpoint_age_ms
            .map_or_else(none, |age| format!("{} ago", short(Duration::from_millis(age)))),
        source.last_error.as_ref().map_or_else(none, |error| cut(&error.message)),
    ]
}

/// Told apart without colour. A status that this version does not know gets a question mark.
fn mark(status: &str, conditions: &[String]) -> char {
    let is_troubled =
        conditions.iter().any(|condition| condition.starts_with("backing_off") || condition == "degraded");
    match status {
        "running" if is_troubled => '◐',
        "running" => '●',
        "starting" | "stopping" => '◌',
        "paused" => '‖',
        "stopped" => '○',
        "error" => '✗',
        _ => '?',
    }
}

/// Two units at most: `41s`, `2h14m`, `3d4h`.
fn short(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{}s", seconds % 60),
        (0, _, _) => format!("{hours}h{}m", minutes % 60),
        (_, _, _) => format!("{days}d{}h", hours % 24),
    }
}

/// `112 904`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn cut(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    match line.chars().count() > ERROR_CHARACTERS_MAX {
        true => format!("{}…", line.chars().take(ERROR_CHARACTERS_MAX).collect::<String>()),
        false => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stats() -> Stats {
        serde_json::from_value(json!({
            "connectors_runtime_version": "0.1.0", "sources_total": 3, "sources_running": 2,
            "run_time": 8_040_000_000_u64, "process_id": 1, "warnings": ["unsafe"],
            "connectors": [{"key": "random", "messages_sent": 112_904, "status": "running"}],
        }))
        .unwrap()
    }

    #[test]
    fn the_table_shows_what_needs_a_look_and_why() {
        let sources: Vec<Source> = serde_json::from_value(json!([
            {"id": 1, "key": "random", "status": "running", "conditions": [], "since": 1_000_000, "checkpoint_age_ms": 900,
             "last_error": null},
            {"id": 2, "key": "orders_cdc", "status": "running", "conditions": ["backing_off(7/30)"], "since": 9_000_000,
             "checkpoint_age_ms": 61_000, "last_error": {"message": "broker unavailable", "timestamp": 1}},
            {"id": 3, "key": "metrics_in", "status": "error", "conditions": [], "since": 8_321_000, "checkpoint_age_ms": null,
             "last_error": {"message": "disk full\nmore", "timestamp": 1}},
        ]))
        .unwrap();

        let text = text(&sources, &stats(), Duration::from_millis(9_041_000));

        insta::assert_snapshot!(text, @r"
        SOURCE      STATUS     CONDITIONS         SINCE     SENT  CHECKPOINT  LAST ERROR
        random      ● running  –                  2h14m  112 904      0s ago  –
        orders_cdc  ◐ running  backing_off(7/30)    41s        –    1m1s ago  broker unavailable
        metrics_in  ✗ error    –                  12m0s        –           –  disk full
        pico-connectors 0.1.0, up 2h14m: 2 of 3 sources run
        ! unsafe
        ");
    }

    #[test]
    fn no_definition_is_said_in_words() {
        assert!(text(&[], &stats(), Duration::ZERO).ends_with("no definition is loaded\n"));
    }

    #[test]
    fn times_have_two_units_and_numbers_are_grouped() {
        let of = |seconds| short(Duration::from_secs(seconds));
        assert_eq!([of(41), of(720), of(8_045), of(273_600)], ["41s", "12m0s", "2h14m", "3d4h"]);
        assert_eq!(
            [grouped(0), grouped(999), grouped(1_000), grouped(1_234_567)],
            ["0", "999", "1 000", "1 234 567"]
        );
    }
}
