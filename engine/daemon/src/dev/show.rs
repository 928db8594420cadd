//! Records and the rates line as text. Pure.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use pico_devbroker::{Record, TailEvent};
use serde_json::{Value, json};

use super::screen::Look;

/// Longest payload in plain lines, in characters; `--json` has all of it.
const PAYLOAD_CHARACTERS_MAX: usize = 2_000;

/// One event of the tail as a line for people.
pub(crate) fn line(event: &TailEvent, look: Look, zone: &TimeZone) -> String {
    match event {
        TailEvent::Record { topic, record } => {
            let time = clock(record.timestamp_ms, zone);
            let payload = payload(record);
            match look {
                Look::Live => format!(
                    "\x1b[2m{time}\x1b[0m  \x1b[36m{topic}\x1b[0m \x1b[2m@{}\x1b[0m  {payload}",
                    record.offset
                ),
                Look::Plain | Look::Json => format!("{time}  {topic} @{}  {payload}", record.offset),
            }
        }
        TailEvent::Opaque { topic, offset, count, reason } => {
            format!("{topic} @{offset}  {count} records: {reason}")
        }
    }
}

/// The same for programs. Bytes that are no text are given in hexadecimal under a name that says so.
pub(crate) fn object(event: &TailEvent) -> Value {
    match event {
        TailEvent::Record { topic, record } => {
            let headers = record.headers.iter().map(|header| {
                let mut object = json!({ "name": header.name });
                put(&mut object, "value", header.value.as_deref());
                object
            });
            let headers: Vec<Value> = headers.collect();
            let mut object = json!({
                "type": "record", "topic": topic, "offset": record.offset, "timestamp": record.timestamp_ms,
                "headers": headers,
            });
            put(&mut object, "key", record.key.as_deref());
            put(&mut object, "value", record.value.as_deref());
            object
        }
        TailEvent::Opaque { topic, offset, count, reason } => json!({
            "type": "opaque", "topic": topic, "offset": offset, "count": count, "reason": reason.to_string(),
        }),
    }
}

fn put(object: &mut Value, name: &str, bytes: Option<&[u8]>) {
    match bytes.map(std::str::from_utf8) {
        None => object[name] = Value::Null,
        Some(Ok(text)) => object[name] = Value::from(text),
        Some(Err(_not_text)) => {
            let hexadecimal: String = bytes.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect();
            object[format!("{name}_hex")] = Value::from(hexadecimal);
        }
    }
}

/// Without characters that would move the cursor.
fn payload(record: &Record) -> String {
    let Some(value) = &record.value else { return "(tombstone)".to_owned() };
    let text = String::from_utf8_lossy(value);
    let shown = text.chars().take(PAYLOAD_CHARACTERS_MAX).map(|c| if c.is_control() { '·' } else { c });
    let shown: String = shown.collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}

fn clock(timestamp_ms: i64, zone: &TimeZone) -> String {
    match Timestamp::from_millisecond(timestamp_ms) {
        Ok(time) => time.to_zoned_datetime(zone.clone()).strftime("%H:%M:%S%.3f").to_string(),
        Err(_out_of_range) => "--:--:--.---".to_owned(),
    }
}

/// What the status line tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rates {
    /// Records delivered in the last second.
    pub(crate) per_second: u64,
    /// Topics the broker has.
    pub(crate) topics: usize,
    /// Records delivered since the start.
    pub(crate) delivered: u64,
    /// Records the tail was too slow to show.
    pub(crate) missed: u64,
}

impl Rates {
    /// The status line; the keys only where there are any.
    pub(crate) fn line(&self, has_keys: bool) -> String {
        let Rates { per_second, topics, delivered, missed } = self;
        let missed = if *missed > 0 { format!(" · {missed} not shown") } else { String::new() };
        let keys = if has_keys { " · press p pause, f inject a fault, q quit" } else { "" };
        format!("— {per_second} records/s · {topics} topics · {delivered} delivered{missed}{keys} —")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(value: Option<&'static [u8]>) -> TailEvent {
        TailEvent::Record {
            topic: "user-0".to_owned(),
            record: Record {
                offset: 7,
                timestamp_ms: 1_004,
                key: Some("k".into()),
                value: value.map(Into::into),
                headers: Vec::new(),
            },
        }
    }

    #[test]
    fn a_record_is_one_line_whatever_its_bytes_do_to_a_terminal() {
        let line = line(&record(Some(b"{\"a\":1}\n\x1b[2J")), Look::Plain, &TimeZone::UTC);
        assert_eq!(line, "00:00:01.004  user-0 @7  {\"a\":1}··[2J");
    }

    #[test]
    fn a_tombstone_is_told_apart_from_an_empty_payload() {
        assert!(line(&record(None), Look::Plain, &TimeZone::UTC).ends_with("(tombstone)"));
        assert_eq!(object(&record(None))["value"], Value::Null);
        assert_eq!(object(&record(Some(b"")))["value"], "");
    }

    #[test]
    fn bytes_that_are_no_text_come_as_hexadecimal_under_another_name() {
        let object = object(&record(Some(b"\xff\x00")));
        assert_eq!((object.get("value"), &object["value_hex"]), (None, &Value::from("ff00")));
    }

    #[test]
    fn the_status_line_offers_keys_only_where_there_are_any() {
        let rates = Rates { per_second: 14, topics: 4, delivered: 28, missed: 0 };
        assert_eq!(rates.line(false), "— 14 records/s · 4 topics · 28 delivered —");
        assert!(rates.line(true).contains("q quit"));
    }
}
