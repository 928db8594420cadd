//! `status`: how the sources of a running daemon are, in one table.

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
    records_per_second: f64,
    lag_seconds: Option<f64>,
    lag_bytes: Option<f64>,
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
    warnings: Vec<String>,
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
            let text = runtime::block_on(look(&client))?;
            output::write(Stream::Stdout, &text);
        }
    }
    Ok(Exit::Ok)
}

/// The table as of now.
pub(crate) async fn look(client: &Client) -> Result<String, Error> {
    let sources: Vec<Source> = client.get("/sources").await?;
    let stats: Stats = client.get("/stats").await?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(text(&sources, &stats, now))
}

/// The table, for this moment since the epoch.
fn text(sources: &[Source], stats: &Stats, now: Duration) -> String {
    let summary = summary(stats);
    if sources.is_empty() {
        return format!("{summary}no definition is loaded\n");
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["SOURCE", "STATUS", "CONDITIONS", "SINCE", "REC/S", "LAG", "CHECKPOINT", "LAST ERROR"]);
    for source in sources {
        table.add_row(row(source, now));
    }
    for place in [3, 4, 5, 6] {
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

/// What stands where there is nothing to say.
fn none() -> String {
    "–".to_owned()
}

/// One after the other.
pub(crate) fn listed(list: &[String]) -> String {
    if list.is_empty() { none() } else { list.join(", ") }
}

/// In time where the plugin says it, else in bytes.
pub(crate) fn lag(seconds: Option<f64>, bytes: Option<f64>) -> String {
    const UNITS: [(&str, f64); 3] = [("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("KiB", 1024.0)];
    match (seconds, bytes) {
        (Some(seconds), _) => short(Duration::try_from_secs_f64(seconds).unwrap_or_default()),
        (None, Some(bytes)) => match UNITS.iter().find(|(_, size)| bytes >= *size) {
            Some((unit, size)) => format!("{:.1} {unit}", bytes / size),
            None => format!("{bytes:.0} B"),
        },
        (None, None) => none(),
    }
}

fn row(source: &Source, now: Duration) -> [String; 8] {
    let since = now.saturating_sub(Duration::from_millis(source.since));
    [
        source.key.clone(),
        format!("{} {}", mark(&source.status, &source.conditions), source.status),
        listed(&source.conditions),
        short(since),
        format!("{:.1}", source.records_per_second),
        lag(source.lag_seconds, source.lag_bytes),
        source
            .checkpoint_age_ms
            .map_or_else(none, |age| format!("{} ago", short(Duration::from_millis(age)))),
        source.last_error.as_ref().map_or_else(none, |error| cut(&error.message)),
    ]
}

/// Told apart without colour. A status that this version does not know gets a question mark.
pub(crate) fn mark(status: &str, conditions: &[String]) -> char {
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
pub(crate) fn short(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{}s", seconds % 60),
        (0, _, _) => format!("{hours}h{}m", minutes % 60),
        (_, _, _) => format!("{days}d{}h", hours % 24),
    }
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
        }))
        .unwrap()
    }

    #[test]
    fn the_table_shows_what_needs_a_look_and_why() {
        let sources: Vec<Source> = serde_json::from_value(json!([
            {"id": 1, "key": "random", "status": "running", "conditions": [], "since": 1_000_000, "checkpoint_age_ms": 900,
             "records_per_second": 14.04, "lag_seconds": null, "lag_bytes": null,
             "last_error": null},
            {"id": 2, "key": "orders_cdc", "status": "running", "conditions": ["backing_off(7/30)"], "since": 9_000_000,
             "checkpoint_age_ms": 61_000, "records_per_second": 0.0, "lag_seconds": null, "lag_bytes": 3_250_586.0, "last_error": {"message": "broker unavailable", "timestamp": 1}},
            {"id": 3, "key": "metrics_in", "status": "error", "conditions": [], "since": 8_321_000, "checkpoint_age_ms": null,
             "records_per_second": 0.0, "lag_seconds": 90.4, "lag_bytes": 7.0,
             "last_error": {"message": "disk full\nmore", "timestamp": 1}},
        ]))
        .unwrap();

        let text = text(&sources, &stats(), Duration::from_millis(9_041_000));

        insta::assert_snapshot!(text, @r"
        SOURCE      STATUS     CONDITIONS         SINCE  REC/S      LAG  CHECKPOINT  LAST ERROR
        random      ● running  –                  2h14m   14.0        –      0s ago  –
        orders_cdc  ◐ running  backing_off(7/30)    41s    0.0  3.1 MiB    1m1s ago  broker unavailable
        metrics_in  ✗ error    –                  12m0s    0.0    1m30s           –  disk full
        pico-connectors 0.1.0, up 2h14m: 2 of 3 sources run
        ! unsafe
        ");
    }

    #[test]
    fn no_definition_is_said_in_words() {
        assert!(text(&[], &stats(), Duration::ZERO).ends_with("no definition is loaded\n"));
    }

    #[test]
    fn times_have_two_units_and_bytes_have_one() {
        let of = |seconds| short(Duration::from_secs(seconds));
        assert_eq!([of(41), of(720), of(8_045), of(273_600)], ["41s", "12m0s", "2h14m", "3d4h"]);
        let bytes = |bytes| lag(None, Some(bytes));
        assert_eq!(
            [bytes(0.0), bytes(1023.0), bytes(1536.0), bytes(5e9)],
            ["0 B", "1023 B", "1.5 KiB", "4.7 GiB"]
        );
        assert_eq!(lag(Some(f64::NAN), None), "0s", "whatever a plugin says");
    }
}
