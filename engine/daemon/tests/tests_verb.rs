//! `test`: definitions prove themselves, without plugin and broker.

use crate::support::Folder;

const SOURCE: &str = "type = \"source\"\nkey = \"orders\"\npath = \"libnothing\"\n[[topics]]\n\
                      topic = { strategy = \"field\", path = \"tenant\", template = \"orders.{value}\" }\n\
                      headers = { from = \"{field:tenant}\" }\n";

const GOOD: &str = r#"
[[tests]]
name = "an order goes to its tenant"
input = { payload = '{"tenant": "acme", "total": 12.50}', key = "7" }
[[tests.expect]]
topic = "orders.acme"
key = "7"
headers = { from = "acme" }
value = '{"total": 12.5, "tenant": "acme"}'

[[tests]]
name = "an order without a tenant holds its batch"
input = { payload = '{"total": 1}' }
error = "unroutable_record"
"#;

const BAD: &str = r#"
[[tests]]
name = "an order goes to everybody"
input = { payload = '{"tenant": "acme", "total": 12.50}' }
[[tests.expect]]
topic = "orders.all"
value = '{"total": 13, "tenant": "acme"}'

[[tests]]
input = { payload = '{"total": 1}' }
filtered = true
"#;

#[test]
fn good_tests_pass_although_there_is_neither_plugin_nor_broker() {
    let folder = Folder::new();
    folder.write("orders.toml", &format!("{SOURCE}{GOOD}"));

    let (code, out, err) = folder.told(&["test", "orders.toml"]);

    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    insta::assert_snapshot!(out, @r#"
    orders.toml
      ✓ an order goes to its tenant
      ✓ an order without a tenant holds its batch
    2 tests, 0 failed
    "#);
}

#[test]
fn a_test_that_fails_shows_what_differs_and_why() {
    let folder = Folder::new();
    folder.write("orders.toml", &format!("{SOURCE}{BAD}"));

    let (code, out, _) = folder.told(&["test", "orders.toml"]);

    assert_eq!(code, 1);
    insta::assert_snapshot!(out, @r#"
    orders.toml
      ✗ an order goes to everybody  orders.toml:8
        - expected, + got
          record 0
        - topic orders.all
        + topic orders.acme
          value {
            "tenant": "acme"
        -   "total": 13
        +   "total": 12.5
          }
      ✗ tests[1]  orders.toml:15
        - expected, + got
        - filtered: nothing leaves
        + fails with unroutable_record
        because: record 0: field "tenant" is not there, so topics[0] has no topic for it; send a value or give the rule a fallback
    2 tests, 2 failed
    "#);
}

#[test]
fn without_a_path_all_that_run_would_read_is_tested_and_a_file_that_cannot_be_used_is_named() {
    let folder = Folder::new();
    folder.write("config.toml", "[connectors]\nconfig_dir = \"sources\"\n");
    folder.write("sources/a.toml", &format!("{SOURCE}{GOOD}"));
    folder.write("sources/b.toml", &SOURCE.replace("orders\"", "b\"").replace("[[topics]]", "[[topcs]]"));

    let (code, out, err) = folder.told(&["test"]);

    assert_eq!(code, 2, "{out}");
    assert!(err.contains("sources/b.toml") && err.contains("did you mean `topics`"), "{err}");
    assert!(out.contains("✓ an order goes to its tenant") && out.ends_with("2 tests, 0 failed\n"), "{out}");
}

#[test]
fn programs_get_both_sides_of_every_test() {
    let folder = Folder::new();
    folder.write("orders.toml", &format!("{SOURCE}{GOOD}{BAD}"));

    let (code, out, _) = folder.told(&["test", "--json", "orders.toml"]);

    assert_eq!(code, 1);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&document["tests"], &document["failed"]), (&4.into(), &2.into()));
    let failed = &document["files"][0]["tests"][3];
    assert_eq!((&failed["name"], &failed["passed"]), (&"tests[3]".into(), &false.into()));
    assert_eq!(failed["got"], "fails with unroutable_record\n");
    assert!(failed["message"].as_str().unwrap().contains("\"tenant\""), "{failed}");
}

#[test]
fn a_folder_without_tests_says_so() {
    let folder = Folder::new();
    folder.write("orders.toml", SOURCE);
    let (code, out, _) = folder.told(&["test", "."]);
    assert_eq!((code, out.lines().last()), (0, Some("no [[tests]] found")));
}

#[test]
fn the_examples_that_come_with_the_program_pass_their_own_tests() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/examples");
    let (code, out, err) = Folder::new().told(&["test", examples.to_str().unwrap()]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(!out.contains("no [[tests]] found"), "{out}");
}
