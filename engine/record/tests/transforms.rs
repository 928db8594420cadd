//! Each transform, told by the tables of a definition, one payload, and what leaves.

use picomq_connector_sdk::{Record, Schema};

use crate::given::{
    PROVENANCE, batch, block, by_tenant, field, json, path, rule, sent, to, transformed, transforms,
};

fn table(kind: &str, lines: &str) -> String {
    format!("[[transforms]]\ntype = \"{kind}\"\n{lines}\n")
}

/// Payload and outcome, side by side.
fn all(tables: &str, cases: &[(&str, &str)]) {
    for (payload, expected) in cases {
        assert_eq!(transformed(tables, payload), *expected, "{payload} through {tables}");
    }
}

#[test]
fn add_fields_writes_what_is_absent() {
    let tables = table(
        "add_fields",
        "fields = [{ key = \"a\", value = { static = 1 } }, { key = \"b.c\", value = { static = { x = [true, \"y\"] } } }]",
    );
    all(
        &tables,
        &[
            ("{}", r#"{"a":1,"b":{"c":{"x":[true,"y"]}}}"#),
            (r#"{"a":null}"#, r#"{"a":null,"b":{"c":{"x":[true,"y"]}}}"#),
            (r#"{ "z" : 1.50 }"#, r#"{ "z" : 1.50,"a":1,"b":{"c":{"x":[true,"y"]}} }"#),
            (r#"{"a":2,"b":{ }}"#, r#"{"a":2,"b":{"c":{"x":[true,"y"]} }}"#),
            (r#"{"a":2,"b":{"c":0}}"#, r#"{"a":2,"b":{"c":0}}"#),
            ("[1]", "[1]"),
            ("7", "7"),
        ],
    );
}

#[test]
fn update_fields_writes_by_its_condition() {
    let tables = table(
        "update_fields",
        "fields = [{ key = \"a\", value = { static = 1 } },\n\
         { key = \"b\", value = { static = 2 }, condition = \"key_exists\" },\n\
         { key = \"c\", value = { static = 3 }, condition = \"key_not_exists\" }]",
    );
    all(
        &tables,
        &[
            ("{}", r#"{"a":1,"c":3}"#),
            (r#"{"c":0,"b":0,"a":0}"#, r#"{"c":0,"b":2,"a":1}"#),
            (r#"{"b": {"deep": [1]} , "x":1}"#, r#"{"b": 2, "x":1,"a":1,"c":3}"#),
            (r#"{"b":null}"#, r#"{"b":2,"a":1,"c":3}"#),
        ],
    );
}

#[test]
fn delete_fields_takes_out_what_is_there() {
    let tables = table("delete_fields", "fields = [\"a\", \"b.c\", \"list.1\", \"not.there\"]");
    all(
        &tables,
        &[
            (r#"{"a":1,"x":2}"#, r#"{"x":2}"#),
            (r#"{"x":1, "a":1, "y":2}"#, r#"{"x":1, "y":2}"#),
            (r#"{"a":1}"#, "{}"),
            (r#"{"b":{"c":1}}"#, r#"{"b":{}}"#),
            (r#"{"b":{"d":1,"c":1}, "list":[1,2,3]}"#, r#"{"b":{"d":1}, "list":[1,3]}"#),
            (r#"{"b":"text","not":5,"list":[0]}"#, r#"{"b":"text","not":5,"list":[0]}"#),
        ],
    );
}

#[test]
fn rename_fields_keeps_the_place_of_a_field_and_moves_between_objects() {
    let tables = table(
        "rename_fields",
        "fields = [{ from = \"a\", to = \"A\" }, { from = \"user.name\", to = \"who\" }, { from = \"x\", to = \"meta.x\" }]",
    );
    all(
        &tables,
        &[
            (r#"{"z":0, "a" : 1,"y":2}"#, r#"{"z":0, "A" : 1,"y":2}"#),
            (r#"{"A":9,"a":1}"#, r#"{"A":1}"#),
            (r#"{"user":{"name":"ann","age":5}}"#, r#"{"user":{"age":5},"who":"ann"}"#),
            (r#"{"x":{"deep":[1]},"meta":{"y":1}}"#, r#"{"meta":{"y":1,"x":{"deep":[1]}}}"#),
            (r#"{"x":1.0}"#, r#"{"meta":{"x":1.0}}"#),
            (r#"{"other":1}"#, r#"{"other":1}"#),
        ],
    );
}

#[test]
fn filter_fields_keeps_what_is_named_or_matches() {
    let keep = table("filter_fields", "keep_fields = [\"id\", \"user.name\", \"list.0\"]");
    all(
        &keep,
        &[
            (r#"{"id":1,"secret":2,"user":{"name":"ann","age":5}}"#, r#"{"id":1,"user":{"name":"ann"}}"#),
            (r#"{"user":{"age":5},"list":[ {"a":1}, 2 ]}"#, r#"{"list":[ {"a":1} ]}"#),
            (r#"{"user":"ann"}"#, "{}"),
        ],
    );
    let matching = table(
        "filter_fields",
        "keep_fields = [\"id\"]\npatterns = [{ key_pattern = { starts_with = \"x_\" }, value_pattern = \"is_number\" },\n\
         { value_pattern = { equals = \"yes\" } }]",
    );
    all(&matching, &[(r#"{"id":0,"x_a":1,"x_b":"1","y":1,"z":"yes"}"#, r#"{"id":0,"x_a":1,"z":"yes"}"#)]);
    let without = table(
        "filter_fields",
        "include_matching = false\nkeep_fields = [\"x_id\"]\npatterns = [{ key_pattern = { regex = \"^x\" } }]",
    );
    all(&without, &[(r#"{"x_id":0,"x_a":1,"y":1}"#, r#"{"x_id":0,"y":1}"#)]);
}

#[test]
fn filter_records_drops_by_rule_and_counts() {
    let keep = table("filter_records", "patterns = [{ field = \"op\", value_pattern = { equals = \"c\" } }]");
    all(
        &keep,
        &[
            (r#"{"op":"c"}"#, r#"{"op":"c"}"#),
            (r#"{"op":"d"}"#, "filtered"),
            ("{}", "filtered"),
            ("[]", "filtered"),
        ],
    );
    let drop = table(
        "filter_records",
        "include_matching = false\npatterns = [{ field = \"a.b\", value_pattern = { greater_than = 5 } }]",
    );
    all(
        &drop,
        &[
            (r#"{"a":{"b":6}}"#, "filtered"),
            (r#"{"a":{"b":5}}"#, r#"{"a":{"b":5}}"#),
            ("{}", "{}"),
            ("3", "3"),
        ],
    );
    let when = table("filter_records", "when = \".op == \\\"d\\\"\"");
    all(&when, &[(r#"{"op":"d"}"#, "filtered"), (r#"{"op":"c"}"#, r#"{"op":"c"}"#)]);
}

#[test]
fn mask_fields_hides_values_and_every_twin_of_them() {
    let redact = table("mask_fields", "fields = [\"ssn\", \"user.mail\"]");
    all(
        &redact,
        &[
            (r#"{"ssn": 12,"user":{"mail":"a@b","x":1}}"#, r#"{"ssn": "***","user":{"mail":"***","x":1}}"#),
            (r#"{"ssn":null,"user":"none"}"#, r#"{"ssn":null,"user":"none"}"#),
            (r#"{"ssn":"1","ssn":"2"}"#, r#"{"ssn":"***"}"#),
            (r#"{"ss\u006e":"1"}"#, r#"{"ss\u006e":"***"}"#),
            (r#"{"ssn":{"no":5}}"#, r#"{"ssn":"***"}"#),
        ],
    );
    let hash = table("mask_fields", "fields = [\"ssn\"]\nmethod = \"hash\"");
    all(
        &hash,
        &[(
            r#"{"ssn":"abc"}"#,
            r#"{"ssn":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}"#,
        )],
    );
}

#[test]
fn a_wrong_envelope_passes_or_fails_as_written_and_is_named_b120() {
    let pass = table("unwrap_envelope", "field = \"data\"");
    all(
        &pass,
        &[
            (r#"{"data": {"id" : 1.0} ,"operation_type":"INSERT"}"#, r#"{"id" : 1.0}"#),
            (r#"{"data":[1, 2]}"#, "[1, 2]"),
            (r#"{"data":null}"#, "null"),
            (r#"{"row":{"id":1}}"#, r#"{"row":{"id":1}}"#),
        ],
    );
    let error = table("unwrap_envelope", "field = \"data.after\"\nif_missing = \"error\"");
    all(
        &error,
        &[
            (r#"{"data":{"after":{"id":1}}}"#, r#"{"id":1}"#),
            (
                r#"{"row":{"id":1}}"#,
                "envelope_missing: record 0: transforms[0]: field \"data.after\", the envelope to unwrap, is not there; \
             correct `field`, or write if_missing = \"pass\"",
            ),
        ],
    );
}

#[test]
fn jq_gives_one_output_or_drops_the_record_or_fails() {
    all(
        &table("jq", "filter = \"{id, total: (.price * .count)}\""),
        &[(r#"{"id":1.50,"price":2,"count":3}"#, r#"{"id":1.50,"total":6}"#)],
    );
    let select = table("jq", "filter = \"select(.keep)\"");
    all(&select, &[(r#"{"keep":true}"#, r#"{"keep":true}"#), (r#"{"keep":false}"#, "filtered")]);
    for (filter, payload, reason) in [
        (".[]", "[1,2]", "it has more than one output; wrap it in [ ] or first( )"),
        (".a + 1", r#"{"a":"x"}"#, "cannot"),
        ("0/0", "1", "its output is no JSON"),
        ("error(\\\"no good\\\")", "1", "no good"),
        ("[repeat(1)]", "1", "goes round too often"),
        ("[range(1e9)] | length", "1", "goes round too often"),
        ("def deep: reduce range(1e6) as $i (0; [.]); deep", "1", "goes round too often"),
        ("reduce range(9999) as $i (0; [.])", "1", "its output nests deeper than 128 levels"),
        ("fromjson", "\"[[[[\"", "fromjson"),
    ] {
        let outcome = transformed(&table("jq", &format!("filter = \"{filter}\"")), payload);
        assert!(outcome.starts_with("jq_failed: record 0: transforms[0]: the expression"), "{outcome}");
        assert!(outcome.contains(reason), "{outcome}");
    }
}

#[test]
fn transforms_run_in_the_order_of_the_file_in_both_forms() {
    let list = format!(
        "{}{}{}",
        table("add_fields", "fields = [{ key = \"a\", value = { static = 1 } }]"),
        table("rename_fields", "fields = [{ from = \"a\", to = \"b\" }]"),
        table("jq", "filter = \".c = .b\"")
    );
    let named = "[transforms.rename_fields]\nfields = [{ from = \"a\", to = \"b\" }]\n\
                 [transforms.add_fields]\nfields = [{ key = \"a\", value = { static = 1 } }]\n\
                 [transforms.delete_fields]\nenabled = false\nfields = [\"a\"]\n";

    assert_eq!(transformed(&list, "{}"), r#"{"b":1,"c":1}"#);
    assert_eq!(transformed(named, r#"{"a":0}"#), r#"{"b":0,"a":1}"#);
}

#[test]
fn later_transforms_see_what_earlier_ones_wrote() {
    let tables = format!(
        "{}{}{}{}",
        table("add_fields", "fields = [{ key = \"m\", value = { static = { a = { b = 1 } } } }]"),
        table("update_fields", "fields = [{ key = \"m.a.c\", value = { static = 2 } }]"),
        table("unwrap_envelope", "field = \"m\""),
        table("rename_fields", "fields = [{ from = \"a.b\", to = \"b\" }]"),
    );

    assert_eq!(transformed(&tables, r#"{"x":1}"#), r#"{"a":{"c":2},"b":1}"#);
}

#[test]
fn a_transform_is_limited_by_its_when() {
    let add = |when: &str| {
        table(
            "add_fields",
            &format!("when = '{when}'\nfields = [{{ key = \"n\", value = {{ static = 1 }} }}]"),
        )
    };
    for when in [r#".op == "DELETE""#, r#"(.op | ascii_downcase) == "delete""#] {
        all(
            &add(when),
            &[
                (r#"{"op":"DELETE"}"#, r#"{"op":"DELETE","n":1}"#),
                (r#"{"op":"INSERT"}"#, r#"{"op":"INSERT"}"#),
            ],
        );
    }
    let failing = transformed(&add(".op"), r#"{"op":"x"}"#);
    assert_eq!(
        failing,
        "when_failed: record 0: transforms[0]: the expression \".op\" fails: it gives \"x\", where true or false is needed"
    );
    // It is asked of what the transforms before it have made.
    let tables = format!(
        "{}{}",
        table("rename_fields", "fields = [{ from = \"o\", to = \"op\" }]"),
        add(r#".op == "x""#)
    );
    assert_eq!(transformed(&tables, r#"{"o":"x"}"#), r#"{"op":"x","n":1}"#);
}

const ODD_NUMBERS: &str =
    r#"{"a":9007199254740991.0,"b":117.63331139400017,"c":18446744073709551616,"d":1e400,"e":-0.0}"#;

#[test]
fn untouched_numbers_keep_their_digits_b117() {
    let add = table("add_fields", "fields = [{ key = \"n\", value = { static = 1 } }]");
    let jq = table("jq", "filter = \".n = 1\"");
    let expected = format!("{},\"n\":1}}", ODD_NUMBERS.strip_suffix('}').unwrap());

    assert_eq!(transformed(&add, ODD_NUMBERS), expected);
    assert_eq!(transformed(&jq, ODD_NUMBERS), expected);
    let nested = format!("{{\"row\":{ODD_NUMBERS},\"x\":0}}");
    assert_eq!(transformed(&table("unwrap_envelope", "field = \"row\""), &nested), ODD_NUMBERS);
}

/// One of each type, with what it leaves of `{"a": 5}` when it asks for `a.b`.
fn one_of_each() -> Vec<(String, Result<&'static str, &'static str>)> {
    let blocked = Err("field_not_writable");
    let same = Ok(r#"{"a":5}"#);
    vec![
        (table("add_fields", "fields = [{ key = \"a.b\", value = { static = 1 } }]"), blocked),
        (table("update_fields", "fields = [{ key = \"a.b\", value = { static = 1 } }]"), blocked),
        (
            table(
                "update_fields",
                "fields = [{ key = \"a.b\", value = { static = 1 }, condition = \"key_exists\" }]",
            ),
            same,
        ),
        (table("delete_fields", "fields = [\"a.b\"]"), same),
        (table("rename_fields", "fields = [{ from = \"a.b\", to = \"c\" }]"), same),
        (table("rename_fields", "fields = [{ from = \"a\", to = \"z.c\" }]"), Ok(r#"{"z":{"c":5}}"#)),
        (table("filter_fields", "keep_fields = [\"a.b\"]"), Ok("{}")),
        (
            table("filter_records", "patterns = [{ field = \"a.b\", value_pattern = \"is_null\" }]"),
            Ok("filtered"),
        ),
        (table("mask_fields", "fields = [\"a.b\"]"), same),
        (table("unwrap_envelope", "field = \"a.b\""), same),
        (table("jq", "filter = \".\""), same),
    ]
}

#[test]
fn a_path_through_a_scalar_has_one_outcome_for_each_transform_b119() {
    for (tables, expected) in one_of_each() {
        let outcome = transformed(&tables, r#"{"a":5}"#);
        match expected {
            Ok(payload) => assert_eq!(outcome, payload, "{tables}"),
            Err(code) => {
                assert!(outcome.starts_with(code), "{tables}: {outcome}");
                assert!(
                    outcome.contains("field \"a.b\" cannot be written: \"a\" holds no object"),
                    "{outcome}"
                );
            }
        }
    }
}

#[test]
fn a_tombstone_passes_every_transform_b119_b092() {
    for (tables, _) in one_of_each() {
        let guarded =
            tables.replacen("\n", "\nwhen = \"error\"\n", 2).replacen("\nwhen = \"error\"\n", "\n", 1);
        for tables in [tables, guarded] {
            let mut path = path(&[to("t")]).with_transforms(&transforms(&tables)).unwrap();
            let deleted = Record { key: Some(b"k".to_vec()), ..Record::default() };
            let routed = path.route(batch(Schema::Json, vec![deleted]), PROVENANCE).unwrap();
            let sent = sent(&routed).remove(0);
            assert_eq!((sent.payload, sent.key), (None, Some(b"k".to_vec())), "{tables}");
        }
    }
}

#[test]
fn an_empty_payload_is_no_json_and_no_tombstone_b092_b119() {
    for (tables, _) in one_of_each() {
        let outcome = transformed(&tables, "");
        assert!(outcome.starts_with("payload_not_json: record 0"), "{tables}: {outcome}");
    }
}

#[test]
fn what_is_no_object_is_left_as_it_is_b119() {
    for (tables, _) in one_of_each() {
        for payload in ["5", "\"text\"", "null", "true", " [1, {\"a\": 5}] "] {
            let outcome = transformed(&tables, payload);
            let is_filter = tables.contains("filter_records");
            let expected = if is_filter { "filtered".to_owned() } else { payload.to_owned() };
            // jq writes every value anew.
            let expected = if tables.contains("\"jq\"") { expected.replace(' ', "") } else { expected };
            assert_eq!(outcome, expected, "{tables}");
        }
    }
}

#[test]
fn a_field_that_a_transform_took_away_is_not_there_for_the_rule_b077() {
    let delete = transforms(&table("delete_fields", "fields = [\"tenant\"]"));
    let mut path = path(&[by_tenant()]).with_transforms(&delete).unwrap();

    let failure = path.route(json(&[r#"{"tenant":"acme"}"#]), PROVENANCE).unwrap_err();

    assert_eq!(failure.code, "unroutable_record");
    assert!(
        failure.message.contains("field \"tenant\" is not there after the transforms"),
        "{}",
        failure.message
    );
}

#[test]
fn rules_keys_and_headers_see_the_record_after_its_transforms() {
    let rename = transforms(&table("rename_fields", "fields = [{ from = \"t\", to = \"tenant\" }]"));
    let mut block = block(rule(field("tenant"), "orders.{value}"));
    block.record_key = Some(crate::given::template("{field:tenant}"));
    block.headers = vec![("h".to_owned(), crate::given::template("{field:tenant}"))];
    let mut path = path(&[block]).with_transforms(&rename).unwrap();

    let routed = path.route(json(&[r#"{"t":"acme"}"#, r#"{"t":"zen"}"#]), PROVENANCE).unwrap();

    let sent = sent(&routed);
    assert_eq!((&*sent[0].topic, &sent[0].key), ("orders.acme", &Some(b"acme".to_vec())));
    assert_eq!(sent[1].headers, [("h".to_owned(), b"zen".to_vec())]);
    assert_eq!(sent[1].payload.as_deref(), Some(&br#"{"tenant":"zen"}"#[..]));
}

#[test]
fn a_changed_payload_is_counted_as_what_it_is_by_then() {
    let cut = transforms(&table("filter_fields", "keep_fields = [\"a\"]"));
    let long = format!(r#"{{"a":1,"b":"{}"}}"#, "x".repeat(2_000_000));
    let mut whole = path(&[to("t")]);
    let mut short = path(&[to("t"), to("u")]).with_transforms(&cut).unwrap();

    let routed = short.route(json(&[&long]), PROVENANCE).unwrap();

    assert_eq!(whole.route(json(&[&long]), PROVENANCE).unwrap_err().code, "record_too_large");
    assert_eq!((routed.bytes(), routed.outgoing()), (2 * r#"{"a":1}"#.len() as u64, 2));
}

#[test]
fn a_payload_of_another_schema_is_refused_by_a_transform_that_reads_json() {
    let delete = transforms(&table("delete_fields", "fields = [\"a\"]"));
    let mut raw = to("t");
    raw.schema = Schema::Raw;
    let mut path = path(&[raw]).with_transforms(&delete).unwrap();

    let failure = path.route(batch(Schema::Raw, vec![Record::new("{}")]), PROVENANCE).unwrap_err();
    let text = path.route(batch(Schema::Text, vec![Record::new(r#"{"a":1}"#)]), PROVENANCE).unwrap();

    assert_eq!((failure.code, failure.stage), ("schema_pair_refused", None));
    assert_eq!(
        failure.message,
        "transforms[0] reads JSON and gets raw; take it out, or put a convert transform before it"
    );
    assert_eq!(sent(&text)[0].payload.as_deref(), Some(&b"{}"[..]));
}

#[test]
fn a_value_nested_by_an_expression_for_each_element_reaches_no_stack() {
    let linked = table("jq", "filter = \"reduce .[] as $x (null; {next: ., $x}) | .x\"");
    let elements = format!("[{}7]", "0,".repeat(524_000));

    assert_eq!(transformed(&linked, &elements), "7");
}

#[test]
fn deep_nesting_reaches_no_stack_b119() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = format!(r#"{{"a":1,"deep":{deep}}}"#);
    let in_text = format!(r#"{{"text":"{}"}}"#, "[".repeat(100_000));

    assert_eq!(
        transformed(&table("delete_fields", "fields = [\"a\"]"), &nested),
        format!(r#"{{"deep":{deep}}}"#)
    );
    assert!(transformed(&table("jq", "filter = \".\""), &nested).contains("nests deeper than 128"));
    assert_eq!(transformed(&table("jq", "filter = \".\""), &in_text), in_text);
    assert!(
        transformed(&table("jq", "filter = \".text | fromjson\""), &in_text).contains("at most 128 levels")
    );
}
