//! Whole records: what each kind of change becomes. Right is what a real Debezium 3.6.1 wrote for the same.

use picomq_connector_sdk::ffi::host::GuestBatch;
use serde_json::{Value, json};

use super::table::Settings;
use super::*;
use crate::config::{Envelope, Operation};
use crate::pgoutput::{Column, Identity, Message, Relation};
use crate::position::Position;
use crate::settings::{Cut, RecordSettings};
use crate::tables::{Columns, Tables};
use crate::value::Forms;

/// A record as it is compared.
#[derive(Debug)]
struct Seen {
    key: Option<String>,
    value: Value,
    headers: Vec<(String, String)>,
    id: String,
}

fn settings() -> RecordSettings {
    RecordSettings {
        envelope: Envelope::Debezium,
        has_tombstones: true,
        debezium: Some(Settings::new("app", "postgres", true)),
        operations: vec![Operation::Insert, Operation::Update, Operation::Delete, Operation::Truncate],
        messages: None,
        forms: Forms::default(),
        excluded: Columns::default(),
    }
}

/// The table `keys2 (b int, a text, v int, PRIMARY KEY (a, b))`.
fn relation(identity: Identity) -> Relation<'static> {
    let is_full = identity == Identity::Full;
    let column = |is_key: bool, name, oid| Column { is_identity: is_key || is_full, name, oid, modifier: -1 };
    let columns = vec![column(true, "b", 23), column(true, "a", 25), column(false, "v", 25)];
    Relation { oid: 7, schema: "public", name: "keys2", identity, columns }
}

fn tuple(values: [&str; 3]) -> Vec<u8> {
    let mut out = vec![0, 3];
    for value in values {
        match value {
            "null" => out.push(b'n'),
            "(u)" => out.push(b'u'),
            text => {
                out.push(b't');
                out.extend((text.len() as u32).to_be_bytes());
                out.extend(text.as_bytes());
            }
        }
    }
    out
}

/// One transaction of these changes: where each stands, its head, and its rows.
fn run(identity: Identity, changes: &[(u64, Vec<u8>)]) -> Vec<Seen> {
    let cut = Cut { records: 100, bytes: 1 << 20, bytes_max: 2 << 20 };
    let mut assembler =
        crate::assembler::Assembler::new(Tables::default(), settings(), cut, &Position::at(Lsn(24_149_552)));
    assembler.relation(&relation(identity), &["a".to_owned(), "b".to_owned()]);
    let begin =
        [b"B", &0x200_0000_u64.to_be_bytes()[..], &1_000_001_i64.to_be_bytes(), &1349_u32.to_be_bytes()]
            .concat();
    for (at, bytes) in [(0, begin)].iter().chain(changes) {
        assembler.stand_at(Lsn(*at));
        assembler.feed(&Message::parse(bytes).unwrap(), bytes.len()).unwrap();
    }
    let batch = GuestBatch::from_batch(assembler.take().batch);
    let seen = batch.records().map(|record| Seen {
        key: record.key.map(|key| String::from_utf8(key.to_vec()).unwrap()),
        value: record.payload.map_or(Value::Null, |text| serde_json::from_slice(text).unwrap()),
        headers: record
            .headers()
            .map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).into_owned()))
            .filter(|(name, _)| name.starts_with("__debezium"))
            .collect(),
        id: record.id.unwrap_or_default().to_owned(),
    });
    seen.collect()
}

fn change(head: &[u8], rows: &[(u8, [&str; 3])]) -> Vec<u8> {
    let mut out = [head, &[0, 0, 0, 7]].concat();
    for (kind, row) in rows {
        out.push(*kind);
        out.extend(tuple(*row));
    }
    out
}

fn header(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.to_owned())]
}

#[test]
fn a_record_has_every_member_in_debeziums_order() {
    let seen = run(Identity::Default, &[(24_149_688, change(b"I", &[(b'N', ["6", "k", "x"])]))]);
    let one = &seen[0];
    assert_eq!(one.key.as_deref(), Some(r#"{"a":"k","b":6}"#));
    let mut value = one.value.clone();
    for name in ["ts_ms", "ts_us", "ts_ns"] {
        assert!(value[name].as_u64().unwrap() > 0);
        value[name] = json!(0);
    }
    assert_eq!(
        value.to_string(),
        json!({
            "before": null, "after": {"b": 6, "a": "k", "v": "x"},
            "source": {
                "version": env!("CARGO_PKG_VERSION"), "connector": "postgresql", "name": "app", "ts_ms": 946_684_801_000_u64,
                "snapshot": "false", "db": "postgres", "sequence": "[\"24149552\",\"24149688\"]",
                "ts_us": 946_684_801_000_001_u64, "ts_ns": 946_684_801_000_001_000_u64, "schema": "public", "table": "keys2",
                "txId": 1349, "lsn": 24_149_688, "xmin": null, "origin": null, "origin_lsn": null
            },
            "transaction": null, "op": "c", "ts_ms": 0, "ts_us": 0, "ts_ns": 0
        })
        .to_string()
    );
}

#[test]
fn a_key_update_is_a_deletion_a_tombstone_and_a_creation_b018() {
    let rows = [(b'K', ["5", "k", "null"]), (b'N', ["5", "z", "2"])];
    let seen = run(Identity::Default, &[(24_153_200, change(b"U", &rows))]);
    let (old, new) = (r#"{"a":"k","b":5}"#, r#"{"a":"z","b":5}"#);
    let keys: Vec<_> = seen.iter().map(|one| one.key.as_deref().unwrap()).collect();
    assert_eq!(keys, [old, old, new]);
    assert_eq!(
        (&seen[0].value["op"], &seen[0].value["before"]),
        (&json!("d"), &json!({"b": 5, "a": "k", "v": null}))
    );
    assert_eq!((&seen[0].value["after"], &seen[1].value), (&Value::Null, &Value::Null));
    assert_eq!(
        (&seen[2].value["op"], &seen[2].value["before"], &seen[2].value["after"]),
        (&json!("c"), &Value::Null, &json!({"b": 5, "a": "z", "v": "2"}))
    );
    assert_eq!(seen[0].headers, header("__debezium.newkey", new));
    assert_eq!(seen[1].headers, header("__debezium.newkey", new));
    assert_eq!(seen[2].headers, header("__debezium.oldkey", old));
    let ids: Vec<_> = seen.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["0/2000000:0:delete", "0/2000000:0:tombstone", "0/2000000:0"]);
}

#[test]
fn an_update_shows_the_row_before_only_when_the_server_sent_it() {
    let plain = run(Identity::Default, &[(1, change(b"U", &[(b'N', ["5", "k", "(u)"])]))]);
    assert_eq!((&plain[0].value["op"], &plain[0].value["before"]), (&json!("u"), &Value::Null));
    assert_eq!(plain[0].value["after"], json!({"b": 5, "a": "k", "v": "__debezium_unavailable_value"}));
    let rows = [(b'O', ["5", "k", "1"]), (b'N', ["5", "k", "(u)"])];
    let full = run(Identity::Full, &[(1, change(b"U", &rows))]);
    assert_eq!(full.len(), 1);
    assert_eq!(
        (&full[0].value["before"], &full[0].value["after"]),
        (&json!({"b": 5, "a": "k", "v": "1"}), &json!({"b": 5, "a": "k", "v": "1"}))
    );
}

#[test]
fn a_delete_is_followed_by_its_tombstone_and_claims_nothing_else_b019() {
    let seen = run(Identity::Default, &[(1, change(b"D", &[(b'K', ["5", "k", "null"])]))]);
    assert_eq!(seen.len(), 2);
    assert_eq!(
        (&seen[0].value["op"], &seen[0].value["before"], &seen[0].value["after"]),
        (&json!("d"), &json!({"b": 5, "a": "k", "v": null}), &Value::Null)
    );
    assert_eq!((seen[1].key.as_deref(), &seen[1].value), (Some(r#"{"a":"k","b":5}"#), &Value::Null));
}

#[test]
fn a_truncation_has_neither_key_nor_rows() {
    let truncate = [b"T", &1_u32.to_be_bytes()[..], &[0], &7_u32.to_be_bytes()].concat();
    let seen = run(Identity::Default, &[(1, truncate)]);
    assert_eq!((seen.len(), &seen[0].key), (1, &None));
    let value = &seen[0].value;
    assert_eq!((&value["op"], &value["before"], &value["after"]), (&json!("t"), &Value::Null, &Value::Null));
}
