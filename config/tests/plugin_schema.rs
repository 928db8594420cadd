//! `[plugin_config]` against the schema of its plugin.

use pico_config::{Definition, Env};
use serde_json::{Value, json};

use crate::given::{check_with, good, lines, no_env, source};

/// As schemars writes it.
fn schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["url"],
        "properties": {
            "url": { "type": "string" },
            "pin": { "type": ["string", "null"] },
            "count": { "type": ["integer", "null"], "minimum": 0 },
            "ratio": { "type": "number" },
            "on": { "type": "boolean" },
            "range": { "type": "array", "items": { "type": "integer" }, "minItems": 2, "maxItems": 2 },
            "mode": { "$ref": "#/$defs/Mode" },
            "login": { "anyOf": [{ "$ref": "#/$defs/Login" }, { "type": "null" }] },
            "free": { "type": "object", "additionalProperties": { "type": "string" } },
            "any": true,
        },
        "$defs": {
            "Mode": { "oneOf": [{ "const": "cdc", "type": "string" }, { "enum": ["poll", "snap"], "type": "string" }] },
            "Login": { "type": "object", "properties": { "user": { "type": "string" } }, "required": ["user"],
                       "additionalProperties": false },
        },
    })
}

fn fitted(plugin: &str, env: &Env) -> (Definition, String) {
    let (definition, findings) = check_with(&source(&format!("[plugin_config]\n{plugin}"), ""), env);
    assert_eq!(findings, []);
    let mut definition = definition.unwrap();
    let findings = definition.plugin_config.fit(&schema());
    (definition, lines(&findings))
}

fn said(plugin: &str) -> String {
    fitted(plugin, &no_env()).1
}

#[test]
fn what_fits_is_left_as_it_is() {
    let text = "url = \"u\"\npin = \"1\"\ncount = 1\nratio = 1\non = true\nrange = [1, 2]\nmode = \"snap\"\n\
                login = { user = \"x\" }\nfree = { a = \"b\" }\nany = [1, \"x\"]";
    let (definition, said) = fitted(text, &no_env());
    assert_eq!(said, "");
    let before = good(&source(&format!("[plugin_config]\n{text}"), ""));
    assert_eq!(definition, before);
}

#[test]
fn what_does_not_fit_is_found_with_its_line() {
    let text = "urll = \"u\"\npin = 5\ncount = -1\nratio = \"x\"\non = 1\nrange = [1]\nmode = \"cdd\"\n\
                login = { usr = \"x\" }\nfree = { a = 1 }";
    insta::assert_snapshot!(said(text), @r#"
    config.missing_field 4:1 plugin_config: `url` is missing, the plugin needs it
    config.unknown_field 5:1 plugin_config.urll: this plugin has no setting `urll` (did you mean `url`?)
    config.wrong_type 6:7 plugin_config.pin: `pin` must be a string, not an integer (write it in quotes; a duration with its unit, as in "10s")
    config.out_of_range 7:9 plugin_config.count: `count` must be at least 0
    config.wrong_type 8:9 plugin_config.ratio: `ratio` must be a number, not a string
    config.wrong_type 9:6 plugin_config.on: `on` must be true or false, not an integer
    config.out_of_range 10:9 plugin_config.range: `range` has 1 elements, the plugin takes 2
    config.unknown_value 11:8 plugin_config.mode: `mode` must be one of `cdc`, `poll`, `snap`
    config.missing_field 12:9 plugin_config.login: `user` is missing, the plugin needs it
    config.unknown_field 12:11 plugin_config.login.usr: this plugin has no setting `usr` (did you mean `user`?)
    config.wrong_type 13:14 plugin_config.free.a: `a` must be a string, not an integer (write it in quotes; a duration with its unit, as in "10s")
    "#);
}

#[test]
fn variables_get_the_type_the_plugin_names_b138() {
    let names = ["PIN", "COUNT", "RATIO", "ON", "RANGE", "FREE__A", "LOGIN__USER"];
    let texts = ["12", "7", "0.5", "true", "[3, 4]", "5", "6"];
    let pairs =
        names.iter().map(|name| format!("PICOMQ_CONNECTORS_SOURCE_A_PLUGIN_CONFIG_{name}")).zip(texts);
    let (definition, said) = fitted("url = \"u\"", &Env::from_pairs(pairs));
    assert_eq!(said, "");
    let config: Value = serde_json::from_str(definition.plugin_config.expose_json()).unwrap();
    let expected = json!({"url": "u", "pin": "12", "count": 7, "ratio": 0.5, "on": true, "range": [3, 4],
                          "free": {"a": "5"}, "login": {"user": "6"}});
    assert_eq!(config, expected);
}

#[test]
fn a_variable_that_cannot_have_the_plugins_type_is_named_without_its_value_b138() {
    let env = Env::from_pairs([("PICOMQ_CONNECTORS_SOURCE_A_PLUGIN_CONFIG_COUNT", "hunter2")]);
    insta::assert_snapshot!(fitted("url = \"u\"", &env).1, @"config.wrong_type environment variable PICOMQ_CONNECTORS_SOURCE_A_PLUGIN_CONFIG_COUNT plugin_config.count: `count` must be an integer, not a string");
}

#[test]
fn a_schema_that_says_nothing_refuses_nothing() {
    let mut definition = good(&source("[plugin_config]\nx = 1", ""));
    for schema in [json!({}), json!(true), json!({ "$ref": "#/nowhere" }), json!({ "$ref": "#" })] {
        assert_eq!(definition.plugin_config.fit(&schema), []);
    }
}

#[test]
fn what_is_needed_is_missed_in_a_file_without_the_table() {
    let mut definition = good(&source("", ""));
    let findings = lines(&definition.plugin_config.fit(&schema()));
    assert_eq!(findings, "config.missing_field 1:1 plugin_config: `url` is missing, the plugin needs it");
}
