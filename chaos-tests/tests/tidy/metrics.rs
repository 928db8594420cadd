//! The names of metrics are public: the page for operators and the code list the same ones.

use crate::tree::Tree;

const CODE: &str = "actors/src/telemetry.rs";
const PAGE: &str = "docs/operations.md";
const PREFIX: &str = "picomq_connector";

/// Every metric that the page does not list, and every row of the page without its metric.
pub(crate) fn unlisted(tree: &Tree) -> Vec<String> {
    let (Some(code), Some(page)) = (tree.get(CODE), tree.get(PAGE)) else {
        return vec![format!("{CODE} or {PAGE} is missing")];
    };
    let made: Vec<&str> =
        code.text.split('"').skip(1).step_by(2).filter(|text| text.starts_with(PREFIX)).collect();
    let listed: Vec<&str> = page
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| name.starts_with(PREFIX))
        .collect();
    let missing = made.iter().filter(|name| !listed.contains(name));
    let stale = listed.iter().filter(|name| !made.contains(name));
    missing
        .map(|name| format!("{PAGE}: no row for {name}"))
        .chain(stale.map(|name| format!("{PAGE}: nothing makes {name}")))
        .collect()
}

#[test]
fn a_metric_without_a_row_and_a_row_without_a_metric_are_found() {
    let code = "pub const A: &str = \"picomq_connector_a\";\npub const B: &str = \"picomq_connector_b\";";
    let page = "| `picomq_connector_a` | gauge | a |\n| `picomq_connector_c` | gauge | c |\n";
    let tree = Tree::planted(&[(CODE, code), (PAGE, page)]);
    assert_eq!(
        unlisted(&tree),
        [
            format!("{PAGE}: no row for picomq_connector_b"),
            format!("{PAGE}: nothing makes picomq_connector_c")
        ]
    );
}
