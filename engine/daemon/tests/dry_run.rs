//! `dry-run`: what can be seen of it without a plugin; the rest is in chaos-tests.

use crate::support::Folder;

const SOURCE: &str =
    "type = \"source\"\nkey = \"orders\"\npath = \"libnothing\"\n[[topics]]\ntopic = \"x\"\n";

#[test]
fn a_key_that_nobody_has_is_refused_with_those_there_are() {
    let folder = Folder::new();
    folder.write("sources/orders.toml", SOURCE);
    let (code, _, err) = folder.told(&["dry-run", "ordes"]);
    assert_eq!(code, 2);
    insta::assert_snapshot!(err, @r"
    sources: error[source.unknown]: no source has the key `ordes`
      hint: there are: orders
    ");
}

#[test]
fn a_missing_plugin_is_found_at_its_line_and_no_state_folder_is_made() {
    let folder = Folder::new();
    folder.write("sources/orders.toml", SOURCE);
    let (code, _, err) = folder.told(&["dry-run", "ORDERS", "--records", "3"]);
    assert_eq!(code, 2);
    assert!(err.contains("sources/orders.toml:3:8: error[plugin.not_found]"), "{err}");
    assert!(!folder.path().join("local_state").exists());
}

#[test]
fn a_definition_that_cannot_be_used_is_refused_with_its_findings() {
    let folder = Folder::new();
    folder.write("orders.toml", &SOURCE.replace("topic =", "topc ="));
    let (code, _, err) = folder.told(&["dry-run", "orders.toml"]);
    assert_eq!(code, 2);
    assert!(err.contains("did you mean `topic`"), "{err}");
}
