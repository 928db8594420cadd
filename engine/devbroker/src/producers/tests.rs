//! The sequence check, case by case.

use kafka_protocol::ResponseError::{InvalidProducerEpoch, OutOfOrderSequenceNumber};

use super::*;

const FIRST: i32 = 0;

fn stamp(producer: i64, epoch: i16, first: i32, count: i32) -> Stamp {
    Stamp { producer, epoch, first, last: advance(first, count - 1) }
}

/// Notes batches of ten with the offsets a log would give them.
fn after_batches(batches: i32) -> Producers {
    let mut producers = Producers::new(10);
    for batch in 0..batches {
        producers.note(&stamp(1, 0, batch * 10, 10), i64::from(batch) * 10);
    }
    producers
}

#[test]
fn a_producer_begins_at_zero_and_goes_on_without_gap() {
    let fresh = Producers::new(10);
    assert_eq!(fresh.judge(&stamp(1, 0, FIRST, 10)), Ok(Verdict::Next));
    assert_eq!(fresh.judge(&stamp(1, 0, 10, 10)), Err(OutOfOrderSequenceNumber));

    let going = after_batches(3);
    assert_eq!(going.judge(&stamp(1, 0, 30, 5)), Ok(Verdict::Next));
    assert_eq!(going.judge(&stamp(1, 0, 31, 5)), Err(OutOfOrderSequenceNumber));
}

#[test]
fn each_of_the_last_five_batches_is_recognised_with_its_first_offset() {
    let producers = after_batches(7);

    for batch in 2..7 {
        let verdict = producers.judge(&stamp(1, 0, batch * 10, 10));
        assert_eq!(verdict, Ok(Verdict::Duplicate { base_offset: i64::from(batch) * 10 }));
    }
    assert_eq!(producers.judge(&stamp(1, 0, 10, 10)), Err(OutOfOrderSequenceNumber), "the sixth last");
}

#[test]
fn a_batch_that_only_overlaps_an_old_one_is_no_duplicate() {
    let producers = after_batches(2);

    assert_eq!(producers.judge(&stamp(1, 0, 10, 9)), Err(OutOfOrderSequenceNumber));
    assert_eq!(producers.judge(&stamp(1, 0, 15, 10)), Err(OutOfOrderSequenceNumber));
}

#[test]
fn a_newer_epoch_begins_at_zero_and_fences_the_older() {
    let mut producers = after_batches(2);
    assert_eq!(producers.judge(&stamp(1, 1, 20, 10)), Err(OutOfOrderSequenceNumber));
    assert_eq!(producers.judge(&stamp(1, 1, 0, 10)), Ok(Verdict::Next));

    producers.note(&stamp(1, 1, 0, 10), 20);

    assert_eq!(producers.judge(&stamp(1, 0, 20, 10)), Err(InvalidProducerEpoch));
    assert_eq!(producers.judge(&stamp(1, 1, 10, 1)), Ok(Verdict::Next));
}

#[test]
fn producers_do_not_see_each_other() {
    let producers = after_batches(3);

    assert_eq!(producers.judge(&stamp(2, 0, 0, 10)), Ok(Verdict::Next));
    assert_eq!(producers.judge(&stamp(2, 0, 30, 10)), Err(OutOfOrderSequenceNumber));
}

#[test]
fn the_sequence_wraps_around() {
    let mut producers = Producers::new(10);
    let near_end = stamp(1, 0, i32::MAX - 4, 10);
    producers.note(&near_end, 0);

    assert_eq!(near_end.last, 4);
    assert_eq!(producers.judge(&stamp(1, 0, 5, 1)), Ok(Verdict::Next));
    assert_eq!(producers.judge(&near_end), Ok(Verdict::Duplicate { base_offset: 0 }));
}

#[test]
fn past_the_limit_the_most_silent_producer_is_forgotten() {
    let mut producers = Producers::new(2);
    producers.note(&stamp(1, 0, 0, 1), 0);
    producers.note(&stamp(2, 0, 0, 1), 1);
    producers.note(&stamp(1, 0, 1, 1), 2);
    producers.note(&stamp(3, 0, 0, 1), 3);

    assert_eq!(producers.judge(&stamp(1, 0, 2, 1)), Ok(Verdict::Next));
    assert_eq!(producers.judge(&stamp(2, 0, 1, 1)), Err(OutOfOrderSequenceNumber), "2 was forgotten");
    assert_eq!(producers.highest(), Some(3));
}
