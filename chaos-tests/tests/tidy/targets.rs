//! `make test` and `make chaos` run every test there is: a target that no list of the Makefile names would be forgotten.

use serde_json::Value;

use crate::tree::Tree;

const LISTS: [&str; 3] = ["tests_alone", "tests_with_servers", "tests_long"];

/// Every test target without a place in the Makefile, and every name there without a target.
pub(crate) fn forgotten(tree: &Tree, packages: &[Value]) -> Vec<String> {
    let makefile = tree.get("Makefile").map_or("", |file| file.text.as_str());
    let listed: Vec<&str> = LISTS.iter().flat_map(|list| names(makefile, list)).collect();
    let targets: Vec<&str> = packages.iter().flat_map(targets).collect();
    let missing = targets.iter().filter(|name| !listed.contains(name));
    let stale = listed.iter().filter(|name| !targets.contains(name));
    missing
        .map(|name| format!("Makefile: test target `{name}` is in none of {}", LISTS.join(", ")))
        .chain(stale.map(|name| format!("Makefile: there is no test target `{name}`")))
        .collect()
}

fn names<'a>(makefile: &'a str, list: &str) -> impl Iterator<Item = &'a str> {
    let line = makefile.lines().find_map(|line| line.strip_prefix(list)?.trim().strip_prefix(":="));
    line.unwrap_or_default().split_whitespace()
}

fn targets(package: &Value) -> impl Iterator<Item = &str> {
    let targets = package["targets"].as_array().map_or(&[][..], Vec::as_slice);
    let is_test = |target: &&Value| {
        target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "test"))
    };
    targets.iter().filter(is_test).filter_map(|target| target["name"].as_str())
}

#[test]
fn a_test_target_that_nobody_runs_is_found() {
    let makefile = "tests_alone := tree gone\ntests_with_servers := kafka\n";
    let target = |name: &str, kind: &str| serde_json::json!({ "name": name, "kind": [kind] });
    let targets =
        [target("tree", "test"), target("kafka", "test"), target("new", "test"), target("x", "bin")];
    let package = serde_json::json!({ "targets": targets });
    assert_eq!(
        forgotten(&Tree::planted(&[("Makefile", makefile)]), &[package]),
        [
            "Makefile: test target `new` is in none of tests_alone, tests_with_servers, tests_long",
            "Makefile: there is no test target `gone`",
        ]
    );
}
