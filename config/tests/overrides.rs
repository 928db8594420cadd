//! Environment variables over definitions.

use pico_config::{Definition, Env, Rule, Severity};
use serde_json::json;

use crate::given::{Folder, check_with, lines, source};

const PLUGIN: &str = "[plugin_config]\nmode = \"cdc\"\npin = \"12\"\nlimit = 5\nlist = [1, 2]\n\
                      nested = { \"deep-er\" = \"x\" }";

/// The definition with these variables of source `a`, none of them refused or unused.
fn with(top: &str, variables: &[(&str, &str)]) -> Definition {
    let folder = Folder::new(&[("a.toml", &source(top, ""))]);
    let pairs = variables.iter().map(|(name, value)| (format!("PICOMQ_CONNECTORS_SOURCE_A_{name}"), *value));
    let loaded = folder.load_with(&Env::from_pairs(pairs));
    assert_eq!((&loaded.bad, &loaded.warnings), (&vec![], &vec![]));
    loaded.good.into_iter().next().unwrap()
}

fn plugin(variables: &[(&str, &str)]) -> serde_json::Value {
    serde_json::from_str(with(PLUGIN, variables).plugin_config.expose_json()).unwrap()
}

/// What is said about these whole names, with sources `orders` and `orders_eu`.
fn said(variables: &[(&str, &str)]) -> String {
    let orders = source("", "").replace("\"a\"", "\"orders\"");
    let orders_eu = source("", "").replace("\"a\"", "\"orders_eu\"");
    let folder = Folder::new(&[("1.toml", &orders), ("2.toml", &orders_eu)]);
    let loaded = folder.load_with(&Env::from_pairs(variables.iter().copied()));
    let bad: Vec<_> = loaded.bad.into_iter().flat_map(|bad| bad.findings).collect();
    lines(&[loaded.warnings, bad].concat())
}

#[test]
fn a_field_is_set_with_its_own_type_b138() {
    let definition = with(
        "",
        &[
            ("ENABLED", "false"),
            ("VERSION", "7"),
            ("NAME", "007"),
            ("MAX_IN_FLIGHT", "2"),
            ("SUPERVISION__NACK_LIMIT", "4"),
            ("SUPERVISION__RESTART_AFTER", "off"),
            ("PLUGIN_CONFIG_FORMAT", "json"),
        ],
    );
    assert!(!definition.enabled);
    assert_eq!((definition.version, definition.name.as_str(), definition.max_in_flight), (7, "007", 2));
    assert_eq!((definition.supervision.nack_limit, definition.supervision.restart_after), (4, None));
}

#[test]
fn a_list_element_is_set_by_its_index_and_the_next_one_is_added_b138() {
    let definition = with(
        "",
        &[
            ("TOPICS__0__BATCH_LENGTH", "5"),
            ("TOPICS__0__TOPIC", "{\"strategy\": \"key\", \"fallback\": \"f\"}"),
            ("TOPICS__0__PROPERTIES__COMPRESSION_TYPE", "zstd"),
            ("TOPICS__0__TOPIC_CONFIG__CLEANUP_POLICY", "compact"),
            ("TOPICS__1", "{\"topic\": \"second\"}"),
            ("TOPICS__1__SCHEMA", "raw"),
        ],
    );
    let [first, second] = &definition.topics[..] else { panic!("{definition:?}") };
    assert_eq!(first.batch_length, 5);
    assert!(matches!(&first.rule, Rule::Dynamic { fallback: Some(fallback), .. } if fallback == "f"));
    assert_eq!(first.properties.get("compression.type"), Some("zstd"));
    assert_eq!(first.topic_config["cleanup.policy"], "compact");
    assert_eq!((&second.rule, second.schema.as_str()), (&Rule::Static("second".to_owned()), "raw"));
}

#[test]
fn a_nested_key_a_quote_a_line_end_and_an_empty_value_are_applied_exactly_b138() {
    let text = "it's \"quoted\"\nand ${env:NO} more\n";
    let config = plugin(&[
        ("PLUGIN_CONFIG_NESTED__DEEP_ER", text),
        ("PLUGIN_CONFIG_MODE", ""),
        ("PLUGIN_CONFIG_LIST__1", "9"),
        ("PLUGIN_CONFIG_NEW__INNER", "x"),
    ]);
    let expected = json!({"mode": "", "pin": "12", "limit": 5, "list": [1, 9], "nested": {"deep-er": text},
                          "new": {"inner": "x"}});
    assert_eq!(config, expected);
}

#[test]
fn elements_are_added_in_the_order_of_their_numbers_b138() {
    let numbers: Vec<(String, String)> =
        (2..=11).map(|n| (format!("PLUGIN_CONFIG_LIST__{n}"), n.to_string())).collect();
    let variables: Vec<(&str, &str)> = numbers.iter().map(|(name, n)| (name.as_str(), n.as_str())).collect();
    assert_eq!(plugin(&variables)["list"], json!([1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
}

#[test]
fn a_text_of_the_plugin_stays_a_text_b138() {
    let config =
        plugin(&[("PLUGIN_CONFIG_PIN", "34"), ("PLUGIN_CONFIG_LIMIT", "6"), ("PLUGIN_CONFIG_ZIP", "007")]);
    assert_eq!((&config["pin"], &config["limit"], &config["zip"]), (&json!("34"), &json!(6), &json!("007")));
}

#[test]
fn the_whole_plugin_config_may_come_as_json() {
    assert_eq!(plugin(&[("PLUGIN_CONFIG", "{\"a\": null}")]), json!({"a": null}));
}

#[test]
fn strict_checking_still_works_b138() {
    let folder = Folder::new(&[("a.toml", &source("", "batch_lenght = 1"))]);
    let env = Env::from_pairs([("PICOMQ_CONNECTORS_SOURCE_A_TOPICS__0__BATCH_LENGTH", "many")]);
    insta::assert_snapshot!(lines(&folder.load_with(&env).bad[0].findings), @r#"
    config.unknown_field 7:1 topics[0].batch_lenght: unknown field `batch_lenght` (did you mean `batch_length`?)
    config.wrong_type environment variable PICOMQ_CONNECTORS_SOURCE_A_TOPICS__0__BATCH_LENGTH topics[0].batch_length: `batch_length` must be an integer from 1 to 1000000, not `many`
    "#);
}

#[test]
fn what_fits_no_source_or_field_is_reported_b138() {
    insta::assert_snapshot!(said(&[("PICOMQ_CONNECTORS_SOURCE_ORDRES_NAME", "x")]), @"config.unknown_variable environment variable PICOMQ_CONNECTORS_SOURCE_ORDRES_NAME: the variable is not used: no source has a key it begins with (did you mean PICOMQ_CONNECTORS_SOURCE_ORDERS_…?)");
    insta::assert_snapshot!(said(&[("PICOMQ_CONNECTORS_SOURCE_ORDERS_NAEM", "x")]), @"config.unknown_variable environment variable PICOMQ_CONNECTORS_SOURCE_ORDERS_NAEM: the variable is not used: there is no field `naem` (did you mean `NAME`?)");
    insta::assert_snapshot!(said(&[("PICOMQ_CONNECTORS_SOURCE_ORDERS_KEY", "x")]), @"config.unknown_variable environment variable PICOMQ_CONNECTORS_SOURCE_ORDERS_KEY: the variable is not used: `key` is not taken from the environment");
    insta::assert_snapshot!(said(&[("PICOMQ_CONNECTORS_SOURCE_ORDERS_TOPICS__5__SCHEMA", "raw")]), @"config.unknown_variable environment variable PICOMQ_CONNECTORS_SOURCE_ORDERS_TOPICS__5__SCHEMA: the variable is not used: `5` is no index of a list of 1");
    insta::assert_snapshot!(said(&[("PICOMQ_CONNECTORS_SOURCE_ORDERS_NAME__X", "raw")]), @"config.unknown_variable environment variable PICOMQ_CONNECTORS_SOURCE_ORDERS_NAME__X: the variable is not used: the field before `x` has no parts");
    insta::assert_snapshot!(said(&[("PICOMQ_CONNECTORS_SOURCE_ORDERS_TRANSFORMS__DELETE_FIELD__ENABLED", "x")]), @"config.unknown_variable environment variable PICOMQ_CONNECTORS_SOURCE_ORDERS_TRANSFORMS__DELETE_FIELD__ENABLED: the variable is not used: there is no `delete_field` (did you mean `DELETE_FIELDS`?)");
    insta::assert_snapshot!(said(&[("PICOMQ_CONNECTORS_SOURCE_ORDERS_", "x")]), @"config.unknown_variable environment variable PICOMQ_CONNECTORS_SOURCE_ORDERS_: the variable is not used: no source has a key it begins with (did you mean PICOMQ_CONNECTORS_SOURCE_ORDERS_…?)");
}

#[test]
fn a_variable_of_the_longer_key_is_no_junk_of_the_shorter_b138() {
    assert_eq!(said(&[("PICOMQ_CONNECTORS_SOURCE_ORDERS_EU_NAME", "x")]), "");
}

#[test]
fn a_variable_that_fits_two_keys_goes_to_the_longer_and_is_reported_b138() {
    let short = source("", "").replace("\"a\"", "\"o\"");
    let long = source("", "").replace("\"a\"", "\"o_plugin_config\"");
    let folder = Folder::new(&[("1.toml", &short), ("2.toml", &long)]);
    let loaded = folder.load_with(&Env::from_pairs([("PICOMQ_CONNECTORS_SOURCE_O_PLUGIN_CONFIG_NAME", "x")]));
    let names: Vec<&str> = loaded.good.iter().map(|definition| definition.name.as_str()).collect();
    assert_eq!(names, ["o", "x"]);
    assert_eq!(
        (loaded.warnings[0].code, loaded.warnings[0].severity),
        ("config.ambiguous_variable", Severity::Warning)
    );
}

#[test]
fn a_variable_for_two_keys_of_one_form_refuses_both_b138() {
    let dot = source("", "").replace("\"a\"", "\"a.b\"");
    let dash = source("", "").replace("\"a\"", "\"a-b\"");
    let folder = Folder::new(&[("1.toml", &dot), ("2.toml", &dash)]);
    let loaded = folder.load_with(&Env::from_pairs([("PICOMQ_CONNECTORS_SOURCE_A_B_NAME", "x")]));
    let codes: Vec<&str> = loaded.bad.iter().map(|bad| bad.findings[0].code).collect();
    assert_eq!(codes, ["config.ambiguous_variable"; 2]);
}

#[test]
fn a_value_out_of_a_variable_is_shown_as_a_reference_to_it() {
    let definition = with(PLUGIN, &[("PLUGIN_CONFIG_MODE", "x"), ("PLUGIN_CONFIG_ADDED", "y")]);
    let shown = definition.plugin_config.shown(&|_| false);
    assert_eq!(shown["mode"], "${env:PICOMQ_CONNECTORS_SOURCE_A_PLUGIN_CONFIG_MODE}");
    assert_eq!(shown["added"], "${env:PICOMQ_CONNECTORS_SOURCE_A_PLUGIN_CONFIG_ADDED}");
}

#[test]
fn a_text_to_be_checked_gets_its_variables_too() {
    let env = Env::from_pairs([("PICOMQ_CONNECTORS_SOURCE_A_NAME", "from outside")]);
    assert_eq!(check_with(&source("", ""), &env).0.unwrap().name, "from outside");
}
