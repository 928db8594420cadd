//! An offset of Debezium's, given to us in the place of a state: `pico-connectors state import KEY --from-debezium FILE`.
//!
//! What is imported is JSON, `{"debezium": {"partition": {…}, "offset": {…}}}`, which no state of ours begins like. It is turned into a
//! state of ours with the first batch, once the server was asked who it is.

use picomq_connector_sdk::{Error as SourceError, State};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::config::SnapshotMode;
use crate::error::Error;
use crate::lsn::Lsn;
use crate::quote;
use crate::settings::Settings;
use crate::slot::{self, Identity, SlotRow, Start};
use crate::state::Taken;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    debezium: Imported,
}

#[derive(Deserialize)]
struct Imported {
    #[serde(default)]
    partition: Map<String, Value>,
    offset: Map<String, Value>,
}

/// What `state` means, when it is an offset of Debezium's and no state of ours.
///
/// # Errors
/// An offset that cannot be gone on from, with what to do.
pub(crate) fn of_state(state: &State) -> Option<Result<Taken, SourceError>> {
    // What we save is a MessagePack map, which begins otherwise.
    let text = state.as_bytes();
    (text.first() == Some(&b'{')).then(|| taken(text).map_err(SourceError::state))
}

fn taken(text: &[u8]) -> Result<Taken, String> {
    let Document { debezium: Imported { partition, offset } } = serde_json::from_slice(text)
        .map_err(|error| format!("it is neither a state nor an offset of Debezium's: {error}"))?;
    let is = |name: &str| offset.get(name).is_some_and(|value| value == true || value == "true");
    let has_snapshot = offset.get("snapshot").is_some_and(|value| !value.is_null() && *value != false);
    if has_snapshot && !is("last_snapshot_record") && !is("snapshot_completed") {
        return Err("the offset is one of a snapshot that is not finished: let Debezium finish it and take the offset again, or begin anew \
                    without it"
            .to_owned());
    }
    let under_way =
        offset.iter().any(|(name, value)| name.starts_with("incremental_snapshot") && !value.is_null());
    if under_way {
        return Err("the offset is one of an incremental snapshot that is under way: let Debezium finish it and take the offset again"
            .to_owned());
    }
    if lsn(&offset, "lsn")?.is_none() {
        let names: Vec<&str> = offset.keys().map(String::as_str).collect();
        return Err(format!(
            "the offset has no `lsn`, only {names:?}: it is not one of Debezium's connector for PostgreSQL"
        ));
    }
    let server = partition.get("server").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Taken { server, commit: lsn(&offset, "lsn_commit")? })
}

/// A position, which Debezium writes as a number.
fn lsn(offset: &Map<String, Value>, name: &str) -> Result<Option<Lsn>, String> {
    let number = match offset.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.parse().ok(),
        Some(value) => value.as_u64(),
    };
    let number = number.ok_or_else(|| format!("`{name}` of the offset is no position: {}", offset[name]))?;
    Ok((number > 0).then_some(Lsn(number)))
}

impl Taken {
    /// Where to begin: at Debezium's slot, behind what it delivered, and never past it.
    ///
    /// # Errors
    /// When the slot is not one that can be gone on with from there.
    pub(crate) fn judge(
        &self,
        slot: Option<&SlotRow>,
        settings: &Settings,
        server: &Identity,
    ) -> Result<Start, Error> {
        let name = &settings.slot;
        if settings.snapshot == SnapshotMode::InitialOnly {
            return Err(Error::Refused(
                "postgres.snapshot_mode: an offset of Debezium's is of a stream, snapshot_mode = \"initial_only\" reads none; leave \
                 snapshot_mode out"
                    .to_owned(),
            ));
        }
        let Some(slot) = slot else {
            return Err(Error::Refused(format!(
                "postgres.slot_missing: there is no slot `{name}` to go on with; set slot_name to what Debezium's slot.name is (its \
                 default is debezium)"
            )));
        };
        if slot.kind == "logical" && slot.plugin != "pgoutput" {
            return Err(self.other_plugin(slot, settings));
        }
        slot::usable(slot, settings, server)?;
        let confirmed = slot::confirmed(slot, name)?;
        let start = self.commit.unwrap_or(confirmed);
        if start < confirmed {
            return Err(Error::Refused(format!(
                "postgres.slot_moved: the offset says {start}, the slot `{name}` stands at {confirmed}: Debezium went on after the \
                 offset was taken, or somebody else moved the slot; stop Debezium by its REST interface, take the offset again and import \
                 that (if it was killed, start it first)"
            )));
        }
        if start > server.flushed {
            return Err(Error::Refused(format!(
                "postgres.server_behind: the offset says {start}, the server's log ends at {}: the offset is of another server, or this \
                 one was restored from a backup",
                server.flushed
            )));
        }
        Ok(Start::Adopt(start))
    }

    /// A slot is read with the plugin it was made with. A second one, made while Debezium runs, is overtaken by it, and then holds all
    /// that follows Debezium's offset.
    fn other_plugin(&self, slot: &SlotRow, settings: &Settings) -> Error {
        let name: String = settings.slot.chars().take(54).chain("_pgoutput".chars()).collect();
        Error::Refused(format!(
            "postgres.slot_plugin: Debezium's slot `{}` is of the plugin `{}`, this source reads pgoutput only; while Debezium runs, make the \
             publication `{}` and then run: SELECT pg_create_logical_replication_slot({}, 'pgoutput'); once Debezium has sent a later change, \
             stop it, take its offset again and import that with slot_name = \"{name}\"",
            settings.slot,
            slot.plugin,
            settings.publication,
            quote::literal(&name).trim_start()
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn taken_of(offset: Value) -> Result<Taken, String> {
        let document = json!({ "debezium": { "partition": { "server": "shop" }, "offset": offset } });
        taken(document.to_string().as_bytes())
    }

    // Offsets of a real Debezium 3.6.1.
    #[test]
    fn everything_before_the_last_transaction_was_delivered() {
        let streaming = json!({
            "lsn_proc": 24_599_200, "messageType": "UPDATE", "lsn_commit": 24_599_144, "lsn": 24_599_200, "txId": 1391,
            "ts_usec": 1_796_011_068_879_645_u64
        });
        let right = Taken { server: "shop".to_owned(), commit: Some("0/1775A68".parse().unwrap()) };
        assert_eq!(taken_of(streaming), Ok(right));
    }

    #[test]
    fn after_a_snapshot_without_changes_the_slot_says_where() {
        let done = json!({
            "last_snapshot_record": true, "lsn": 23_271_640, "txId": 922, "ts_usec": 1, "snapshot": "INITIAL", "snapshot_completed": true
        });
        assert_eq!(taken_of(done), Ok(Taken { server: "shop".to_owned(), commit: None }));
    }

    #[test]
    fn an_offset_that_cannot_be_gone_on_from_is_refused_with_the_reason() {
        for (offset, word) in [
            (json!({ "snapshot": true, "last_snapshot_record": false, "lsn": 5 }), "not finished"),
            (json!({ "snapshot": "INITIAL", "snapshot_completed": false, "lsn": 5 }), "not finished"),
            (json!({ "lsn": 5, "lsn_commit": 5, "incremental_snapshot_collections": "[]" }), "under way"),
            (
                json!({ "file": "binlog.000003", "pos": 154 }),
                "not one of Debezium's connector for PostgreSQL",
            ),
            (json!({ "lsn": -5 }), "no position"),
            (json!({ "lsn": 5, "lsn_commit": 1.5 }), "no position"),
            (json!({}), "no `lsn`"),
        ] {
            let why = taken_of(offset.clone()).unwrap_err();
            assert!(why.contains(word), "{offset}: {why}");
        }
        for text in ["{", "{}", r#"{"debezium": 5}"#, r#"{"debezium": {"offset": {}}, "more": 1}"#] {
            assert!(taken(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn what_we_save_ourselves_is_never_taken_for_an_offset() {
        let state = State::encode(&crate::state::Saved::Fresh, crate::state::VERSION).unwrap();
        assert!(of_state(&state).is_none());
        assert!(of_state(&State::from_bytes(Vec::new())).is_none());
    }
}
