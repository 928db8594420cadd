use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

fn path(dotted: &str) -> Vec<String> {
    dotted.split('.').map(str::to_owned).collect()
}

/// Reads `paths` out of `payload`; an absent one is the error.
fn read(payload: &[u8], paths: &[&str]) -> Result<Vec<Result<String, Absence>>, NotJson> {
    let mut tree = FieldTree::default();
    let slots: Vec<Slot> = paths.iter().map(|dotted| tree.slot(&path(dotted))).collect();
    let mut fields = Fields::default();
    fields.read(&tree, payload)?;
    let text =
        |slot: &Slot| fields.text(*slot, payload).map(|text| String::from_utf8(text.to_vec()).unwrap());
    Ok(slots.iter().map(text).collect())
}

fn one(payload: &str, dotted: &str) -> Result<String, Absence> {
    read(payload.as_bytes(), &[dotted]).unwrap().remove(0)
}

fn found(text: &str) -> Result<String, Absence> {
    Ok(text.to_owned())
}

#[test]
fn scalars_become_text_and_the_rest_is_missing_b074() {
    assert_eq!(one(r#"{"tenant":"acme"}"#, "tenant"), found("acme"));
    assert_eq!(one(r#"{"tenant":5}"#, "tenant"), found("5"));
    assert_eq!(one(r#"{"tenant":true}"#, "tenant"), found("true"));
    assert_eq!(one(r#"{"tenant":""}"#, "tenant"), found(""));
    assert_eq!(one(r#"{"tenant":null}"#, "tenant"), Err(Absence::Null));
    assert_eq!(one(r#"{"tenant":[]}"#, "tenant"), Err(Absence::Composite));
    assert_eq!(one(r#"{"tenant":{}}"#, "tenant"), Err(Absence::Composite));
    assert_eq!(one(r#"{"other":1}"#, "tenant"), Err(Absence::NotThere));
}

#[test]
fn a_number_keeps_the_digits_it_came_with() {
    for digits in
        ["-0", "1.0", "1.50", "12345678901234567890123", "1e3", "0.1000000000000000055511151231257827"]
    {
        assert_eq!(one(&format!(r#"{{"n": {digits} }}"#), "n"), found(digits));
    }
}

#[test]
fn a_dotted_path_descends_objects_and_indexes_arrays_b079() {
    assert_eq!(one(r#"{"a":{"b":"x"}}"#, "a.b"), found("x"));
    assert_eq!(one(r#"{"a.b":"y"}"#, "a.b"), Err(Absence::NotThere));
    assert_eq!(one(r#"{"a":[{"b":"z"}]}"#, "a.b"), Err(Absence::NotThere));
    assert_eq!(one(r#"{"a":[{"b":"z"}]}"#, "a.0.b"), found("z"));
    assert_eq!(one(r#"{"a":["x","y"]}"#, "a.1"), found("y"));
    assert_eq!(one(r#"{"a":["x","y"]}"#, "a.01"), Err(Absence::NotThere));
    assert_eq!(one(r#"{"a":{"1":"key"}}"#, "a.1"), found("key"));
    assert_eq!(one(r#"["x",["y"]]"#, "1.0"), found("y"));
}

#[test]
fn of_a_repeated_key_the_last_counts_also_when_it_ends_the_path() {
    assert_eq!(one(r#"{"a":1,"a":2}"#, "a"), found("2"));
    assert_eq!(one(r#"{"a":{"b":1},"a":{}}"#, "a.b"), Err(Absence::NotThere));
    assert_eq!(one(r#"{"a":{"b":1},"a":7}"#, "a.b"), Err(Absence::NotThere));
}

#[test]
fn a_path_and_one_below_it_are_both_read() {
    let read = read(br#"{"a":{"b":"x","c":[0,"y"]}}"#, &["a", "a.b", "a.c.1", "a.c"]).unwrap();

    assert_eq!(read, [Err(Absence::Composite), found("x"), found("y"), Err(Absence::Composite)]);
}

#[test]
fn escapes_in_keys_and_values_are_undone() {
    assert_eq!(one(r#"{"t\u0065nant":"a\"\u00e9\ud83d\ude00"}"#, "tenant"), found("a\"é😀"));
    let two = read(br#"{"a":"\n1","b":"\n2"}"#, &["a", "b"]).unwrap();
    assert_eq!(two, [found("\n1"), found("\n2")]);
}

#[test]
fn half_a_surrogate_pair_is_json_but_no_text() {
    assert_eq!(one(r#"{"tenant":"\ud800"}"#, "tenant"), Err(Absence::NoText));
    assert_eq!(one(r#"{"\ud800":1,"a":{"\udfff":2,"b":"x"}}"#, "a.b"), found("x"));
    assert_eq!(one(r#"{"a":"\ud800"}"#, "a.b"), Err(Absence::NotThere));
}

#[test]
fn a_number_no_float_holds_is_still_json() {
    assert_eq!(one(r#"{"a":1e999,"b":"x"}"#, "b"), found("x"));
    assert_eq!(one(r#"{"a":1e999}"#, "a.b"), Err(Absence::NotThere));
    assert_eq!(one("1e999", "a"), Err(Absence::NotThere));
}

#[test]
fn what_is_not_one_json_text_is_refused_with_or_without_paths() {
    let refused: [&[u8]; 16] = [
        b"",
        b" ",
        b"{",
        b"{\"a\":1,}",
        b"[1 2]",
        b"{'a':1}",
        b"{\"a\":01}",
        b"{\"a\":+1}",
        b"{\"a\":1.}",
        b"{\"a\":NaN}",
        b"{\"a\":\"\\x\"}",
        b"{\"a\":\"\n\"}",
        b"{\"a\":1} x",
        b"{\"a\":1}{\"a\":1}",
        b"\xef\xbb\xbf{}",
        b"{\"a\":\"\xff\"}",
    ];
    for payload in refused {
        for paths in [&[][..], &["a"], &["a.b"], &["z"]] {
            assert!(read(payload, paths).is_err(), "{:?} {paths:?}", String::from_utf8_lossy(payload));
        }
    }
}

#[test]
fn deep_nesting_beside_the_path_neither_fails_nor_uses_the_stack() {
    let deep = format!(r#"{{"x":{}1{},"a":"v"}}"#, "[".repeat(200_000), "]".repeat(200_000));

    assert_eq!(one(&deep, "a"), found("v"));
}

#[test]
fn nothing_of_one_payload_is_left_for_the_next() {
    let mut tree = FieldTree::default();
    let slot = tree.slot(&path("a"));
    let mut fields = Fields::default();

    fields.read(&tree, br#"{"a":"\u0031"}"#).unwrap();
    assert_eq!(fields.text(slot, br#"{"a":"\u0031"}"#), Ok(&b"1"[..]));
    fields.read(&tree, b"{}").unwrap();
    assert_eq!(fields.text(slot, b"{}"), Err(Absence::NotThere));
    fields.read(&tree, br#"{"a":"1""#).unwrap_err();
    assert_eq!(fields.text(slot, b""), Err(Absence::NotJson));
}

#[test]
fn the_buffer_of_undone_escapes_holds_one_payload() {
    let mut tree = FieldTree::default();
    tree.slot(&path("a"));
    let mut fields = Fields::default();

    for _ in 0..100 {
        fields.read(&tree, br#"{"a":"\u0031"}"#).unwrap();
    }

    assert_eq!(fields.unescaped, b"1");
}

#[test]
fn the_same_path_has_the_same_slot() {
    let mut tree = FieldTree::default();

    let first = tree.slot(&path("a.b"));
    let other = tree.slot(&path("a"));

    assert_eq!(tree.slot(&path("a.b")), first);
    assert_ne!(other, first);
}

/// JSON text with few keys, so that paths are hit, keys repeat, and blanks and escapes occur.
fn json_text() -> impl Strategy<Value = String> {
    let string = prop_oneof![
        "[a-c]{0,3}".prop_map(|plain| format!("\"{plain}\"")),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        Just(r#""\u0061\ud83d\ude00\/""#.to_owned()),
    ];
    let scalar = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|truth| truth.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_filter("JSON has no NaN", |n| n.is_finite()).prop_map(|n| format!("{n:e}")),
        string,
    ];
    let key = prop_oneof![Just("\"a\""), Just("\"b\""), Just("\"0\""), Just(r#""\u0061""#), Just("\"zz\"")];
    scalar.prop_recursive(5, 40, 5, move |inner| {
        let member = (key.clone(), inner.clone()).prop_map(|(key, value)| format!("{key} : {value}"));
        prop_oneof![
            proptest::collection::vec(member, 0..5)
                .prop_map(|members| format!("{{{}}}", members.join(",\t"))),
            proptest::collection::vec(inner, 0..5).prop_map(|items| format!("[{} ]", items.join(" ,"))),
        ]
    })
}

const PATHS: [&str; 8] = ["a", "b", "a.b", "a.0", "a.b.a", "0", "0.1.a", "b.0.b"];

/// The same path, walked over serde_json's tree.
fn oracle<'v>(root: &'v Value, dotted: &str) -> Option<&'v Value> {
    dotted.split('.').try_fold(root, |value, segment| match value {
        Value::Object(members) => members.get(segment),
        Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

proptest! {
    #[test]
    fn the_walk_finds_what_a_tree_would_hold(text in json_text()) {
        let tree: Value = serde_json::from_str(&text).unwrap();

        let read = read(text.as_bytes(), &PATHS).unwrap();

        for (dotted, found) in PATHS.iter().zip(read) {
            match oracle(&tree, dotted) {
                None => prop_assert_eq!(found, Err(Absence::NotThere)),
                Some(Value::Null) => prop_assert_eq!(found, Err(Absence::Null)),
                Some(Value::Array(_) | Value::Object(_)) => prop_assert_eq!(found, Err(Absence::Composite)),
                Some(Value::Bool(truth)) => prop_assert_eq!(found, Ok(truth.to_string())),
                Some(Value::String(text)) => prop_assert_eq!(found, Ok(text.clone())),
                Some(Value::Number(number)) => {
                    let digits = found.unwrap();
                    prop_assert_eq!(serde_json::from_str::<Value>(&digits).unwrap(), Value::Number(number.clone()));
                    prop_assert!(text.contains(&digits));
                }
            }
        }
    }

    #[test]
    fn the_walk_takes_exactly_what_serde_json_takes(
        text in json_text(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 0..3),
    ) {
        let mut bytes = text.into_bytes();
        for (at, byte, edit) in edits {
            match edit {
                0 if !bytes.is_empty() => { let at = at.index(bytes.len()); bytes[at] = byte; }
                1 if !bytes.is_empty() => { bytes.remove(at.index(bytes.len())); }
                _ => bytes.insert(at.index(bytes.len() + 1), byte),
            }
        }
        let accepted = serde_json::from_slice::<&RawValue>(&bytes).is_ok();

        prop_assert_eq!(read(&bytes, &PATHS).is_ok(), accepted);
        prop_assert_eq!(read(&bytes, &[]).is_ok(), accepted);
    }
}
