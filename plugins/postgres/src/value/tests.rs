use proptest::prelude::*;
use serde_json::{Value, json as tree};

use super::*;

fn text(kind: &Kind, text: &str) -> String {
    with(kind, text, Forms::default()).unwrap()
}

fn with(kind: &Kind, text: &str, forms: Forms) -> Result<String, &'static str> {
    let mut out = Vec::new();
    write(&mut out, kind, text.as_bytes(), forms)?;
    let text = String::from_utf8(out).unwrap();
    serde_json::from_str::<&serde_json::value::RawValue>(&text)
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    Ok(text)
}

fn array(element: Kind) -> Kind {
    Kind::Array { element: Box::new(element), delimiter: b',' }
}

fn parsed(kind: &Kind, from: &str) -> Value {
    serde_json::from_str(&text(kind, from)).unwrap()
}

#[test]
fn a_null_and_the_word_null_in_an_array_are_two_things_b003() {
    let value = parsed(&array(Kind::Text), r#"{a,NULL,"NULL","null"}"#);
    assert_eq!(value, tree!(["a", null, "NULL", "null"]));
}

#[test]
fn commas_quotes_braces_and_blanks_do_not_cut_an_element_b004() {
    let value = parsed(&array(Kind::Text), r#"{"a,b","","x\"y","c\\d","{b}","a b"}"#);
    assert_eq!(value, tree!(["a,b", "", "x\"y", "c\\d", "{b}", "a b"]));
}

#[test]
fn bounds_and_dimensions_are_read_b005() {
    let numbers = array(Kind::Integer);
    assert_eq!(text(&numbers, "[0:1]={7,8}"), "[7,8]");
    assert_eq!(text(&numbers, "{{1,2},{3,4}}"), "[[1,2],[3,4]]");
    assert_eq!(text(&numbers, "[0:1][2:3]={{NULL,NULL},{NULL,NULL}}"), "[[null,null],[null,null]]");
    assert_eq!(text(&numbers, "{}"), "[]");
}

#[test]
fn boxes_are_cut_at_semicolons() {
    let boxes = Kind::built_in(1020).unwrap();
    assert_eq!(text(&boxes, "{(1,1),(0,0);(2,2),(1,1)}"), r#"["(1,1),(0,0)","(2,2),(1,1)"]"#);
}

#[test]
fn an_array_that_is_torn_is_an_error_and_no_guess() {
    for torn in [
        "", "{", "{1", "{1,2", "1,2}", "{1}}", "{1}x", "{\"a}", "{\"a\\", "[0:1]", "{1 {2}}", "{\"a\"b}",
        "{1,}", "{,1}", "{1,,2}",
    ] {
        assert!(with(&array(Kind::Text), torn, Forms::default()).is_err(), "{torn}");
    }
}

#[test]
fn numbers_json_has_no_form_for_are_strings_b008() {
    for special in ["NaN", "Infinity", "-Infinity"] {
        for kind in [Kind::Float, Kind::Numeric] {
            let forms = Forms { is_numeric_a_number: true, ..Forms::default() };
            assert_eq!(with(&kind, special, forms).unwrap(), format!("\"{special}\""));
        }
    }
    for number in ["0.1", "1e+300", "-0", "5e-324", "0.30000000000000004"] {
        assert_eq!(text(&Kind::Float, number), number);
    }
}

#[test]
fn infinite_times_keep_their_sign_b009() {
    assert_eq!(text(&Kind::Timestamp, "infinity"), "\"infinity\"");
    assert_eq!(text(&Kind::TimestampTz, "-infinity"), "\"-infinity\"");
    assert_eq!(text(&Kind::Text, "infinity"), "\"infinity\"");
}

#[test]
fn far_times_keep_their_text_b010() {
    assert_eq!(text(&Kind::Text, "0044-03-15 BC"), "\"0044-03-15 BC\"");
    assert_eq!(text(&Kind::Timestamp, "294276-12-31 23:59:59.999999"), "\"294276-12-31T23:59:59.999999\"");
    assert_eq!(text(&Kind::Timestamp, "0044-03-15 01:02:03 BC"), "\"0044-03-15T01:02:03 BC\"");
    assert_eq!(text(&Kind::TimestampTz, "2024-02-29 18:29:59.5+00"), "\"2024-02-29T18:29:59.5Z\"");
}

#[test]
fn digits_of_any_number_are_kept_b012() {
    let large = "1000000000000000000000000000000";
    assert_eq!(text(&Kind::Numeric, large), format!("\"{large}\""));
    let forms = Forms { is_numeric_a_number: true, ..Forms::default() };
    for digits in [large, "183.9382", "0.000000000000000000001", "4200", "1.00"] {
        assert_eq!(with(&Kind::Numeric, digits, forms).unwrap(), digits);
    }
    assert_eq!(text(&Kind::Int8, "9223372036854775807"), "9223372036854775807");
    let forms = Forms { is_int8_a_string: true, ..Forms::default() };
    assert_eq!(with(&Kind::Int8, "9223372036854775807", forms).unwrap(), "\"9223372036854775807\"");
}

#[test]
fn bytes_are_encoded_once_b013() {
    assert_eq!(text(&Kind::Bytea, "\\xdeadbeef"), "\"3q2+7w==\"");
    assert_eq!(text(&Kind::Bytea, "\\x005c"), "\"AFw=\"");
    assert_eq!(text(&Kind::Bytea, "\\x"), "\"\"");
    for wrong in ["\\336\\255", "\\xd", "\\xzz", ""] {
        assert!(with(&Kind::Bytea, wrong, Forms::default()).is_err(), "{wrong}");
    }
    assert_eq!(text(&array(Kind::Bytea), r#"{"\\xdead",NULL}"#), "[\"3q0=\",null]");
}

#[test]
fn composites_in_an_array_keep_their_three_layers_of_quotes_b015() {
    let value = parsed(&array(Kind::Text), r#"{"(1,\"a,\"\"b\",)"}"#);
    assert_eq!(value, tree!([r#"(1,"a,""b",)"#]));
}

#[test]
fn json_is_spliced_byte_by_byte_b032() {
    for raw in [r#"{"a" : 1,"a":1e400}"#, r#""\u0000""#, r#"["\ud800"]"#] {
        let mut out = Vec::new();
        write(&mut out, &Kind::Json, raw.as_bytes(), Forms::default()).unwrap();
        assert_eq!(out, raw.as_bytes());
    }
    assert_eq!(text(&array(Kind::Json), r#"{"{\"a\": 1}",NULL}"#), r#"[{"a": 1},null]"#);
}

#[test]
fn control_characters_and_line_separators_come_back_b032() {
    let all: String = (1..=31_u8).map(char::from).chain(['\u{2028}', '"', '\\', 'é', '𝄞']).collect();
    assert_eq!(parsed(&Kind::Text, &all), Value::String(all));
}

#[test]
fn what_is_no_utf8_is_an_error_and_no_guess() {
    for kind in [Kind::Text, Kind::Json, Kind::Timestamp, array(Kind::Text)] {
        assert!(write(&mut Vec::new(), &kind, b"{\xff}", Forms::default()).is_err(), "{kind:?}");
    }
}

#[test]
fn an_hstore_is_an_object() {
    assert_eq!(
        text(&Kind::Hstore, r#""a"=>"1", "b c"=>NULL, "q\"=>"=>"\\""#),
        r#"{"a":"1","b c":null,"q\"=>":"\\"}"#
    );
    assert_eq!(text(&Kind::Hstore, ""), "{}");
    for torn in ["a", "\"a\"", "\"a\"=>", "\"a\"=>1", "\"a\"=>\"1\",", "\"a\"=>\"1\", "] {
        assert!(with(&Kind::Hstore, torn, Forms::default()).is_err(), "{torn}");
    }
}

/// As PostgreSQL writes an array of texts: everything quoted that could be misread.
fn array_text(elements: &[Option<String>]) -> String {
    let one = |element: &Option<String>| match element {
        None => "NULL".to_owned(),
        Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    };
    format!("{{{}}}", elements.iter().map(one).collect::<Vec<_>>().join(","))
}

proptest! {
    #[test]
    fn every_text_comes_back(from in "\\PC{0,40}|[\u{1}-\u{7f}]{0,40}") {
        prop_assert_eq!(parsed(&Kind::Text, &from), Value::String(from));
    }

    #[test]
    fn every_array_of_texts_comes_back(elements in prop::collection::vec(prop::option::of("[^\0]{0,8}"), 0..6)) {
        prop_assert_eq!(parsed(&array(Kind::Text), &array_text(&elements)), tree!(elements));
    }

    #[test]
    fn every_bytea_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        use base64::Engine;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let encoded = parsed(&Kind::Bytea, &format!("\\x{hex}"));
        let back = base64::engine::general_purpose::STANDARD.decode(encoded.as_str().unwrap()).unwrap();
        prop_assert_eq!(back, bytes);
    }

    #[test]
    fn what_is_taken_for_a_number_is_one_for_serde_too(from in "[-+0-9.eE]{0,8}") {
        let is_number = json::is_number(from.as_bytes());
        let right = serde_json::from_str::<&serde_json::value::RawValue>(&from).is_ok();
        prop_assert_eq!(is_number, right, "{}", from);
    }

    #[test]
    fn no_bytes_make_a_writer_panic(bytes: Vec<u8>, which in 0..12_usize) {
        let kinds = [
            Kind::Bool, Kind::Integer, Kind::Int8, Kind::Float, Kind::Numeric, Kind::Json, Kind::Bytea,
            Kind::Timestamp, Kind::TimestampTz, Kind::Hstore, array(Kind::Text), Kind::Text,
        ];
        let _ = write(&mut Vec::new(), &kinds[which], &bytes, Forms::default());
    }
}
