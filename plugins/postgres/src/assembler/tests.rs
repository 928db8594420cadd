use picomq_connector_sdk::ffi::host::GuestBatch;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::config::Envelope;
use crate::pgoutput::{Column, Identity};
use crate::prefixes::Prefixes;
use crate::tables::Columns;
use crate::value::Forms;

const TABLE: u32 = 7;

fn settings() -> RecordSettings {
    RecordSettings {
        envelope: Envelope::Pico,
        has_tombstones: false,
        debezium: None,
        operations: vec![Operation::Insert, Operation::Update, Operation::Delete],
        messages: None,
        forms: Forms::default(),
        excluded: Columns::default(),
    }
}

fn assembler(start: &Position, records: usize, settings: RecordSettings) -> Assembler {
    let cut = Cut { records, bytes: 1 << 20, bytes_max: 2 << 20 };
    let mut assembler = Assembler::new(Tables::default(), settings, cut, start);
    assembler.relation(&relation(Identity::Default), &[]);
    assembler
}

fn relation(identity: Identity) -> Relation<'static> {
    let column = |is_identity, name, oid| Column { is_identity, name, oid, modifier: -1 };
    let is_full = identity == Identity::Full;
    let columns = vec![column(true, "id", 23), column(is_full, "v", 25)];
    Relation { oid: TABLE, schema: "public", name: "t", identity, columns }
}

/// Wire bytes of a tuple of two; `None` is null, `"(u)"` unchanged.
fn tuple(values: [Option<&str>; 2]) -> Vec<u8> {
    let mut out = vec![0, 2];
    for value in values {
        match value {
            None => out.push(b'n'),
            Some("(u)") => out.push(b'u'),
            Some(text) => {
                out.push(b't');
                out.extend((text.len() as u32).to_be_bytes());
                out.extend(text.as_bytes());
            }
        }
    }
    out
}

fn insert(id: &str, v: &str) -> Vec<u8> {
    [b"I\0\0\0\x07N", &tuple([Some(id), Some(v)])[..]].concat()
}

fn begin(final_lsn: u64, xid: u32) -> Vec<u8> {
    [b"B", &final_lsn.to_be_bytes()[..], &0_i64.to_be_bytes(), &xid.to_be_bytes()].concat()
}

fn commit(final_lsn: u64) -> Vec<u8> {
    [b"C\0", &final_lsn.to_be_bytes()[..], &(final_lsn + 8).to_be_bytes(), &0_i64.to_be_bytes()].concat()
}

/// Feeds everything; the batches come out in order, the last with what was open.
fn run(assembler: &mut Assembler, messages: &[Vec<u8>]) -> Vec<Assembled> {
    let mut batches = Vec::new();
    for bytes in messages {
        let message = Message::parse(bytes).unwrap();
        while assembler.feed(&message, bytes.len()).unwrap() == Fed::Full {
            batches.push(assembler.take());
        }
    }
    batches.push(assembler.take());
    batches
}

fn payloads(batch: Batch) -> Vec<Value> {
    let batch = GuestBatch::from_batch(batch);
    batch
        .records()
        .map(|record| record.payload.map_or(Value::Null, |text| serde_json::from_slice(text).unwrap()))
        .collect()
}

fn ids(batch: Batch) -> Vec<String> {
    let batch = GuestBatch::from_batch(batch);
    batch.records().map(|record| record.id.unwrap_or_default().to_owned()).collect()
}

fn one(messages: &[Vec<u8>], settings: RecordSettings, identity: Identity) -> Vec<Value> {
    let mut assembler = assembler(&Position::at(Lsn(0)), 100, settings);
    assembler.relation(&relation(identity), &["id".to_owned()]);
    let whole = [&[begin(100, 1)], messages, &[commit(100)]].concat();
    payloads(run(&mut assembler, &whole).pop().unwrap().batch)
}

#[test]
fn an_insert_has_the_documented_form() {
    let records = one(&[insert("1", "x")], settings(), Identity::Default);
    assert_eq!(
        records,
        [json!({
            "table_name": "t", "schema_name": "public", "operation_type": "INSERT",
            "timestamp": "2000-01-01T00:00:00.000000Z", "data": {"id": 1, "v": "x"}, "old_data": null,
            "source": {"lsn": "0/64", "xid": 1, "ordinal": 0}
        })]
    );
}

#[test]
fn a_key_update_shows_both_keys_b018() {
    let update =
        [b"U\0\0\0\x07K", &tuple([Some("1"), None])[..], b"N", &tuple([Some("2"), Some("x")])].concat();
    let mut settings = settings();
    settings.has_tombstones = true;
    let mut assembler = assembler(&Position::at(Lsn(0)), 100, settings);
    let batch = run(&mut assembler, &[begin(100, 1), update, commit(100)]).pop().unwrap().batch;
    let batch = GuestBatch::from_batch(batch);
    let update: Value = serde_json::from_slice(batch.record(0).payload.unwrap()).unwrap();
    assert_eq!((&update["data"], &update["old_data"]), (&json!({"id": 2, "v": "x"}), &json!({"id": 1})));
    assert_eq!(batch.record(0).key, Some(&b"2"[..]));
    assert_eq!((batch.record(1).key, batch.record(1).payload), (Some(&b"1"[..]), None));
    assert_eq!(batch.len(), 2);
}

#[test]
fn a_delete_carries_the_key_and_claims_nothing_else_b019() {
    let delete = [b"D\0\0\0\x07K", &tuple([Some("1"), None])[..]].concat();
    let records = one(&[delete], settings(), Identity::Default);
    assert_eq!((&records[0]["data"], &records[0]["old_data"]), (&json!({"id": 1}), &Value::Null));
}

#[test]
fn an_unchanged_value_is_named_and_never_null() {
    let update = [b"U\0\0\0\x07N", &tuple([Some("1"), Some("(u)")])[..]].concat();
    let records = one(&[update], settings(), Identity::Default);
    assert_eq!((&records[0]["data"], &records[0]["unchanged"]), (&json!({"id": 1}), &json!(["v"])));
}

#[test]
fn a_full_old_row_fills_what_did_not_change() {
    let update =
        [b"U\0\0\0\x07O", &tuple([Some("1"), Some("big")])[..], b"N", &tuple([Some("1"), Some("(u)")])]
            .concat();
    let records = one(&[update], settings(), Identity::Full);
    assert_eq!((&records[0]["data"], records[0].get("unchanged")), (&json!({"id": 1, "v": "big"}), None));
}

#[test]
fn a_truncation_is_a_record_where_it_is_asked_for() {
    let truncate = [b"T", &1_u32.to_be_bytes()[..], b"\0", &TABLE.to_be_bytes()].concat();
    assert_eq!(one(std::slice::from_ref(&truncate), settings(), Identity::Default), [] as [Value; 0]);
    let mut settings = settings();
    settings.operations.push(Operation::Truncate);
    let records = one(&[truncate], settings, Identity::Default);
    assert_eq!((&records[0]["operation_type"], &records[0]["data"]), (&json!("TRUNCATE"), &Value::Null));
}

#[test]
fn a_row_that_no_batch_can_hold_is_an_error_with_its_place() {
    let mut assembler = assembler(&Position::at(Lsn(0)), 100, settings());
    let large = insert("1", &"x".repeat(3 << 20));
    assembler.feed(&Message::parse(&begin(100, 1)).unwrap(), 0).unwrap();
    let error = assembler.feed(&Message::parse(&large).unwrap(), large.len()).unwrap_err();
    assert!(error.to_string().contains("public.t") && error.to_string().contains("commit 0/64"), "{error}");
}

#[test]
fn a_change_of_a_table_nobody_described_or_outside_a_transaction_is_an_error() {
    let mut assembler = Assembler::new(
        Tables::default(),
        settings(),
        Cut { records: 9, bytes: 999, bytes_max: 9999 },
        &Position::at(Lsn(0)),
    );
    let bytes = insert("1", "x");
    let message = Message::parse(&bytes).unwrap();
    assert!(assembler.feed(&message, 1).is_err());
    assembler.feed(&Message::parse(&begin(100, 1)).unwrap(), 1).unwrap();
    assert!(assembler.feed(&message, 1).is_err());
}

#[test]
fn a_transaction_that_ended_before_the_start_is_not_read_twice() {
    let mut assembler = assembler(&Position::at(Lsn(108)), 100, settings());
    let messages =
        [begin(100, 1), insert("1", "x"), commit(100), begin(108, 2), insert("2", "x"), commit(108)];
    let batch = run(&mut assembler, &messages).pop().unwrap();
    assert_eq!((ids(batch.batch), batch.position), (vec!["0/6C:0".to_owned()], Position::at(Lsn(116))));
}

#[test]
fn an_idle_stream_moves_on_but_never_past_an_open_transaction() {
    let mut assembler = assembler(&Position::at(Lsn(0)), 100, settings());
    assembler.idle(Lsn(50));
    assert_eq!(assembler.position(), Position::at(Lsn(50)));
    assembler.feed(&Message::parse(&begin(100, 1)).unwrap(), 1).unwrap();
    assembler.idle(Lsn(500));
    assert_eq!(assembler.position(), Position::at(Lsn(50)));
}

/// Transactions with so many changes each, in commit order.
fn history(sizes: &[usize]) -> Vec<(u64, Vec<Vec<u8>>)> {
    let mut id = 0;
    let one = |(index, size): (usize, &usize)| {
        let lsn = 100 + 50 * index as u64;
        let mut messages = vec![begin(lsn, index as u32)];
        for _ in 0..*size {
            id += 1;
            messages.push(insert(&id.to_string(), "x"));
        }
        messages.push(commit(lsn));
        (lsn, messages)
    };
    sizes.iter().enumerate().map(one).collect()
}

/// What a server sends to who starts at `position`: every transaction whose commit record is not before it.
fn sent(history: &[(u64, Vec<Vec<u8>>)], position: &Position) -> Vec<Vec<u8>> {
    let later = history.iter().filter(|(lsn, _)| *lsn >= position.commit_end.0);
    later.flat_map(|(_, messages)| messages.clone()).collect()
}

proptest! {
    /// B044, B046: from the position of any batch, read with batches of another size, the rest comes, without a gap or a repeat.
    #[test]
    fn from_any_position_exactly_the_rest_comes_b044_b046(
        sizes in prop::collection::vec(0..9_usize, 1..6),
        first_size in 2..9_usize,
        second_size in 2..9_usize,
    ) {
        let history = history(&sizes);
        let start = Position::at(Lsn(0));
        let all: Vec<String> = run(&mut assembler(&start, 1000, settings()), &sent(&history, &start))
            .into_iter().flat_map(|batch| ids(batch.batch)).collect();
        prop_assert_eq!(all.len(), sizes.iter().sum::<usize>());

        let mut read = Vec::new();
        for Assembled { batch, position } in run(&mut assembler(&start, first_size, settings()), &sent(&history, &start)) {
            read.extend(ids(batch));
            let mut again = assembler(&position, second_size, settings());
            let rest = run(&mut again, &sent(&history, &position)).into_iter().flat_map(|batch| ids(batch.batch));
            let both: Vec<String> = read.iter().cloned().chain(rest).collect();
            prop_assert_eq!(&both, &all, "at {:?}", position);
        }
    }

    /// Cut at every message, not only where a batch is full: the position counts what was read before.
    #[test]
    fn a_second_cut_inside_the_same_transaction_counts_on(size in 1..9_usize, first in 0..9_usize, second in 0..9_usize) {
        let history = history(&[size]);
        let start = Position::at(Lsn(0));
        let mut position = start.clone();
        let mut read = Vec::new();
        for cut in [first.min(size + 1), second.min(size + 1), size + 2] {
            let messages = sent(&history, &position);
            let mut assembler = assembler(&position, 1000, settings());
            let batch = run(&mut assembler, &messages[..cut.min(messages.len())]).pop().unwrap();
            read.extend(ids(batch.batch));
            position = batch.position;
        }
        let all: Vec<String> = (0..size).map(|ordinal| format!("0/64:{ordinal}")).collect();
        prop_assert_eq!(read, all);
    }
}

fn said(lsn: u64, is_transactional: bool, prefix: &str, content: &[u8]) -> Vec<u8> {
    let flags = [b'M', u8::from(is_transactional)];
    let length = (content.len() as u32).to_be_bytes();
    [&flags[..], &lsn.to_be_bytes(), prefix.as_bytes(), b"\0", &length, content].concat()
}

fn listening() -> RecordSettings {
    RecordSettings { messages: Some(Prefixes::default()), ..settings() }
}

#[test]
fn a_message_is_a_change_of_its_transaction_or_stands_for_itself() {
    let mut assembler = assembler(&Position::at(Lsn(0)), 100, listening());
    let messages = [
        said(50, false, "audit", b"\xff\x00"),
        said(51, false, "picomq", b"ours"),
        begin(100, 1),
        insert("1", "x"),
        said(90, true, "out\"box", "{\"a\": 1}\n".as_bytes()),
        commit(100),
    ];
    let batch = run(&mut assembler, &messages).pop().unwrap();
    assert_eq!(batch.position, Position::at(Lsn(108)));
    let records = GuestBatch::from_batch(batch.batch);
    let keys: Vec<Option<&[u8]>> = records.records().map(|record| record.key).collect();
    assert_eq!(keys, [Some(&b"\"audit\""[..]), Some(b"1"), Some(b"\"out\\\"box\"")]);
    let found: Vec<Option<&str>> = records.records().map(|record| record.id).collect();
    assert_eq!(found, [Some("0/32:0"), Some("0/64:0"), Some("0/64:1")]);
    let payload = |place| serde_json::from_slice::<Value>(records.record(place).payload.unwrap()).unwrap();
    assert_eq!(
        payload(0),
        json!({
            "table_name": null, "schema_name": null, "operation_type": "MESSAGE", "timestamp": null,
            "data": {"prefix": "audit", "content_base64": "/wA=", "transactional": false}, "old_data": null,
            "source": {"lsn": "0/32", "xid": null, "ordinal": 0}
        })
    );
    assert_eq!(
        payload(2)["data"],
        json!({"prefix": "out\"box", "content": "{\"a\": 1}\n", "transactional": true})
    );
    assert_eq!(payload(2)["source"], json!({"lsn": "0/64", "xid": 1, "ordinal": 1}));
}

#[test]
fn messages_nobody_asked_for_count_and_make_no_record() {
    let mut assembler = assembler(&Position::at(Lsn(0)), 100, settings());
    let messages =
        [said(50, false, "a", b"x"), begin(100, 1), said(90, true, "a", b"x"), insert("1", "x"), commit(100)];
    let batch = run(&mut assembler, &messages).pop().unwrap();
    assert_eq!(ids(batch.batch), ["0/64:1"], "an id means the same whatever is switched on later");
}

#[test]
fn a_message_in_the_form_of_debezium_has_its_operation_and_base64() {
    let debezium = Some(crate::debezium::table::Settings::new("shop", "db", true));
    let settings = RecordSettings { envelope: Envelope::Debezium, debezium, ..listening() };
    let mut assembler = assembler(&Position::at(Lsn(0)), 100, settings);
    let batch = run(&mut assembler, &[said(50, false, "a", b"hi")]).pop().unwrap();
    let records = GuestBatch::from_batch(batch.batch);
    assert_eq!(records.record(0).key, Some(&br#"{"prefix":"a"}"#[..]));
    let value: Value = serde_json::from_slice(records.record(0).payload.unwrap()).unwrap();
    assert_eq!((&value["op"], &value["message"]), (&json!("m"), &json!({"prefix": "a", "content": "aGk="})));
    assert_eq!((&value["source"]["lsn"], &value["source"]["txId"]), (&json!(50), &Value::Null));
}

/// As `history`, with a message of no transaction before each, and every third change a message of its transaction.
fn talkative(sizes: &[usize]) -> Vec<(u64, Vec<Vec<u8>>)> {
    let mut all = Vec::new();
    for (lsn, mut messages) in history(sizes) {
        all.push((lsn - 20, vec![said(lsn - 20, false, "alone", b"x")]));
        let last = messages.len() - 1;
        for (place, message) in messages[1..last].iter_mut().enumerate().filter(|(place, _)| place % 3 == 1) {
            *message = said(lsn - 10 + place as u64 % 10, true, "inside", b"x");
        }
        all.push((lsn, messages));
    }
    all
}

proptest! {
    /// From the position of any batch, with any sizes, the rest of changes and messages comes, without a gap or a repeat.
    #[test]
    fn messages_and_changes_come_exactly_once_from_any_position(
        sizes in prop::collection::vec(0..7_usize, 1..5),
        first_size in 2..6_usize,
        second_size in 2..6_usize,
    ) {
        let history = talkative(&sizes);
        let start = Position::at(Lsn(0));
        let all: Vec<String> = run(&mut assembler(&start, 1000, listening()), &sent(&history, &start))
            .into_iter().flat_map(|batch| ids(batch.batch)).collect();
        prop_assert_eq!(all.len(), sizes.iter().sum::<usize>() + sizes.len());

        let mut read = Vec::new();
        for Assembled { batch, position } in run(&mut assembler(&start, first_size, listening()), &sent(&history, &start)) {
            read.extend(ids(batch));
            // All of it: whoever peeks is given again what was read before.
            for from in [&position, &start] {
                let mut again = assembler(&position, second_size, listening());
                let rest = run(&mut again, &sent(&history, from)).into_iter().flat_map(|batch| ids(batch.batch));
                let both: Vec<String> = read.iter().cloned().chain(rest).collect();
                prop_assert_eq!(&both, &all, "at {:?} from {:?}", position, from);
            }
        }
    }
}
