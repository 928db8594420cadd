use super::*;
use crate::change::{OldRow, Verb};
use crate::column::ColumnDraft;
use crate::config::PostgresConfig;
use crate::pgoutput::Message;
use crate::value::Catalog;

fn shape(table: &str, key: &[&str]) -> Shape {
    let config = serde_json::json!({ "connection_string": "host=h user=u", "mode": "cdc" });
    let config: PostgresConfig = serde_json::from_value(config).unwrap();
    let limits = picomq_connector_sdk::Limits { batch_records: 1_000, batch_bytes: 1 << 20 };
    let settings = config.check("k", &limits).unwrap();
    let column = |name: &'static str| ColumnDraft {
        name,
        label: name,
        oid: 25,
        modifier: -1,
        is_key: key.contains(&name),
        is_identity: false,
    };
    let columns = [column("id"), column("v")];
    Shape::new(TableName::new("s", table), &columns, &Catalog::default(), &settings.records)
}

/// An insertion of these two values; `None` is a large one that was left out.
fn insertion(values: [Option<&str>; 2]) -> Vec<u8> {
    let mut bytes = b"I\0\0\0\x01N\0\x02".to_vec();
    for value in values {
        match value {
            None => bytes.push(b'u'),
            Some(text) => {
                bytes.push(b't');
                bytes.extend((text.len() as u32).to_be_bytes());
                bytes.extend(text.as_bytes());
            }
        }
    }
    bytes
}

fn with_row<R>(values: [Option<&str>; 2], then: impl FnOnce(Row<'_>) -> R) -> R {
    let bytes = insertion(values);
    let Message::Insert { new, .. } = Message::parse(&bytes).unwrap() else { panic!() };
    then(Row::Tuple(new))
}

fn update(window: &mut Window, shape: &Shape, new: [Option<&str>; 2], old: Option<[Option<&str>; 2]>) {
    with_row(new, |new| match old {
        None => window.change(shape, &Change { verb: Verb::Update, new: Some(new), old: None }),
        Some(old) => with_row(old, |row| {
            let old = Some(OldRow { row, is_key_only: true });
            window.change(shape, &Change { verb: Verb::Update, new: Some(new), old });
        }),
    });
}

fn fate(keys: &Keys, shape: &Shape, id: &str) -> Fate {
    with_row([Some(id), Some("x")], |row| keys.fate(shape, row).unwrap())
}

fn sight(text: &str) -> Sight {
    Sight::parse(text).unwrap()
}

#[test]
fn a_row_the_stream_brought_meanwhile_is_left_out_and_no_other() {
    let shape = shape("t", &["id"]);
    let mut window = Window::default();
    window.begin();
    update(&mut window, &shape, [Some("0"), Some("a")], None);
    window.low(TableName::new("s", "t"));
    update(&mut window, &shape, [Some("1"), Some("a")], None);
    update(&mut window, &shape, [Some("3"), Some("a")], Some([Some("2"), Some("")]));
    update(&mut window, &self::shape("other", &["id"]), [Some("5"), Some("a")], None);
    let keys = window.high(&sight("9:9:")).unwrap();
    for (id, right) in
        [("0", Fate::Sent), ("1", Fate::Left), ("2", Fate::Left), ("3", Fate::Left), ("5", Fate::Sent)]
    {
        assert_eq!(fate(&keys, &shape, id), right, "{id}");
    }
    assert!(window.high(&sight("9:9:")).is_none(), "one chunk, one window");
}

#[test]
fn a_change_without_its_large_values_has_the_row_read_again_unless_another_had_them() {
    let shape = shape("t", &["id"]);
    let mut window = Window::default();
    window.begin();
    window.low(TableName::new("s", "t"));
    update(&mut window, &shape, [Some("1"), None], None);
    update(&mut window, &shape, [Some("2"), Some("all")], None);
    update(&mut window, &shape, [Some("2"), None], None);
    let keys = window.high(&sight("9:9:")).unwrap();
    assert_eq!((fate(&keys, &shape, "1"), fate(&keys, &shape, "2")), (Fate::ReadAgain, Fate::Left));
}

#[test]
fn a_truncation_or_a_key_that_is_not_there_voids_the_chunk() {
    let shape = shape("t", &["id"]);
    for is_truncation in [true, false] {
        let mut window = Window::default();
        window.begin();
        window.low(TableName::new("s", "t"));
        if is_truncation {
            window.change(&shape, &Change { verb: Verb::Truncate, new: None, old: None });
        } else {
            update(&mut window, &shape, [None, Some("a")], None);
        }
        assert!(window.high(&sight("9:9:")).unwrap().is_void());
    }
}

#[test]
fn a_chunk_that_does_not_see_what_was_sent_is_refused() {
    let mut window = Window::default();
    window.begin();
    window.transaction(100);
    window.low(TableName::new("s", "t"));
    window.transaction(101);
    // 101 came between the marks: its keys are known.
    assert!(window.high(&sight("100:102:100,101")).is_none());
    window.low(TableName::new("s", "t"));
    assert!(window.high(&sight("101:102:101")).is_none(), "101 was sent before this first mark");
    window.low(TableName::new("s", "t"));
    assert!(window.high(&sight("102:102:")).is_some());
}

#[test]
fn what_cannot_be_noted_any_more_begins_anew() {
    let mut window = Window::default();
    window.begin();
    for xid in 0..=TRANSACTIONS_MAX as u32 {
        window.transaction(xid);
    }
    assert!(!window.is_noting());
    window.low(TableName::new("s", "t"));
    assert!(window.high(&sight("9:9:")).is_none());
}
