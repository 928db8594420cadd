//! Batches: what is written is what is read on the other side.

use picomq_connector_sdk::ffi::host::{GuestBatch, RecordView};
use picomq_connector_sdk::{Batch, Error, Header, Record, Schema, State};
use proptest::prelude::*;
use serde::{Serialize, Serializer};

fn read(view: &RecordView<'_>) -> Record {
    Record {
        payload: view.payload.map(<[u8]>::to_vec),
        key: view.key.map(<[u8]>::to_vec),
        headers: view
            .headers()
            .map(|(name, value)| Header { name: name.to_owned(), value: value.to_vec() })
            .collect(),
        timestamp_ms: view.timestamp_ms,
        id: view.id.map(str::to_owned),
        event_time_ns: view.event_time_ns,
    }
}

fn bytes_of(record: &Record) -> u64 {
    let headers: usize = record.headers.iter().map(|header| header.name.len() + header.value.len()).sum();
    let bytes = record.payload.as_ref().map_or(0, Vec::len)
        + record.key.as_ref().map_or(0, Vec::len)
        + record.id.as_ref().map_or(0, String::len)
        + headers;
    bytes as u64
}

prop_compose! {
    fn record()(
        payload in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)),
        key in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..10)),
        headers in proptest::collection::vec((".{0,6}", proptest::collection::vec(any::<u8>(), 0..6)), 0..4),
        timestamp_ms in proptest::option::of(i64::MIN + 1..),
        id in proptest::option::of(".{0,8}"),
        event_time_ns in proptest::option::of(i64::MIN + 1..),
    ) -> Record {
        let headers = headers.into_iter().map(|(name, value)| Header { name, value }).collect();
        Record { payload, key, headers, timestamp_ms, id, event_time_ns }
    }
}

proptest! {
    #[test]
    fn every_record_comes_back_as_it_was_pushed(
        records in proptest::collection::vec(record(), 0..50),
        state in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..10)),
    ) {
        let mut batch = Batch::new(Schema::Avro);
        records.iter().cloned().for_each(|record| batch.push(record));
        if let Some(state) = &state {
            batch.set_state(State::from_bytes(state.clone()));
        }
        let bytes: u64 = records.iter().map(bytes_of).sum();
        prop_assert_eq!(batch.bytes() as u64, bytes);

        let table = GuestBatch::from_batch(batch);

        prop_assert_eq!(table.schema(), Schema::Avro);
        prop_assert_eq!(table.bytes(), bytes);
        prop_assert_eq!(table.state(), state.as_deref());
        prop_assert_eq!(table.records().map(|view| read(&view)).collect::<Vec<_>>(), records);
    }
}

#[test]
fn an_empty_batch_has_neither_record_nor_state() {
    let table = GuestBatch::from_batch(Batch::empty());
    assert!(table.is_empty());
    assert_eq!((table.len(), table.bytes(), table.state()), (0, 0, None));
}

#[test]
fn an_empty_state_is_a_state() {
    let table = GuestBatch::from_batch(Batch::empty().with_state(State::from_bytes(Vec::new())));
    assert_eq!(table.state(), Some(&[][..]));
}

#[test]
fn a_tombstone_is_not_an_empty_payload() {
    let mut batch = Batch::new(Schema::Raw);
    batch.push(Record::tombstone(*b"key"));
    batch.push(Record::new(*b"").with_key(*b"key"));
    let table = GuestBatch::from_batch(batch);
    assert_eq!((table.record(0).payload, table.record(1).payload), (None, Some(&b""[..])));
}

#[test]
fn a_payload_written_in_place_is_one_piece_and_the_last_one_counts() {
    let mut batch = Batch::new(Schema::Text);
    let mut record = batch.add();
    record.payload(b"thought better of");
    record.payload_with(|payload| {
        payload.extend(b"in ");
        payload.grow(6).copy_from_slice(b"pieces");
    });
    record.key(b"k").header("a", b"1").header("b", b"2");
    batch.add().payload(b"next");
    let table = GuestBatch::from_batch(batch);
    assert_eq!(table.record(0).payload, Some(&b"in pieces"[..]));
    assert_eq!(table.record(0).headers().count(), 2);
    assert_eq!((table.record(1).payload, table.record(1).headers().len()), (Some(&b"next"[..]), 0));
}

#[test]
fn a_payload_that_breaks_off_spoils_the_batch_for_good() {
    struct Unwritable;
    impl Serialize for Unwritable {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no"))
        }
    }
    let mut batch = Batch::new(Schema::Json);
    assert!(matches!(batch.add().json(&Unwritable), Err(Error::Serialization(_))));
    batch.add().payload(b"{}");
    assert!(matches!(batch.check(), Err(Error::Serialization(_))));
}
