//! What is a batch and what is not.

use bytes::{Bytes, BytesMut};

use super::*;
use crate::testing::{self, From};

const FROM: From = From { producer: 7, epoch: 1, sequence: 40 };
const ATTRIBUTES_AT: usize = CHECKED_FROM + 1;
const COUNT_AT: usize = HEADER_BYTES - 1;

/// Changes one byte and makes the checksum right again, so that only the change can be found fault with.
fn forge(bytes: &Bytes, at: usize, value: u8) -> Bytes {
    let mut forged = BytesMut::from(&bytes[..]);
    forged[at] = value;
    let crc = crc32c::crc32c(&forged[CHECKED_FROM..]);
    forged[CRC_AT..CHECKED_FROM].copy_from_slice(&crc.to_be_bytes());
    forged.freeze()
}

#[test]
fn a_good_batch_tells_its_count_times_and_stamp() {
    let batch = testing::stamped(&["a", "b", "c"], FROM);

    assert_eq!(batch.count, 3);
    assert_eq!(batch.base_timestamp, testing::BASE_TIMESTAMP);
    assert_eq!(batch.max_timestamp, testing::BASE_TIMESTAMP + 2);
    assert_eq!(batch.stamp, Some(Stamp { producer: 7, epoch: 1, first: 40, last: 42 }));
}

#[test]
fn a_flipped_bit_anywhere_in_the_checked_part_is_found() {
    let good = testing::bytes(&["a"], Some(FROM));

    for at in CRC_AT..good.len() {
        let mut bad = BytesMut::from(&good[..]);
        bad[at] ^= 0x10;
        assert_eq!(Batch::check(bad.freeze()).unwrap_err(), BadBatch::Checksum, "at byte {at}");
    }
}

#[test]
fn every_cut_is_found() {
    let good = testing::bytes(&["a"], None);

    for length in 0..good.len() {
        assert_eq!(Batch::check(good.slice(..length)).unwrap_err(), BadBatch::Truncated, "{length} bytes");
    }
}

#[test]
fn two_batches_are_not_one() {
    let mut two = BytesMut::from(&testing::bytes(&["a"], None)[..]);
    two.extend_from_slice(&testing::bytes(&["b"], None));

    assert_eq!(Batch::check(two.freeze()).unwrap_err(), BadBatch::Trailing);
}

#[test]
fn what_only_brokers_or_transactions_write_is_refused() {
    let good = testing::bytes(&["a"], Some(FROM));

    let control = forge(&good, ATTRIBUTES_AT, CONTROL as u8);
    let transactional = forge(&good, ATTRIBUTES_AT, TRANSACTIONAL as u8);
    let unknown = forge(&good, ATTRIBUTES_AT, 5);

    assert_eq!(Batch::check(control).unwrap_err(), BadBatch::Control);
    assert_eq!(Batch::check(transactional).unwrap_err(), BadBatch::Transactional);
    assert_eq!(Batch::check(unknown).unwrap_err(), BadBatch::UnknownCompression);
}

#[test]
fn a_count_that_is_not_the_last_offset_plus_one_is_refused() {
    let good = testing::bytes(&["a", "b"], None);

    assert_eq!(Batch::check(forge(&good, COUNT_AT, 3)).unwrap_err(), BadBatch::Count);
    assert_eq!(Batch::check(forge(&good, COUNT_AT, 0)).unwrap_err(), BadBatch::Count);
}

#[test]
fn an_old_message_format_is_named() {
    let good = testing::bytes(&["a"], None);
    let mut old = BytesMut::from(&good[..]);
    old[MAGIC_AT] = 1;

    assert_eq!(Batch::check(old.freeze()).unwrap_err(), BadBatch::OldFormat(1));
}

#[test]
fn placing_a_batch_changes_offset_and_epoch_only() {
    let batch = testing::stamped(&["a", "b"], FROM);
    let received = batch.bytes().clone();

    let placed = batch.at(1_000);

    assert_eq!(placed.bytes()[..8], 1_000_i64.to_be_bytes());
    assert_eq!(placed.bytes()[LENGTH_PREFIX_BYTES..MAGIC_AT], LEADER_EPOCH.to_be_bytes());
    assert_eq!(placed.bytes()[8..LENGTH_PREFIX_BYTES], received[8..LENGTH_PREFIX_BYTES]);
    assert_eq!(placed.bytes()[MAGIC_AT..], received[MAGIC_AT..]);
    assert_eq!(Batch::check(placed.bytes().clone()).unwrap().next_offset(), 1_002);
}

#[test]
fn sequences_start_over_after_the_largest_number() {
    assert_eq!(advance(5, 3), 8);
    assert_eq!(advance(i32::MAX, 1), 0);
    assert_eq!(advance(i32::MAX - 1, 3), 1);
}
