//! Whatever stands in a file or variable, loading answers. Not shown here: that it answers rightly.

use pico_config::Env;
use proptest::prelude::*;

use crate::given::{Folder, check, check_with, engine, source};

/// Lines that are nearly right, so that the readers behind the parser are reached.
fn line() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        "[a-z_]{1,8}",
        prop::sample::select(vec![
            "key",
            "path",
            "topics",
            "topic",
            "batch_length",
            "linger_time",
            "properties",
            "headers",
            "record_key",
            "allowed_topics",
            "max_in_flight",
            "supervision",
            "plugin_config",
            "kafka",
            "limits",
            "http",
            "state",
        ])
        .prop_map(str::to_owned),
    ];
    let value = prop_oneof![
        "\"[^\"\\\\\n]{0,12}\"",
        "-?[0-9]{1,25}",
        "(inf|nan|-inf|true|1e400|1979-05-27)",
        Just("{ strategy = \"field\", path = \"a..b\", template = \"{value\" }".to_owned()),
        Just("\"${env:X}${file:/x}$${\"".to_owned()),
        "\\[[\"a0-9, {}=]{0,10}\\]",
        "\\{ [a-z]{1,4} = [0-9]{1,3} \\}",
    ];
    prop_oneof![
        (name.clone(), value).prop_map(|(name, value)| format!("{name} = {value}")),
        name.clone().prop_map(|name| format!("[{name}]")),
        name.prop_map(|name| format!("[[{name}]]")),
        "\\PC{0,20}",
    ]
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}|[\\x00-\\x7f]{0,200}") {
        check(&text);
        let _ = engine(&text);
    }

    #[test]
    fn any_lines_are_answered(lines in prop::collection::vec(line(), 0..12)) {
        let text = lines.join("\n");
        let (definition, findings) = check(&text);
        prop_assert!(definition.is_some() || !findings.is_empty());
        check(&source("", &text));
        let _ = engine(&text);
    }

    #[test]
    fn any_variable_is_answered(name in "(TOPICS|PLUGIN_CONFIG|SUPERVISION|ENABLED)(_{0,3}[A-Z0-9]{0,8}){0,4}", text in "\\PC{0,30}") {
        let env = Env::from_pairs([(format!("PICOMQ_CONNECTORS_SOURCE_A_{name}"), text)]);
        check_with(&source("[plugin_config]\nx = [1]\ny = { z = 1 }", ""), &env);
    }
}

#[test]
fn a_variable_of_endless_levels_is_answered() {
    let name = format!("PICOMQ_CONNECTORS_SOURCE_A_PLUGIN_CONFIG_{}", vec!["A"; 40_000].join("__"));
    let folder = Folder::new(&[("a.toml", &source("", ""))]);
    let loaded = folder.load_with(&Env::from_pairs([(name, "x")]));
    assert_eq!((loaded.good.len(), loaded.warnings[0].code), (1, "config.unknown_variable"));
}

#[test]
fn a_key_of_endless_parts_is_answered() {
    for parts in [100, 1_000, 10_000, 200_000] {
        let path = vec!["a"; parts].join(".");
        for text in [
            format!("{path} = 1"),
            format!("[{path}]"),
            format!("plugin_config.{path} = 1"),
            format!("x = {{ {path} = 1 }}"),
        ] {
            let (definition, findings) = check(&text);
            assert!(definition.is_none() && !findings.is_empty());
            assert!(engine(&text).is_err());
        }
    }
    for text in [
        "[".repeat(300_000),
        "a = ".to_owned() + &"[".repeat(300_000),
        "a = ".to_owned() + &"{a=".repeat(300_000),
    ] {
        assert!(check(&text).0.is_none());
    }
}
