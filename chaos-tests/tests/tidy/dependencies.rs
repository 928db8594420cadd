//! A dependency is here for a reason, and the reason is written down.

use crate::tree::Tree;

const PAGE: &str = "docs/decisions/dependencies.md";

/// Every dependency of the workspace without a sentence, and every sentence without its dependency.
pub(crate) fn unexplained(tree: &Tree) -> Vec<String> {
    let (Some(manifest), Some(page)) = (tree.get("Cargo.toml"), tree.get(PAGE)) else {
        return vec![format!("Cargo.toml or {PAGE} is missing")];
    };
    let manifest: toml::Table = manifest.text.parse().unwrap();
    let dependencies = manifest["workspace"]["dependencies"].as_table().unwrap();
    let foreign =
        dependencies.iter().filter(|(_, value)| value.get("path").is_none()).map(|(name, _)| name.as_str());
    let foreign: Vec<&str> = foreign.collect();
    let explained: Vec<&str> =
        page.text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let missing = foreign.iter().filter(|name| !explained.contains(name));
    let stale = explained.iter().filter(|name| !foreign.contains(name));
    missing
        .map(|name| format!("{PAGE}: no row says why `{name}` is here"))
        .chain(stale.map(|name| format!("{PAGE}: `{name}` is no dependency of the workspace")))
        .collect()
}

#[test]
fn a_dependency_without_a_reason_and_a_reason_without_a_dependency_are_found() {
    let manifest = "[workspace.dependencies]\nours = { path = 'x' }\nserde = '1'\nnew = '1'\n";
    let page = "| crate | why |\n|---|---|\n| `serde` | reads |\n| `gone` | was useful |\n";
    let tree = Tree::planted(&[("Cargo.toml", manifest), (PAGE, page)]);
    assert_eq!(
        unexplained(&tree),
        [
            format!("{PAGE}: no row says why `new` is here"),
            format!("{PAGE}: `gone` is no dependency of the workspace"),
        ]
    );
}
