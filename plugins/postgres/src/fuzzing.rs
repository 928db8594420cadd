//! Entrances for fuzzers: whatever the bytes are, nothing panics, and what is written is what it should be. No part of what the
//! plugin offers.

use picomq_connector_sdk::{Limits, State};
use serde_json::value::RawValue;

use crate::assembler::{Assembler, Fed};
use crate::config::PostgresConfig;
use crate::debezium::offset;
use crate::lsn::Lsn;
use crate::pgoutput::{Message, Streamed};
use crate::position::Position;
use crate::settings::{Cut, Settings};
use crate::slot::switch_of;
use crate::state::{Saved, VERSION};
use crate::value::{self, Forms, Kind};

const LIMITS: Limits = Limits { batch_records: 1_000, batch_bytes: 1 << 20 };
/// Every built-in type with a form of its own, arrays and a type of no form.
const TYPES: [u32; 19] =
    [16, 17, 20, 23, 25, 701, 1114, 1184, 1186, 1700, 1000, 1001, 1005, 1016, 1020, 1022, 1115, 1231, 600];

/// Messages of `pgoutput`, each behind its length in two bytes, through the decoder and into batches cut small: records are JSON,
/// positions never go back, and the rest read from any of them begins where the batch ended.
///
/// # Panics
/// When that is not so.
pub fn stream(bytes: &[u8]) {
    drop(Streamed::parse(bytes));
    let settings = settings();
    let mut reading = Assembler::new(
        settings.tables.clone(),
        settings.records.clone(),
        Cut { records: 2, bytes: 1 << 16, bytes_max: 1 << 20 },
        &Position::at(Lsn(0)),
    );
    let mut done = Lsn(0);
    for message in messages(bytes) {
        let Ok(message) = Message::parse(message) else { return };
        loop {
            match reading.feed(&message, 64) {
                Ok(Fed::Taken) => break,
                Ok(Fed::Full) => done = taken(&mut reading, done),
                Err(_) => return,
            }
        }
    }
    taken(&mut reading, done);
}

fn taken(reading: &mut Assembler, before: Lsn) -> Lsn {
    let assembled = reading.take();
    assert!(assembled.batch.check().is_ok());
    let done = assembled.position.commit_end;
    assert!(done >= before, "from {before} back to {done}");
    let resumed = Assembler::new(
        settings().tables,
        settings().records,
        Cut { records: 2, bytes: 1 << 16, bytes_max: 1 << 20 },
        &assembled.position,
    );
    assert_eq!(resumed.position(), assembled.position);
    let saved = State::encode(&assembled.position, VERSION).expect("a position can be written");
    assert_eq!(saved.decode::<Position>(VERSION).ok(), Some(assembled.position));
    done
}

fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (message, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        bytes = rest;
        Some(message)
    })
}

/// The text of a value of the type that the first byte chooses: it becomes JSON, or it is refused.
///
/// # Panics
/// When it becomes something else.
pub fn value(bytes: &[u8]) {
    let Some((which, text)) = bytes.split_first() else { return };
    let oid = TYPES[usize::from(*which) % TYPES.len()];
    let kind = if oid == 600 { Some(Kind::Hstore) } else { Kind::built_in(oid) };
    let Some(kind) = kind else { return };
    for is_chosen in [false, true] {
        let forms = Forms { is_numeric_a_number: is_chosen, is_int8_a_string: is_chosen };
        let mut out = Vec::new();
        if value::write(&mut out, &kind, text, forms).is_ok() {
            let written: Result<&RawValue, _> = serde_json::from_slice(&out);
            assert!(written.is_ok(), "{kind:?}: {} became {}", text.escape_ascii(), out.escape_ascii());
        }
    }
}

/// What people and other tools write: connection strings, positions, timeline histories, saved states, offsets.
///
/// # Panics
/// When a text is taken and means something else when it is written down again.
pub fn text(text: &str) {
    if let Err(why) = crate::target::parse(text) {
        assert!(!why.contains("hunter2"), "a password is shown: {why}");
    }
    if let Ok(lsn) = text.parse::<Lsn>() {
        assert_eq!(lsn.to_string().parse(), Ok(lsn));
    }
    let _ = switch_of(text, 7);
    let state = State::from_bytes(text.as_bytes());
    drop(offset::of_state(&state));
    drop(state.decode::<Saved>(VERSION));
}

fn settings() -> Settings {
    let config = serde_json::json!({
        "connection_string": "postgres://me@host/db", "mode": "cdc", "tombstones": true,
        "capture_operations": ["INSERT", "UPDATE", "DELETE", "TRUNCATE", "MESSAGE"],
    });
    let config: PostgresConfig = serde_json::from_value(config).expect("these keys are right");
    config.check("fuzz", &LIMITS).expect("these settings are right")
}

#[cfg(test)]
mod tests;
