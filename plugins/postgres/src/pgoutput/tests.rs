use proptest::prelude::*;

use super::*;

fn tuple(values: &[Option<&str>]) -> Vec<u8> {
    let mut out = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        match value {
            None => out.push(b'n'),
            Some("(unchanged)") => out.push(b'u'),
            Some(text) => {
                out.push(b't');
                out.extend((text.len() as u32).to_be_bytes());
                out.extend(text.as_bytes());
            }
        }
    }
    out
}

#[test]
fn an_update_with_an_old_key_is_read_whole() {
    let bytes =
        [b"U\0\0\0\x07K", &tuple(&[Some("1"), None])[..], b"N", &tuple(&[Some("2"), Some("(unchanged)")])]
            .concat();
    let Message::Update { relation: 7, old: Some(Old::Key(old)), new } = Message::parse(&bytes).unwrap()
    else {
        panic!("{bytes:?}")
    };
    assert_eq!(old.values().collect::<Vec<_>>(), [Value::Text(b"1"), Value::Null]);
    assert_eq!(new.values().collect::<Vec<_>>(), [Value::Text(b"2"), Value::Unchanged]);
}

#[test]
fn an_update_without_an_old_row_is_read() {
    let bytes = [b"U\0\0\0\x07N", &tuple(&[Some("1")])[..]].concat();
    let Message::Update { old: None, new, .. } = Message::parse(&bytes).unwrap() else { panic!("{bytes:?}") };
    assert_eq!(new.values().count(), 1);
}

#[test]
fn what_is_not_known_is_an_error_and_never_passed_over() {
    let binary = b"I\0\0\0\x07N\0\x01b\0\0\0\x01x";
    for bytes in [&b"S\0"[..], b"X", b"", binary, b"I\0\0\0\x07K\0\0", b"D\0\0\0\x07N\0\0", b"B\0"] {
        assert!(Message::parse(bytes).is_err(), "{}", bytes.escape_ascii());
    }
    let longer = [b"I\0\0\0\x07N", &tuple(&[Some("1")])[..], b"x"].concat();
    assert!(Message::parse(&longer).is_err());
}

#[test]
fn a_reply_that_advances_nothing_says_zero() {
    let reply = status(Lsn(9), None, 5);
    assert_eq!(reply[1..9], 9_u64.to_be_bytes());
    assert_eq!(reply[9..25], [0; 16]);
    let advance = status(Lsn(9), Some(Lsn(8)), 5);
    assert_eq!(advance[9..17], 8_u64.to_be_bytes());
    assert_eq!(advance[17..25], 8_u64.to_be_bytes());
}

proptest! {
    #[test]
    fn no_bytes_make_the_decoder_panic(mut bytes: Vec<u8>, tag in prop::sample::select(b"BCORYIUDTMwk".to_vec())) {
        let _ = Message::parse(&bytes);
        let _ = Streamed::parse(&bytes);
        bytes.insert(0, tag);
        let _ = Streamed::parse(&bytes);
        if let Ok(Message::Insert { new, .. }) = Message::parse(&bytes) {
            prop_assert_eq!(new.values().count(), usize::from(new.count));
        }
    }

    #[test]
    fn every_row_comes_back(values in prop::collection::vec(prop::option::of(".{0,9}"), 0..9)) {
        let values: Vec<Option<&str>> = values.iter().map(Option::as_deref).collect();
        let bytes = [b"I\0\0\0\x01N", &tuple(&values)[..]].concat();
        let Message::Insert { new, .. } = Message::parse(&bytes).unwrap() else { panic!() };
        let right: Vec<Value<'_>> =
            values.iter().map(|value| value.map_or(Value::Null, |text| Value::Text(text.as_bytes()))).collect();
        prop_assert_eq!(new.values().collect::<Vec<_>>(), right);
    }
}
