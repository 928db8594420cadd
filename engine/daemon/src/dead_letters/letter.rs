//! From a dead letter back to the record that the plugin gave. Pure.

use pico_broker::Letter;
use pico_record::error_header;
use picomq_connector_sdk::{Header, Record, Schema};
use serde_json::Value;

/// The engine's headers, which a record does not have before it comes to the engine.
const OWN: &str = "picomq.error.";
/// Becomes the record's id again.
const ID: &str = "picomq.id";

/// The text of the last header of this name.
pub(super) fn text<'l>(letter: &'l Letter, name: &str) -> Option<&'l str> {
    let found = letter.headers.iter().rev().find(|(found, _)| found == name);
    found.and_then(|(_, value)| std::str::from_utf8(value).ok())
}

/// What the payload is; None when the record was not written by the engine, or by a newer one.
pub(super) fn schema(letter: &Letter) -> Option<Schema> {
    let word = text(letter, error_header::SCHEMA)?;
    serde_json::from_value(Value::from(word)).ok()
}

/// The record as the plugin gave it.
pub(super) fn record(letter: &Letter) -> Record {
    let headers = letter.headers.iter().filter(|(name, _)| !name.starts_with(OWN) && name != ID);
    Record {
        payload: letter.payload.clone(),
        key: letter.key.clone(),
        headers: headers.map(|(name, value)| Header { name: name.clone(), value: value.clone() }).collect(),
        timestamp_ms: letter.timestamp_ms,
        id: text(letter, ID).map(str::to_owned),
        event_time_ns: None,
    }
}
