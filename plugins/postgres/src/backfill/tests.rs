use super::*;
use crate::progress::By;

fn name(table: &str) -> TableName {
    TableName::new("s", table)
}

fn key(text: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { vec![text.to_owned()] }
}

fn part(table: &str, after: &str, until: &str) -> Part {
    Part { table: name(table), after: key(after), until: key(until), by: By::Key }
}

fn moved(of: Of, part: Part, is_done: bool) -> Moved {
    Moved::Part { of, part, rows: 10, is_done }
}

#[test]
fn what_a_snapshot_left_is_read_part_by_part_and_each_once() {
    let tables = [name("a"), name("b"), name("c")];
    // Of b two parts were under way, and its frontier stands at 50.
    let open = vec![part("b", "5", "20"), part("b", "30", "50")];
    let rest = Progress { table: Some(name("b")), after: key("50"), open, ..Progress::default() };
    let mut work = Backfill { rest: Some(rest), ..Backfill::default() };
    let mut read = Vec::new();
    while let Some((of, part)) = work.next(&tables) {
        read.push((part.table.table.clone(), part.after.clone(), part.until.clone()));
        work.apply(&moved(of, Part { after: key("x"), ..part.clone() }, true));
    }
    let right = [("b", "5", "20"), ("b", "30", "50"), ("b", "50", ""), ("c", "", "")];
    assert_eq!(read, right.map(|(table, after, until)| (table.to_owned(), key(after), key(until))));
    work.apply(&Moved::RestDone);
    assert!(work.is_idle());
}

#[test]
fn a_request_waits_for_the_snapshot_and_for_those_before_it() {
    let job = |table: &str| Job { table: name(table), after: Vec::new(), rows: 0 };
    let mut work = Backfill { rest: Some(Progress::default()), jobs: vec![job("a"), job("b")], last: 2 };
    assert_eq!(work.next(&[]), None);
    work.apply(&Moved::RestDone);
    assert_eq!(work.next(&[]), Some((Of::Job, part("a", "", ""))));
    work.apply(&moved(Of::Job, part("a", "7", ""), false));
    assert_eq!(work.next(&[]), Some((Of::Job, part("a", "7", ""))));
    assert_eq!(work.told(), "s.a: 10 rows read; 1 more wait");
    work.apply(&moved(Of::Job, part("a", "9", ""), true));
    assert_eq!(work.next(&[]), Some((Of::Job, part("b", "", ""))));
    // Called off meanwhile: what was read of it changes nothing.
    work.jobs.clear();
    work.apply(&moved(Of::Job, part("b", "1", ""), false));
    assert!(work.is_idle() && !work.is_unused());
}
