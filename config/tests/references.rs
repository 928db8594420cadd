//! `${…}` inside values.

use pico_config::Env;
use serde_json::json;

use crate::given::{check_with, lines, source};

fn env() -> Env {
    Env::from_pairs([("NAME", "x"), ("N", "5"), ("ON", "true")])
}

#[test]
fn a_reference_takes_the_type_of_its_field() {
    let text = source(
        "enabled = \"${env:ON}\"\nname = \"<${env:NAME}>\"\n[plugin_config]\na = [\"${env:N}\"]\nb = \"${env:NO:-d}\"",
        "batch_length = \"${env:N}\"\nlinger_time = \"${env:N}ms\"",
    );
    let (definition, findings) = check_with(&text, &env());
    assert_eq!(findings, []);
    let definition = definition.unwrap();
    assert_eq!((definition.name.as_str(), definition.topics[0].batch_length), ("<x>", 5));
    assert_eq!(definition.topics[0].linger.as_millis(), 5);
    let config: serde_json::Value = serde_json::from_str(definition.plugin_config.expose_json()).unwrap();
    assert_eq!(config, json!({"a": ["5"], "b": "d"}));
    assert_eq!(definition.plugin_config.shown(&|_| false)["a"], json!(["${env:N}"]));
}

#[test]
fn a_reference_that_cannot_be_resolved_is_named_with_its_place() {
    let text = source("name = \"x${env:NO}\"\n[plugin_config]\nd = [{ e = \"${file:/no/such}\" }]", "");
    insta::assert_snapshot!(lines(&check_with(&text, &env()).1), @r#"
    config.bad_reference 4:10 name: `${env:NO}` is not set (set the variable, or give a default: ${env:NO:-default})
    config.bad_reference 6:13 plugin_config.d[0].e: `${file:/no/such}` cannot be read: No such file or directory (os error 2)
    "#);
}

#[test]
fn what_a_reference_brings_is_checked_and_not_shown() {
    let text = source("", "batch_length = \"${env:SECRET}\"");
    let (definition, findings) = check_with(&text, &Env::from_pairs([("SECRET", "hunter2")]));
    assert!(definition.is_none());
    assert!(!lines(&findings).contains("hunter2"), "{}", lines(&findings));
}
