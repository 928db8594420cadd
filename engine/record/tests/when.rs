//! The `when` of a block: which records it takes.

use pico_config::{Expression, Schema, TopicBlock};
use picomq_connector_sdk::Record;

use crate::given::{PROVENANCE, batch, json, path, sent, to, topics, transforms};

fn when(topic: &str, expression: &str) -> TopicBlock {
    TopicBlock { when: Some(Expression::parse(expression).unwrap()), ..to(topic) }
}

/// Whether a block with this condition takes the payload, or why that cannot be said.
fn takes(expression: &str, payload: &str) -> Result<bool, String> {
    let routed = path(&[when("t", expression)]).route(json(&[payload]), PROVENANCE);
    routed
        .map(|routed| routed.outgoing() == 1)
        .map_err(|failure| format!("{}: {}", failure.code, failure.message))
}

#[test]
fn each_block_takes_the_records_for_which_it_is_true() {
    let blocks = [when("gone", r#".op == "d""#), when("here", r#".op != "d""#), to("all")];
    let mut path = path(&blocks);

    let routed = path.route(json(&[r#"{"op":"c"}"#, r#"{"op":"d"}"#, r#"{"op":"u"}"#]), PROVENANCE).unwrap();

    assert_eq!(topics(&routed), ["here", "here", "all", "all", "all", "gone"]);
    assert_eq!((routed.outgoing(), routed.filtered()), (6, 0));
}

#[test]
fn a_record_that_no_block_takes_is_filtered() {
    let routed = path(&[when("t", ".keep"), when("u", ".keep and .other")])
        .route(json(&[r#"{"keep":true,"other":true}"#, r#"{"keep":false}"#]), PROVENANCE)
        .unwrap();

    assert_eq!((routed.outgoing(), routed.filtered()), (2, 1));
}

#[test]
fn a_plain_comparison_and_the_same_question_to_a_tree_agree() {
    let payloads = [
        r#"{"a":{"b":"x"}}"#,
        r#"{"a":{"b":"y"}}"#,
        r#"{"a":{"b":"\u0078"}}"#,
        r#"{"a":{"b":1}}"#,
        r#"{"a":{"b":null}}"#,
        r#"{"a":{"b":["x"]}}"#,
        r#"{"a":{}}"#,
        r#"{"a":null}"#,
        r#"{"a":"x"}"#,
        r#"{"a":[1]}"#,
        "{}",
        "null",
        "\"x\"",
        r#"{"a":{"b":"y","b":"x"}}"#,
        r#"{"a":{"b":"x"},"a":{"b":"y"}}"#,
        r#"{"a":{"b":true}}"#,
        "[]",
    ];
    let mut errors = 0;
    for payload in payloads {
        for operator in ["==", "!="] {
            let plain = takes(&format!(".a.b {operator} \"x\""), payload);
            let tree = takes(&format!("(.a.b) {operator} (\"x\" | .)"), payload);
            assert_eq!(plain.clone().ok(), tree.ok(), "{payload} {operator}");
            errors += usize::from(plain.is_err());
            let limited = transforms(&format!(
                "[[transforms]]\ntype = \"filter_records\"\nwhen = '.a.b {operator} \"x\"'\n"
            ));
            let routed =
                path(&[to("t")]).with_transforms(&limited).unwrap().route(json(&[payload]), PROVENANCE);
            assert_eq!(plain.ok(), routed.ok().map(|routed| routed.filtered() == 1), "{payload} {operator}");
        }
    }
    assert_eq!(errors, 8, "jq cannot take a member of a string or array");
}

#[test]
fn what_is_neither_true_nor_false_is_an_error_that_names_it() {
    let expected = "when_failed: record 0: when of topics[0]: the expression \".a\" fails: it gives 5, where true or \
                    false is needed";
    assert_eq!(takes(".a", r#"{"a":5}"#), Err(expected.to_owned()));
    for expression in [".a", ".[]", "empty", "true, false", "error"] {
        assert!(
            takes(expression, r#"{"a":5,"b":6}"#).unwrap_err().starts_with("when_failed"),
            "{expression}"
        );
    }
}

#[test]
fn a_tombstone_is_null_to_a_block() {
    let mut path =
        path(&[when("gone", ". == null"), when("here", r#".op == "c""#), when("all", r#".op != "d""#)]);

    let routed = path.route(batch(Schema::Json, vec![Record::default()]), PROVENANCE).unwrap();

    assert_eq!(topics(&routed), ["gone", "all"]);
    assert!(sent(&routed).iter().all(|sent| sent.payload.is_none()));
}

#[test]
fn it_is_asked_after_the_transforms() {
    let rename =
        transforms("[[transforms]]\ntype = \"rename_fields\"\nfields = [{ from = \"o\", to = \"op\" }]\n");
    for expression in [r#".op == "d""#, r#"(.op) == "d""#] {
        let mut path = path(&[when("t", expression)]).with_transforms(&rename).unwrap();
        let routed = path.route(json(&[r#"{"o":"d"}"#, r#"{"op":"c"}"#]), PROVENANCE).unwrap();
        assert_eq!((routed.outgoing(), routed.filtered()), (1, 1));
    }
}

#[test]
fn it_reads_json_alone() {
    let mut raw = when("t", ". == 1");
    raw.schema = Schema::Raw;
    let mut path = path(&[raw]);

    let failure = path.route(batch(Schema::Raw, vec![Record::new("1")]), PROVENANCE).unwrap_err();
    let broken = path.route(json(&["{"]), PROVENANCE).unwrap_err();

    assert_eq!(failure.message, "when of topics[0] reads JSON and the payloads are raw; take it out");
    assert_eq!(broken.code, "payload_not_json");
    assert_eq!(path.route(json(&["1"]), PROVENANCE).unwrap().outgoing(), 1);
}
