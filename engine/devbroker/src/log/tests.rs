//! The log: places, reading, dropping, finding.

use super::*;
use crate::record::Undecodable;
use crate::testing::{self, BASE_TIMESTAMP, From, plain};

fn log_of(batches: &[&[&str]]) -> Log {
    let mut log = Log::new(10);
    for values in batches {
        let end = log.end();
        log.append(plain(values).at(end));
    }
    log
}

fn values(log: &Log, from: i64, max: usize) -> Vec<String> {
    let records = log.records(from, max).unwrap().unwrap();
    records.into_iter().map(|r| String::from_utf8(r.value.unwrap().to_vec()).unwrap()).collect()
}

#[test]
fn offsets_run_on_over_batches() {
    let log = log_of(&[&["a", "b"], &["c"]]);

    let offsets: Vec<i64> = log.records(0, 10).unwrap().unwrap().iter().map(|r| r.offset).collect();

    assert_eq!(offsets, [0, 1, 2]);
    assert_eq!((log.start(), log.end()), (0, 3));
}

#[test]
fn records_begin_at_the_offset_asked_for_even_inside_a_batch() {
    let log = log_of(&[&["a", "b", "c"], &["d", "e"]]);

    assert_eq!(values(&log, 1, 10), ["b", "c", "d", "e"]);
    assert_eq!(values(&log, 1, 3), ["b", "c", "d"]);
    assert_eq!(values(&log, 5, 3), Vec::<String>::new());
}

#[test]
fn reading_beyond_either_end_is_out_of_range_and_at_the_end_is_empty() {
    let log = log_of(&[&["a"]]);

    assert_eq!(log.read(-1, 1_000, true), Err(OutOfRange));
    assert_eq!(log.read(2, 1_000, true), Err(OutOfRange));
    assert_eq!(log.read(1, 1_000, true), Ok(Bytes::new()));
}

#[test]
fn a_read_returns_whole_batches_within_its_limit_and_one_at_least() {
    let log = log_of(&[&["a", "b"], &["c"], &["d"]]);
    let sizes: Vec<usize> = log.batches().map(Batch::len).collect();

    let from_inside_the_first = log.read(1, sizes[0] + sizes[1], false).unwrap();
    let too_little = log.read(0, sizes[0] - 1, false).unwrap();
    let too_little_but_one = log.read(0, 0, true).unwrap();

    assert_eq!(from_inside_the_first.len(), sizes[0] + sizes[1]);
    assert_eq!(too_little.len(), 0);
    assert_eq!(too_little_but_one.len(), sizes[0]);
}

#[test]
fn dropping_moves_the_start_and_never_takes_the_newest_batch() {
    let mut log = log_of(&[&["a", "b"], &["c"]]);
    let before = log.bytes();

    let freed = log.drop_oldest().unwrap();

    assert_eq!((log.start(), log.end()), (2, 3));
    assert_eq!(log.bytes(), before - freed);
    assert_eq!(log.drop_oldest(), None);
    assert_eq!(log.read(0, 1_000, true), Err(OutOfRange));
    assert_eq!(values(&log, 2, 10), ["c"]);
}

#[test]
fn dropped_batches_are_still_recognised_as_duplicates() {
    let batch = |sequence| testing::stamped(&["a"], From { producer: 1, epoch: 0, sequence });
    let mut log = Log::new(10);
    log.append(batch(0).at(0));
    log.append(batch(1).at(1));
    log.drop_oldest();

    assert_eq!(log.judge(&batch(0)), Ok(Verdict::Duplicate { base_offset: 0 }));
    assert_eq!(log.judge(&batch(2)), Ok(Verdict::Next));
}

#[test]
fn what_is_available_is_counted_up_to_enough() {
    let log = log_of(&[&["a"], &["b"], &["c"]]);
    let one = log.batches().next().unwrap().len();

    assert_eq!(log.available(0, usize::MAX), Ok(3 * one));
    assert_eq!(log.available(0, one + 1), Ok(2 * one));
    assert_eq!(log.available(3, 1), Ok(0));
}

#[test]
fn the_first_record_not_older_than_a_time_is_found() {
    let log = log_of(&[&["a", "b", "c"], &["d"]]);

    assert_eq!(log.find_time(0), Some((0, BASE_TIMESTAMP)));
    assert_eq!(log.find_time(BASE_TIMESTAMP + 2), Some((2, BASE_TIMESTAMP + 2)));
    assert_eq!(log.find_time(BASE_TIMESTAMP + 3), None);
}

#[test]
fn a_batch_that_is_not_records_is_named_with_its_offset() {
    let mut log = log_of(&[&["a"]]);
    log.append(testing::compressed().at(1));

    let bad = log.records(0, 10).unwrap().unwrap_err();

    assert_eq!(bad, BadBody { base_offset: 1, reason: Undecodable::Compressed(crate::Compression::Zstd) });
}

#[test]
#[should_panic(expected = "placed at the end")]
fn a_batch_in_the_wrong_place_is_a_bug() {
    Log::new(1).append(plain(&["a"]).at(5));
}
