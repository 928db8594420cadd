//! `[[tests]]`: what they say, and what is wrong with them.

use pico_config::{Expectation, ExpectedValue, Schema};

use crate::given::{good, refused, source};

fn with_test(test: &str) -> String {
    source("", &format!("[[tests]]\n{test}"))
}

#[test]
fn a_test_says_what_goes_in_and_what_comes_out() {
    let text = with_test(
        r#"name = "an order goes to its tenant"
input = { payload = '{"tenant": "acme"}', key = "k", headers = { a = "b" }, timestamp = 7, id = "i" }
[[tests.expect]]
topic = "orders.acme"
block = 0
key = "k"
headers = { a = "b" }
without_headers = ["secret"]
value = '{"tenant": "acme", "at": 0}'
ignore = ["at"]
"#,
    );

    let test = good(&text).tests.remove(0);

    assert_eq!(
        (test.name.as_str(), test.location.line()),
        ("an order goes to its tenant", Some(7)),
        "{test:?}"
    );
    assert_eq!(test.input.schema, Schema::Json);
    assert_eq!(test.input.payload.as_deref(), Some(&br#"{"tenant": "acme"}"#[..]));
    assert_eq!((test.input.key, test.input.timestamp_ms), (Some(b"k".to_vec()), Some(7)));
    assert_eq!((test.input.headers, test.input.id), (vec![("a".into(), b"b".to_vec())], Some("i".into())));
    let Expectation::Sent(records) = test.expectation else { panic!("{:?}", test.expectation) };
    assert_eq!((records[0].topic.as_str(), records[0].block), ("orders.acme", Some(0)));
    assert_eq!(records[0].key, Some(Some("k".to_owned())));
    assert_eq!(records[0].without_headers, ["secret"]);
    assert!(matches!(&records[0].value, ExpectedValue::Json { ignore, .. } if ignore.len() == 1));
}

#[test]
fn bytes_come_as_text_or_in_base64_and_a_tombstone_is_no_empty_payload() {
    let payload = |input: &str| {
        let text = with_test(&format!("input = {{ {input} }}\nfiltered = true\n"));
        good(&text).tests.remove(0).input.payload
    };
    assert_eq!(payload("payload_base64 = \"AP8=\""), Some(vec![0, 0xff]));
    assert_eq!(payload("tombstone = true"), None);
    assert_eq!(payload(""), Some(Vec::new()));
    assert_eq!(payload("payload = 'a$${b}'"), Some(b"a${b}".to_vec()));
}

#[test]
fn a_changed_test_is_no_changed_source() {
    let filtered = with_test("input = {}\nfiltered = true\n");
    let fails = with_test("input = {}\nerror = \"payload_not_json\"\n");
    assert_eq!(good(&filtered), good(&fails));
    assert_ne!(good(&filtered).tests, good(&fails).tests);
}

#[test]
fn what_a_test_cannot_mean_is_refused_at_its_line() {
    let test = r#"name = "nothing said"
input = { payload = "x", payload_base64 = "eA==" }
[[tests]]
input = { tombstone = true, payload = "x" }
filtered = true
error = "unroutable_record"
[[tests]]
input = { payload_base64 = "§" }
[[tests.expect]]
topic = "no topic"
block = 1
key = "k"
no_key = true
value = "{"
[[tests.expect]]
topic = "t"
value = "{}"
tombstone = true
ignore = ["a..b"]
"#;
    insta::assert_snapshot!(refused(&with_test(test)), @r#"
    config.no_expectation 7:1 tests[0]: the test does not say what should become of its record (write [[tests.expect]] with a topic, or filtered = true, or error = "CODE")
    config.too_many_fields 9:43 tests[0].input.payload_base64: `payload` and `payload_base64` say the same thing twice (take one of them out)
    config.too_many_fields 10:1 tests[1]: of `expect`, `filtered` and `error` a test has one (make it two tests)
    config.too_many_fields 11:9 tests[1].input: `tombstone` and a payload: a tombstone has none (take one of them out)
    config.bad_base64 15:28 tests[2].input.payload_base64: `payload_base64` is not base64: Invalid symbol 194, offset 0.
    config.bad_topic 17:12 tests[2].expect[0].topic: a topic name cannot contain ' ' (topic names are made of A-Z a-z 0-9 . _ -)
    config.out_of_range 18:9 tests[2].expect[0].block: `block` is 1, allowed is 0 to 0 (the first of the [[topics]] is 0)
    config.too_many_fields 19:7 tests[2].expect[0].key: `key` and `no_key` cannot both hold (take one of them out)
    config.bad_json 21:9 tests[2].expect[0].value: `value` is not JSON: EOF while parsing an object at line 1 column 1 (a value that is no JSON is compared to the byte: value_text = "…")
    config.too_many_fields 22:1 tests[2].expect[1]: the value is said in more than one way (write one of `value`, `value_text`, `value_base64` and `tombstone`)
    config.bad_path 26:14 tests[2].expect[1].ignore[0]: the path "a..b" has an empty part (write the names of fields with one dot between them)
    "#);
}

#[test]
fn paths_to_ignore_without_a_value_to_compare_are_warned_about() {
    let text =
        with_test("input = {}\n[[tests.expect]]\ntopic = \"t\"\nvalue_text = \"x\"\nignore = [\"a\"]\n");
    let (definition, findings) = crate::given::check(&text);
    assert!(definition.is_some());
    assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["config.no_effect"]);
}
