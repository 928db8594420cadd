//! `[[transforms]]`: what is read, and what is refused where.

use pico_config::{
    Action, Computed, Condition, Env, Expression, FieldPath, FieldValue, IfMissing, KeyPattern, MaskMethod,
    Secret, Transform, ValuePattern, ValueType,
};
use serde_json::json;

use crate::given::{check_with, code, good, lines, refused, source};

fn with(tables: &str) -> String {
    format!("{}\n{tables}\n", source("", ""))
}

fn read(tables: &str) -> Vec<Transform> {
    good(&with(tables)).transforms
}

fn one(kind: &str, lines: &str) -> Action {
    read(&format!("[[transforms]]\ntype = \"{kind}\"\n{lines}")).remove(0).action
}

fn refusal(kind: &str, lines: &str) -> String {
    refused(&with(&format!("[[transforms]]\ntype = \"{kind}\"\n{lines}")))
}

fn path(text: &str) -> FieldPath {
    FieldPath::parse(text).unwrap()
}

#[test]
fn both_forms_keep_the_order_of_the_file() {
    let list = read(
        "[[transforms]]\ntype = \"jq\"\nfilter = \".\"\n[[transforms]]\ntype = \"add_fields\"\nenabled = false\n\
                     when = \".a\"\nfields = [{ key = \"a\", value = { static = 1 } }]",
    );
    let table = read(
        "[transforms.update_fields]\nfields = [{ key = \"a\", value = { static = 1 } }]\n\
                      [transforms.delete_fields]\nfields = [\"a\"]\n[transforms.add_fields]\n\
                      fields = [{ key = \"b\", value = { static = 1 } }]",
    );

    let named = |transforms: &[Transform]| -> Vec<String> {
        transforms
            .iter()
            .map(|one| format!("{} {} {}", one.place, one.action.type_name(), one.is_enabled))
            .collect()
    };
    assert_eq!(named(&list), ["transforms[0] jq true", "transforms[1] add_fields false"]);
    assert_eq!(list[1].when, Some(Expression::parse(".a").unwrap()));
    assert_eq!(
        named(&table),
        [
            "transforms.update_fields update_fields true",
            "transforms.delete_fields delete_fields true",
            "transforms.add_fields add_fields true",
        ]
    );
}

#[test]
fn every_form_of_a_value_is_read() {
    let value =
        |text: &str| match one("add_fields", &format!("fields = [{{ key = \"a.b\", value = {text} }}]")) {
            Action::AddFields(mut fields) => {
                assert_eq!(fields[0].path, path("a.b"));
                fields.remove(0).value
            }
            other => panic!("{other:?}"),
        };

    for (text, expected) in [
        ("\"x\"", json!("x")),
        ("5", json!(5)),
        ("1.50", json!(1.5)),
        ("true", json!(true)),
        ("[1, \"a\"]", json!([1, "a"])),
        ("{ b = { c = 1 }, a = [] }", json!({ "b": { "c": 1 }, "a": [] })),
        ("2024-01-02T03:04:05Z", json!("2024-01-02T03:04:05Z")),
    ] {
        assert_eq!(value(&format!("{{ static = {text} }}")), FieldValue::Static(expected));
    }
    for (word, computed) in [
        ("date_time", Computed::DateTime),
        ("timestamp_seconds", Computed::TimestampSeconds),
        ("timestamp_millis", Computed::TimestampMillis),
        ("timestamp_micros", Computed::TimestampMicros),
        ("timestamp_nanos", Computed::TimestampNanos),
        ("uuid_v4", Computed::UuidV4),
        ("uuid_v7", Computed::UuidV7),
    ] {
        assert_eq!(value(&format!("{{ computed = \"{word}\" }}")), FieldValue::Computed(computed));
    }
}

#[test]
fn every_condition_of_an_update_is_read() {
    let conditions = one(
        "update_fields",
        "fields = [{ key = \"a\", value = { static = 1 } }, { key = \"b\", value = { static = 1 }, condition = \"always\" },\n\
         { key = \"c\", value = { static = 1 }, condition = \"key_exists\" },\n\
         { key = \"d\", value = { static = 1 }, condition = \"key_not_exists\" }]",
    );
    let Action::UpdateFields(updates) = conditions else { panic!("{conditions:?}") };
    let conditions: Vec<Condition> = updates.iter().map(|update| update.condition).collect();
    assert_eq!(
        conditions,
        [Condition::Always, Condition::Always, Condition::KeyExists, Condition::KeyNotExists]
    );
}

#[test]
fn every_pattern_is_read_in_both_spellings() {
    let pattern = |text: &str| match one("filter_fields", &format!("patterns = [{text}]")) {
        Action::FilterFields(mut filter) => filter.patterns.remove(0),
        other => panic!("{other:?}"),
    };
    let key = |text: &str| pattern(&format!("{{ key_pattern = {text} }}")).key.unwrap();
    let value = |text: &str| pattern(&format!("{{ value_pattern = {text} }}")).value.unwrap();
    let number = |number: serde_json::Value| number.as_number().unwrap().clone();
    let x = || "x".to_owned();

    assert_eq!(key("{ exact = \"x\" }"), KeyPattern::Exact(x()));
    assert_eq!(key("{ starts_with = \"x\" }"), KeyPattern::StartsWith(x()));
    assert_eq!(key("{ ends_with = \"x\" }"), KeyPattern::EndsWith(x()));
    assert_eq!(key("{ contains = \"x\" }"), KeyPattern::Contains(x()));
    assert!(matches!(key("{ regex = \"^x\" }"), KeyPattern::Regex(_)));

    assert_eq!(value("{ equals = [1] }"), ValuePattern::Equals(json!([1])));
    assert_eq!(value("{ contains = \"x\" }"), ValuePattern::Contains(x()));
    assert!(matches!(value("{ regex = \"^x\" }"), ValuePattern::Regex(_)));
    assert_eq!(value("{ greater_than = 1.5 }"), ValuePattern::GreaterThan(number(json!(1.5))));
    assert_eq!(value("{ less_than = 3 }"), ValuePattern::LessThan(number(json!(3))));
    assert_eq!(value("{ between = [1, 2.5] }"), ValuePattern::Between(number(json!(1)), number(json!(2.5))));
    for (word, expected) in [
        ("is_null", ValuePattern::Is(ValueType::Null)),
        ("is_not_null", ValuePattern::IsNotNull),
        ("is_string", ValuePattern::Is(ValueType::String)),
        ("is_number", ValuePattern::Is(ValueType::Number)),
        ("is_boolean", ValuePattern::Is(ValueType::Boolean)),
        ("is_object", ValuePattern::Is(ValueType::Object)),
        ("is_array", ValuePattern::Is(ValueType::Array)),
    ] {
        assert_eq!(value(&format!("\"{word}\"")), expected);
        assert_eq!(value(&format!("{{ {word} = true }}")), expected);
    }
}

#[test]
fn the_other_types_are_read_with_their_defaults() {
    let Action::RenameFields(renames) = one("rename_fields", "fields = [{ from = \"a\", to = \"b.c\" }]")
    else {
        panic!()
    };
    assert_eq!((&renames[0].from, &renames[0].to), (&path("a"), &path("b.c")));
    let Action::MaskFields(mask) = one("mask_fields", "fields = [\"a\", \"b.c\"]") else { panic!() };
    assert_eq!(
        (mask.fields, mask.method),
        (vec![path("a"), path("b.c")], MaskMethod::Redact("***".to_owned()))
    );
    let Action::MaskFields(mask) =
        one("mask_fields", "fields = [\"a\"]\nmethod = \"hash\"\nhash_key = \"k\"")
    else {
        panic!()
    };
    assert_eq!(mask.method, MaskMethod::Hash(Some(Secret::new("k".to_owned()))));
    let Action::UnwrapEnvelope(envelope) = one("unwrap_envelope", "field = \"data\"") else { panic!() };
    assert_eq!((envelope.field, envelope.if_missing), (path("data"), IfMissing::Pass));
    let Action::FilterFields(filter) = one("filter_fields", "keep_fields = [\"a\"]") else { panic!() };
    assert!(filter.include_matching && filter.patterns.is_empty());
    let Action::FilterRecords(filter) = one("filter_records", "when = \".a\"") else { panic!() };
    assert!(filter.include_matching && filter.patterns.is_empty());
    assert_eq!(one("jq", "filter = \".a\""), Action::Jq(Expression::parse(".a").unwrap()));
}

#[test]
fn transforms_that_are_none_are_refused_with_place_and_way() {
    insta::assert_snapshot!(refused(&with("[[transforms]]\nfields = [\"a\"]")), @"config.missing_field 9:1 transforms[0]: `type` is missing (write one of `add_fields`, `update_fields`, `delete_fields`, `rename_fields`, `filter_fields`, `filter_records`, `mask_fields`, `unwrap_envelope`, `jq`, `avro_convert`, `proto_convert`, `flatbuffer_convert`, `flat_buffer_convert`)");
    insta::assert_snapshot!(refusal("delete_field", "fields = [\"a\"]"), @"config.unknown_value 10:8 transforms[0].type: there is no type `delete_field` (did you mean `delete_fields`?)");
    insta::assert_snapshot!(refusal("lower_case", ""), @"config.unknown_value 10:8 transforms[0].type: there is no type `lower_case` (known here: add_fields, update_fields, delete_fields, rename_fields, filter_fields, filter_records, mask_fields, unwrap_envelope, jq, avro_convert, proto_convert, flatbuffer_convert, flat_buffer_convert)");
    insta::assert_snapshot!(refusal("avro_convert", ""), @r#"config.missing_field 9:1 transforms[0]: `schema_path` is missing: the transform needs the schema of what it converts (write schema_path = "…")"#);
    insta::assert_snapshot!(refusal("delete_fields", ""), @"config.missing_field 9:1 transforms[0]: `fields` is missing (`fields`: Dotted paths of the fields to take out)");
    insta::assert_snapshot!(refusal("delete_fields", "fields = []"), @"config.no_effect 11:10 transforms[0].fields: `fields` is empty, so the transform would do nothing (name a field, or set enabled = false)");
    insta::assert_snapshot!(refusal("delete_fields", "fields = [\"a..b\", \"\"]"), @r#"
    config.bad_path 11:14 transforms[0].fields[0]: the path "a..b" has an empty part (write the names of fields with one dot between them)
    config.bad_path 11:19 transforms[0].fields[1]: the path "" has an empty part (write the names of fields with one dot between them)
    "#);
    insta::assert_snapshot!(refusal("delete_fields", "fields = [\"a\"]\ncondition = \"always\"\nenable = true"), @r#"
    config.unknown_field 12:1 transforms[0].condition: unknown field `condition` (`when` is a jq expression)
    config.unknown_field 13:1 transforms[0].enable: unknown field `enable` (did you mean `enabled`?)
    "#);
    insta::assert_snapshot!(refused(&with("[transforms.delete_fields]\ntype = \"add_fields\"\nfields = [\"a\"]")), @"config.unknown_value 10:8 transforms.delete_fields.type: the table is named `delete_fields` (take the line out: the name of the table says it)");
    insta::assert_snapshot!(refused(&with("[transforms]\ndelete_fields = 5\nnothing = {}")), @r#"
    config.wrong_type 10:17 transforms.delete_fields: `transforms.delete_fields` must be a table, not an integer
    config.unknown_value 11:1 transforms.nothing: there is no type `nothing` (known here: add_fields, update_fields, delete_fields, rename_fields, filter_fields, filter_records, mask_fields, unwrap_envelope, jq, avro_convert, proto_convert, flatbuffer_convert, flat_buffer_convert)
    "#);
    insta::assert_snapshot!(refused(&source("transforms = 5", "")), @"config.wrong_type 4:14 transforms: `transforms` must be a list of tables, or a table of them, not an integer");
}

#[test]
fn values_and_patterns_that_are_none_are_refused_with_place_and_way() {
    insta::assert_snapshot!(refusal("add_fields", "fields = [{ key = \"a\", value = 1 }, { key = \"a\", static = 1 }]"), @r#"
    config.wrong_type 11:32 transforms[0].fields[0].value: `value` must be a table, not an integer (write value = { static = … })
    config.missing_field 11:37 transforms[0].fields[1]: `value` is missing (`value`: What is written)
    config.unknown_field 11:50 transforms[0].fields[1].static: unknown field `static` (write value = { static = … })
    "#);
    insta::assert_snapshot!(refusal("add_fields", "fields = [{ key = \"a\", value = { computed = \"now\" } }, { key = \"b\", value = {} }]"), @r#"
    config.unknown_value 11:45 transforms[0].fields[0].value.computed: `computed` must be one of `date_time`, `timestamp_seconds`, `timestamp_millis`, `timestamp_micros`, `timestamp_nanos`, `uuid_v4`, `uuid_v7`, not `now`
    config.missing_field 11:77 transforms[0].fields[1].value: `value` says nothing (write one of `static`, `computed`)
    "#);
    insta::assert_snapshot!(refusal("add_fields", "fields = [{ key = \"a\", value = { static = 1, computed = \"uuid_v4\" } }, { key = \"b\", value = { static = nan } }]"), @r#"
    config.conflict 11:57 transforms[0].fields[0].value.computed: `value` says two things: `static`, `computed` (write one of them)
    config.bad_number 11:104 transforms[0].fields[1].value.static: `static` cannot be handed on: JSON has no such number
    "#);
    insta::assert_snapshot!(refusal("rename_fields", "fields = [{ from = \"a\", to = \"a\" }, { from = \"a\", to = \"a.b\" }]"), @r#"
    config.conflict 11:30 transforms[0].fields[0].to: a field is renamed to itself (rename it to a path of its own)
    config.conflict 11:56 transforms[0].fields[1].to: one of the two paths is inside the other (rename it to a path of its own)
    "#);
    insta::assert_snapshot!(refusal("filter_fields", ""), @r#"config.no_effect 9:1 transforms[0]: the filter names no field, so none would stay (write keep_fields = ["…"] or patterns = [{ key_pattern = { … } }])"#);
    insta::assert_snapshot!(refusal("filter_fields", "keep_fields = [\"a\"]\ninclude_matching = false"), @r#"config.no_effect 9:1 transforms[0]: without `patterns` no field matches, so all would stay (write keep_fields = ["…"] or patterns = [{ key_pattern = { … } }])"#);
    insta::assert_snapshot!(refusal("filter_fields", "patterns = [{}, { key_pattern = { regex = \"a(\" } }, { value_pattern = \"is_text\" }]"), @r#"
    config.missing_field 11:13 transforms[0].patterns[0]: a pattern needs `key_pattern` or `value_pattern`
    config.bad_regex 11:44 transforms[0].patterns[1].key_pattern.regex: unclosed group
    config.unknown_value 11:71 transforms[0].patterns[2].value_pattern: `is_text` is no pattern (did you mean `is_object`?)
    "#);
    insta::assert_snapshot!(refusal("filter_fields", "patterns = [{ value_pattern = { between = [2, 1] } }, { value_pattern = { is_null = false } }, { value_pattern = { equals = 1, contains = \"a\" } }]"), @r#"
    config.unknown_value 11:43 transforms[0].patterns[0].value_pattern.between: `between` begins above its end (write between = [LEAST, MOST]; both are included)
    config.unknown_value 11:85 transforms[0].patterns[1].value_pattern.is_null: `is_null` can only be true (write the pattern for what is meant, or include_matching = false)
    config.conflict 11:139 transforms[0].patterns[2].value_pattern.contains: `value_pattern` says two things: `equals`, `contains` (write one of them)
    "#);
    insta::assert_snapshot!(refusal("filter_records", ""), @r#"config.no_effect 9:1 transforms[0]: the filter has neither `patterns` nor `when`, so every record would be dropped (write when = "…" for the records to drop)"#);
    insta::assert_snapshot!(refusal("mask_fields", "fields = [\"a\"]\nmethod = \"hash\"\nhash_key = \"\""), @"config.bad_hash_key 13:12 transforms[0].hash_key: `hash_key` is empty (write a long random text, or take it out)");
}

#[test]
fn expressions_are_refused_at_their_place() {
    insta::assert_snapshot!(refusal("jq", "filter = \".a | nothere\""), @"config.bad_expression 11:16 transforms[0].filter: there is no filter `nothere`");
    insta::assert_snapshot!(refusal("jq", "filter = \"env.PATH\""), @"config.bad_expression 11:11 transforms[0].filter: there is no filter `env` (take a value of the environment into the definition with ${env:NAME})");
    insta::assert_snapshot!(refusal("jq", "filter = \".\"\nwhen = \".a ==\""), @"config.bad_expression 12:8 transforms[0].when: jq expects term where the end stands");
    insta::assert_snapshot!(refused(&source("", "when = \"def f: f; f\"")), @"config.bad_expression 7:13 topics[0].when: the definition of f calls itself, which could go on for ever (write it with reduce, foreach, recurse or until)");
}

#[test]
fn what_has_no_effect_or_can_be_guessed_is_said() {
    let (definition, findings) = crate::given::check(&with(
        "[[transforms]]\ntype = \"mask_fields\"\nfields = [\"a\"]\nmethod = \"hash\"\nreplacement = \"x\"\n\
         [[transforms]]\ntype = \"filter_records\"\nwhen = \".a\"\ninclude_matching = false",
    ));
    assert!(definition.is_some());
    insta::assert_snapshot!(lines(&findings), @r#"
    config.plain_hash 9:1 transforms[0]: without `hash_key` whoever can guess a value can check the guess against its hash (write hash_key = "${env:NAME}")
    config.no_effect 13:15 transforms[0].replacement: `replacement` has no effect with method = "hash" (take it out)
    config.no_effect 17:20 transforms[1].include_matching: `include_matching` has no effect without `patterns`: records for which `when` is true are dropped (take it out)
    "#);
}

#[test]
fn variables_reach_into_both_forms() {
    let env = |pairs: &[(&str, &str)]| {
        let prefix = "PICOMQ_CONNECTORS_SOURCE_A_TRANSFORMS__";
        Env::from_pairs(pairs.iter().map(|(name, value)| (format!("{prefix}{name}"), (*value).to_owned())))
    };
    let list = with("[[transforms]]\ntype = \"mask_fields\"\nfields = [\"a\"]");
    let (definition, findings) = check_with(
        &list,
        &env(&[
            ("0__METHOD", "hash"),
            ("0__HASH_KEY", "007"),
            ("1", r#"{"type": "jq", "filter": ".b"}"#),
            ("2__TYPE", "delete_fields"),
            ("2__FIELDS__0", "c"),
        ]),
    );
    let transforms = definition.unwrap_or_else(|| panic!("{findings:?}")).transforms;
    let Action::MaskFields(mask) = &transforms[0].action else { panic!() };
    assert_eq!(mask.method, MaskMethod::Hash(Some(Secret::new("007".to_owned()))));
    assert_eq!(transforms[1].action, Action::Jq(Expression::parse(".b").unwrap()));
    assert_eq!(transforms[2].action, Action::DeleteFields(vec![path("c")]));

    let table = with("[transforms.add_fields]\nfields = [{ key = \"a\", value = { static = 1 } }]");
    let (definition, findings) =
        check_with(&table, &env(&[("ADD_FIELDS__FIELDS__0__VALUE__STATIC", "2"), ("JQ__FILTER", ".x")]));
    let transforms = definition.unwrap_or_else(|| panic!("{findings:?}")).transforms;
    let Action::AddFields(fields) = &transforms[0].action else { panic!() };
    assert_eq!(fields[0].value, FieldValue::Static(json!(2)));
    assert_eq!(transforms[1].action.type_name(), "jq");
}

#[test]
fn references_stand_in_values_and_keys_and_are_not_shown() {
    let env = Env::from_pairs([
        ("HASH_KEY".to_owned(), "hunter2".to_owned()),
        ("REGION".to_owned(), "eu".to_owned()),
    ]);
    let text = with(
        "[[transforms]]\ntype = \"mask_fields\"\nfields = [\"a\"]\nmethod = \"hash\"\nhash_key = \"${env:HASH_KEY}\"\n\
         [[transforms]]\ntype = \"add_fields\"\nfields = [{ key = \"r\", value = { static = { at = \"${env:REGION}\" } } }]",
    );
    let definition = check_with(&text, &env).0.unwrap();

    let Action::AddFields(fields) = &definition.transforms[1].action else { panic!() };
    assert_eq!(fields[0].value, FieldValue::Static(json!({ "at": "eu" })));
    assert!(!format!("{definition:?}").contains("hunter2"));
}

#[test]
fn an_unknown_type_does_not_hide_other_findings() {
    assert_eq!(code(&with("[[transforms]]\ntype = \"nothing\"")), "config.unknown_value");
    let both =
        refused(&with("[[transforms]]\ntype = \"nothing\"\n[[transforms]]\ntype = \"jq\"\nfiltre = \".\""));
    assert_eq!(both.lines().count(), 3, "{both}");
}
