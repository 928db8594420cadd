//! `logs`: lines of a daemon's log, and what happens to its sources.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::cli::ask::LogsArguments;
use crate::cli::{Cli, Format};
use crate::client::{Client, Event, escaped};
use crate::error::Error;
use crate::leave::Exit;
use crate::output::{self, Stream, harmless};
use crate::runtime;

/// Between two tries to find the daemon again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Fields that have their place in the line.
const PLACED: [&str; 6] = ["kind", "timestamp", "source", "level", "target", "message"];

/// Prints what was, and with `--follow` what comes, also after the daemon was away.
pub(super) fn run(cli: &Cli, arguments: &LogsArguments) -> Result<Exit, Error> {
    let client = Client::new(&cli.url)?;
    let path = path(arguments);
    let is_json = cli.format() == Format::Json;
    let zone = TimeZone::system();
    runtime::block_on(async {
        let mut stream = client.stream(&path, None).await?;
        let mut last = None;
        loop {
            while let Some(event) = stream.next().await {
                if !output::try_write(Stream::Stdout, &line(&event, is_json, &zone)) {
                    return Ok(Exit::Ok);
                }
                last = event.id.or(last);
            }
            if !arguments.follow {
                return Ok(Exit::Ok);
            }
            output::write(Stream::Stderr, "— the daemon went away; it is looked for again —\n");
            stream = loop {
                tokio::time::sleep(AGAIN_AFTER).await;
                if let Ok(stream) = client.stream(&path, last.as_deref()).await {
                    break stream;
                }
            };
        }
    })
}

fn path(arguments: &LogsArguments) -> String {
    let mut path = format!("/events?last={}&follow={}", arguments.last, arguments.follow);
    if !arguments.events {
        path.push_str("&kind=log");
    }
    if let Some(key) = &arguments.key {
        path.push_str(&format!("&source={}", escaped(key)));
    }
    path
}

fn line(event: &Event, is_json: bool, zone: &TimeZone) -> String {
    if event.kind == "end" {
        return String::new();
    }
    if is_json {
        return format!("{}\n", event.data);
    }
    let told: Map<String, Value> = serde_json::from_str(&event.data).unwrap_or_default();
    if event.kind == "skipped" {
        return format!("… {} events are not kept any more\n", told.get("events").unwrap_or(&Value::Null));
    }
    let text = |name: &str| told.get(name).and_then(Value::as_str).map(harmless);
    let time = told.get("timestamp").and_then(Value::as_i64).map_or_else(String::new, |ms| clock(ms, zone));
    let word = text("level").unwrap_or_else(|| event.kind.clone()).to_uppercase();
    let source = text("source").map(|key| format!("{key}: ")).unwrap_or_default();
    let message = text("message").unwrap_or_default();
    let fields = told.iter().filter(|(name, value)| !PLACED.contains(&name.as_str()) && !value.is_null());
    let fields: String = fields.map(|(name, value)| format!(" {name}={}", shown(value))).collect();
    format!("{time} {word:<6} {source}{message}{fields}\n")
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => harmless(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

fn clock(ms: i64, zone: &TimeZone) -> String {
    let time = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    time.to_zoned_datetime(zone.clone()).strftime("%H:%M:%S%.3f").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_as(kind: &str, data: &str) -> String {
        let event = Event { id: None, kind: kind.to_owned(), data: data.to_owned() };
        line(&event, false, &TimeZone::UTC)
    }

    #[test]
    fn a_line_has_time_level_source_message_and_the_other_fields() {
        assert_eq!(
            shown_as(
                "log",
                "{\"message\":\"batch nacked\",\"nacks\":3,\"level\":\"warn\",\"target\":\"x\",\"kind\":\"log\",\"timestamp\":1004,\"source\":\"orders\"}"
            ),
            "00:00:01.004 WARN   orders: batch nacked nacks=3\n"
        );
        assert_eq!(
            shown_as(
                "status",
                "{\"kind\":\"status\",\"timestamp\":0,\"source\":\"a\",\"status\":\"paused\",\"before\":\"running\",\"last_error\":null}"
            ),
            "00:00:00.000 STATUS a:  status=paused before=running\n"
        );
        assert_eq!(shown_as("skipped", "{\"events\":2}"), "… 2 events are not kept any more\n");
        assert_eq!(shown_as("end", "{}"), "");
    }

    #[test]
    fn following_is_asked_of_the_daemon() {
        let arguments = LogsArguments { key: Some("a b".to_owned()), last: 5, follow: false, events: false };
        assert_eq!(path(&arguments), "/events?last=5&follow=false&kind=log&source=a%20b");
    }
}
