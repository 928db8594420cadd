//! A canary secret is planted everywhere one can stand; nothing printed may hold it.

use miette::{Diagnostic, NarratableReportHandler};
use pico_config::{Env, Finding};

use crate::given::{Folder, check, engine, engine_with, source};

const CANARY: &str = "hunter2";

/// Every way a finding can be printed.
fn printed(finding: &Finding) -> String {
    let mut report = String::new();
    NarratableReportHandler::new().with_context_lines(20).render_report(&mut report, finding).unwrap();
    let source = finding.source_code().map(|_| String::new()).unwrap_or_default();
    format!("{finding:?} {finding} {} {report} {source}", finding.summary())
}

fn assert_clean(findings: &[Finding]) {
    assert!(!findings.is_empty());
    for finding in findings {
        let printed = printed(finding);
        assert!(!printed.contains(CANARY), "{printed}");
    }
}

#[test]
fn findings_of_config_toml_show_no_secret_on_any_line() {
    let text = format!(
        "[kafka]\nbootstrap_server = 1\n[kafka.sasl]\npassword = \"{CANARY}\"\nusernam = 1\n\
         [kafka.properties]\n\"ssl.key.password\" = \"{CANARY}\"\n\"ssl.key.pem\" = \"{CANARY}\"\nx = 1\n\
         [http]\napi_key = \"{CANARY}\"\n[[http.api_keys]]\nname = \"n\"\nkey = \"{CANARY}\"\n\
         [state]\nstorage = \"http\"\n\
         [state.http]\nurl = \"ftp://u:{CANARY}@h/{CANARY}?token={CANARY}\"\nurll = 1\n\
         request_headers = {{ a = \"{CANARY}\", \"if-match\" = \"{CANARY}\" }}\n"
    );
    assert_clean(&engine(&text).unwrap_err());
    assert_clean(&engine(&format!("{text}\nbroken = \n")).unwrap_err());
}

#[test]
fn findings_of_a_definition_show_no_secret_on_any_line() {
    let plugin = format!(
        "typo = 1\n[plugin_config]\npassword = \"{CANARY}\"\nplain = \"{CANARY}\"\nlist = [\"{CANARY}\"]"
    );
    let block = format!("properties = {{ \"sasl.password\" = \"{CANARY}\", nope = 1 }}");
    assert_clean(&check(&source(&plugin, &block)).1);
    assert_clean(&check(&format!("{}\nbroken = ", source(&plugin, &block))).1);
    assert_clean(&check(&source(&format!("[plugin_config]\npassword = \"{CANARY}"), "")).1);
}

#[test]
fn debug_of_what_was_loaded_shows_no_secret() {
    let text = format!(
        "[kafka]\nsecurity_protocol = \"sasl_ssl\"\nsasl = {{ username = \"u\", password = \"{CANARY}\" }}\n\
                        properties = {{ \"ssl.key.password\" = \"{CANARY}\" }}\n[state]\nstorage = \"http\"\n\
                        [state.http]\nurl = \"http://h/{CANARY}?sig={CANARY}\"\nrequest_headers = {{ a = \"{CANARY}\" }}"
    );
    let (engine, _) = engine(&text).unwrap();
    assert_eq!(engine.kafka.sasl.password.expose(), CANARY);
    assert!(!format!("{engine:?}").contains(CANARY));

    let block = format!("properties = {{ \"sasl.password\" = \"{CANARY}\" }}");
    let text = source(&format!("[plugin_config]\nanything = \"{CANARY}\""), &block);
    let definition = check(&text).0.unwrap();
    assert!(definition.plugin_config.expose_json().contains(CANARY));
    assert!(!format!("{definition:?}").contains(CANARY));
}

#[test]
fn variables_show_no_secret() {
    let env = Env::from_pairs([
        ("PICOMQ_CONNECTORS_KAFKA__SASL__PASSWORD", CANARY),
        ("PICOMQ_CONNECTORS_HTTP__API_KEY", CANARY),
        ("PICOMQ_CONNECTORS_HTTP__ADDRESS", "nowhere"),
        ("PICOMQ_CONNECTORS_SOURCE_A_PLUGIN_CONFIG_PASSWORD", CANARY),
        ("PICOMQ_CONNECTORS_SOURCE_B_NAME", CANARY),
    ]);
    assert!(!format!("{env:?}").contains(CANARY));
    assert_clean(&engine_with("", &env).unwrap_err());
    let folder = Folder::new(&[("a.toml", &source("", ""))]);
    let loaded = folder.load_with(&env);
    assert_clean(&loaded.warnings);
    assert!(!format!("{loaded:?}").contains(CANARY));
    let shown = serde_json::to_string(&loaded.good[0].plugin_config.shown(&|_| false)).unwrap();
    assert!(!shown.contains(CANARY), "{shown}");
}
