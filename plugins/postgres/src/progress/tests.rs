use super::*;

fn names(names: &[&str]) -> Vec<TableName> {
    names.iter().map(|name| TableName::new("s", *name)).collect()
}

fn part(table: &str, after: &str, until: &str) -> Part {
    let key = |text: &str| if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
    Part { table: TableName::new("s", table), after: key(after), until: key(until), by: By::Key }
}

#[test]
fn tables_are_taken_in_order_and_each_once() {
    let tables = names(&["a", "b", "d"]);
    let mut progress = Progress::default();
    let mut read = Vec::new();
    while let Some(table) = next_table(&tables, &progress) {
        assert_eq!(next_table(&tables, &progress.entered(table)), Some(table), "begun and not done");
        read.push(table.clone());
        progress = Progress { is_table_done: true, ..progress.entered(table) };
    }
    assert_eq!(read, tables);
}

#[test]
fn a_table_that_went_away_does_not_stop_the_next() {
    let progress = Progress { table: names(&["b"]).pop(), ..Progress::default() };
    assert_eq!(next_table(&names(&["a", "c"]), &progress), names(&["c"]).first());
}

#[test]
fn a_part_is_left_until_its_end_whatever_comes_of_the_others() {
    let mut progress = Progress::default();
    let (first, second) = (part("a", "", "5"), part("a", "5", ""));
    progress.take(&first);
    assert_eq!((progress.after.as_slice(), progress.is_table_done), (["5".to_owned()].as_slice(), false));
    progress.take(&second);
    assert!(progress.is_table_done);
    progress.advance(&Part { after: vec!["9".into()], ..second.clone() }, 4, true);
    progress.advance(&Part { after: vec!["3".into()], ..first }, 3, false);
    assert!(!progress.is_read(&first_table()));
    assert_eq!(progress.open, [part("a", "3", "5")]);
    progress.take(&part("b", "", ""));
    progress.advance(&part("a", "5", "5"), 2, true);
    assert!(progress.is_read(&first_table()));
    assert_eq!((progress.rows, progress.open), (9, vec![part("b", "", "")]));
}

fn first_table() -> TableName {
    TableName::new("s", "a")
}

#[test]
fn thousands_of_parts_make_no_large_state() {
    let mut progress = Progress::default();
    let mut most = 0;
    for number in 0_u64..5_000 {
        let part = part("a", &number.to_string(), &(number + 1).to_string());
        progress.take(&part);
        // Four at once.
        if let Some(oldest) = progress.open.first().filter(|_| progress.open.len() >= 4).cloned() {
            progress.advance(&oldest, 1, true);
        }
        most = most.max(serde_json::to_vec(&progress).unwrap().len());
    }
    assert!(most < 1_000, "{most} bytes");
}

#[test]
fn a_progress_of_before_there_were_parts_is_a_frontier() {
    let old = r#"{"table":{"schema":"s","table":"a"},"after":["7"],"rows":7,"is_table_done":false}"#;
    let progress: Progress = serde_json::from_str(old).unwrap();
    assert_eq!((progress.by, progress.open.len(), progress.after), (By::Key, 0, vec!["7".to_owned()]));
}
