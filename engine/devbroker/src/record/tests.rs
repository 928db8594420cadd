//! Taking batches apart.

use bytes::BytesMut;

use super::*;
use crate::testing;

/// A batch whose one record is these bytes.
fn batch_of(body: &[u8]) -> Batch {
    let template = testing::bytes(&["x"], None);
    let mut bytes = BytesMut::from(&template[..crate::batch::HEADER_BYTES]);
    bytes.extend_from_slice(body);
    let length = (bytes.len() - 12) as i32;
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    let crc = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    Batch::check(bytes.freeze()).unwrap()
}

/// Attributes, timestamp delta 5, offset delta 0, then the rest; with its length before it.
fn record_of(rest: &[u8]) -> Vec<u8> {
    let mut record = vec![(rest.len() as u8 + 3) * 2, 0, 10, 0];
    record.extend_from_slice(rest);
    record
}

#[test]
fn null_and_empty_differ_and_repeated_headers_stay() {
    let header_with_null = [2, b'h', 1];
    let header_with_empty = [2, b'h', 0];
    let record = record_of(&[&[1, 0, 4][..], &header_with_null, &header_with_empty].concat());

    let records = decode(&batch_of(&record).at(9)).unwrap();

    let header = |value| Header { name: "h".to_owned(), value };
    let expected = Record {
        offset: 9,
        timestamp_ms: testing::BASE_TIMESTAMP + 5,
        key: None,
        value: Some(Bytes::new()),
        headers: vec![header(None), header(Some(Bytes::new()))],
    };
    assert_eq!(records, [expected]);
}

#[test]
fn every_cut_and_every_lie_about_a_length_is_malformed() {
    let good = record_of(&[2, b'k', 2, b'v', 2, 2, b'h', 2, b'x']);
    assert!(decode(&batch_of(&good)).is_ok());

    for length in 0..good.len() {
        assert_eq!(decode(&batch_of(&good[..length])), Err(Undecodable::Malformed), "{length} bytes");
    }
    for at in [0, 4, 6, 8, 9, 11] {
        let mut bad = good.clone();
        bad[at] = 0x7e;
        assert_eq!(decode(&batch_of(&bad)), Err(Undecodable::Malformed), "length at {at} is a lie");
    }
}

#[test]
fn bytes_after_the_last_record_are_malformed() {
    let mut record = record_of(&[1, 1, 0]);
    record.push(0);

    assert_eq!(decode(&batch_of(&record)), Err(Undecodable::Malformed));
}

#[test]
fn compressed_batches_say_so() {
    assert_eq!(decode(&testing::compressed()), Err(Undecodable::Compressed(Compression::Zstd)));
}
