use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const ROOM: Room = Room { records: 10, bytes: 1 << 20 };

fn want(low: i64) -> Want {
    Want { low, high: None, group: None, room: ROOM, limit: None, cursor: None }
}

fn group(time: i64, after: Option<Mark>) -> Want {
    Want { high: Some(time + 1), group: Some(after), ..want(time) }
}

/// Rows as (time, text), in tables.
fn select(want: Want, tables: &[&[(i64, &str)]]) -> Page {
    let mut selection = Selection::new(want);
    for table in tables {
        selection.next_table().unwrap();
        for (time, text) in *table {
            offer(&mut selection, *time, text);
        }
    }
    selection.finish(false).unwrap()
}

fn offer(selection: &mut Selection, time: i64, text: &str) {
    let draw = |draft: &mut Draft| {
        draft.payload.extend_from_slice(text.as_bytes());
        Ok(())
    };
    selection.row(time, draw).unwrap();
}

fn texts(page: &Page) -> Vec<String> {
    page.entries.iter().map(|entry| String::from_utf8_lossy(page.payload(entry)).into_owned()).collect()
}

#[test]
fn a_cut_table_gives_what_lies_before_its_last_time_b100() {
    let page = select(Want { limit: Some(4), ..want(0) }, &[&[(1, "a"), (2, "b"), (3, "c"), (3, "d")]]);
    assert_eq!((texts(&page), page.horizon), (vec!["a".to_owned(), "b".to_owned()], Some(3)));
}

#[test]
fn the_earliest_cut_table_bounds_all_of_them() {
    let limited = Want { limit: Some(2), ..want(0) };
    let page = select(limited, &[&[(1, "a"), (9, "b")], &[(2, "c"), (5, "d")], &[(7, "e")]]);
    assert_eq!((texts(&page), page.horizon), (vec!["a".to_owned(), "c".to_owned()], Some(5)));
}

#[test]
fn tables_in_any_order_come_out_in_the_order_of_time() {
    let page = select(want(2), &[&[(5, "e"), (7, "g")], &[(1, "a"), (3, "c")], &[(6, "f"), (2, "b")]]);
    assert_eq!(texts(&page), ["b", "c", "e", "f", "g"]);
    assert_eq!(page.horizon, None);
}

#[test]
fn a_table_out_of_order_is_refused_only_when_it_was_cut() {
    let mut selection = Selection::new(Want { limit: Some(2), ..want(0) });
    offer(&mut selection, 5, "a");
    offer(&mut selection, 4, "b");
    let error = selection.finish(false).unwrap_err();
    assert!(error.to_string().contains("sort by time"), "{error}");
}

#[test]
fn a_truncated_answer_is_cut_at_its_last_time_b102() {
    let mut selection = Selection::new(want(0));
    for (time, text) in [(1, "a"), (2, "b"), (2, "c")] {
        offer(&mut selection, time, text);
    }
    let page = selection.finish(true).unwrap();
    assert_eq!((texts(&page), page.horizon), (vec!["a".to_owned()], Some(2)));
}

#[test]
fn a_group_larger_than_the_room_leaves_nothing_and_names_its_time() {
    let rows: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    let table: Vec<(i64, &str)> = rows.iter().map(|row| (7, row.as_str())).collect();
    let page = select(want(0), &[&table]);
    assert_eq!((page.entries.len(), page.horizon), (0, Some(7)));
}

#[test]
fn a_group_that_its_limit_cut_says_so() {
    let short = Want { limit: Some(2), ..group(7, None) };
    assert!(select(short.clone(), &[&[(7, "a"), (7, "b")]]).facts.is_short);
    assert!(!select(short, &[&[(7, "a"), (8, "b")], &[(7, "c")]]).facts.is_short);
}

/// Reads a group piece by piece, in another order each time.
fn pieces(rows: &[String], room: Room, seed: u64) -> Vec<String> {
    let mut random = proptest::test_runner::TestRng::from_seed(
        proptest::test_runner::RngAlgorithm::ChaCha,
        &[seed as u8; 32],
    );
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let mut rows: Vec<&String> = rows.iter().collect();
        for index in (1..rows.len()).rev() {
            rows.swap(index, random.next_u64() as usize % (index + 1));
        }
        let table: Vec<(i64, &str)> = rows.iter().map(|row| (7, row.as_str())).collect();
        let page = select(Want { room, ..group(7, after) }, &[&table]);
        assert!(page.entries.len() <= room.records);
        all.extend(texts(&page));
        after = page.entries.last().map(Entry::mark).or(after);
        if !page.has_more {
            return all;
        }
    }
}

proptest! {
    /// Rows may be equal in everything, and the server may give them in any order.
    #[test]
    fn every_row_of_a_group_comes_once_whatever_its_order_b100(
        rows in prop::collection::vec(0_u32..40, 0..120),
        records in 1_usize..20,
        bytes in 60_usize..2_000,
        seed: u64,
    ) {
        let rows: Vec<String> = rows.iter().map(|row| format!("{row:03}")).collect();
        let counted = |rows: &[String]| {
            let mut counts = BTreeMap::new();
            rows.iter().for_each(|row| *counts.entry(row.clone()).or_insert(0) += 1);
            counts
        };
        let read = pieces(&rows, Room { records, bytes }, seed);
        prop_assert_eq!(counted(&read), counted(&rows));
    }

    /// What is before the horizon is all there is before it.
    #[test]
    fn what_lies_before_the_horizon_is_complete(
        tables in prop::collection::vec(prop::collection::vec(0_i64..30, 0..40), 0..5),
        records in 1_usize..30,
    ) {
        let tables: Vec<Vec<(i64, String)>> = tables
            .iter()
            .enumerate()
            .map(|(table, times)| times.iter().enumerate().map(|(row, time)| (*time, format!("{table}-{row}"))).collect())
            .collect();
        let borrowed: Vec<Vec<(i64, &str)>> = tables
            .iter()
            .map(|table| table.iter().map(|(time, text)| (*time, text.as_str())).collect())
            .collect();
        let slices: Vec<&[(i64, &str)]> = borrowed.iter().map(Vec::as_slice).collect();
        let page = select(Want { room: Room { records, ..ROOM }, ..want(0) }, &slices);
        let horizon = page.horizon.unwrap_or(i64::MAX);
        let mut right: Vec<&str> = borrowed.iter().flatten().filter(|row| row.0 < horizon).map(|row| row.1).collect();
        let mut read = texts(&page);
        right.sort_unstable();
        read.sort_unstable();
        prop_assert_eq!(read, right);
        prop_assert!(page.entries.len() <= records);
    }
}
