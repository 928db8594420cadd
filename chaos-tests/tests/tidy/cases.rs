//! `docs/cases.md` is the list of faults met in the field. Its rows and the tests that end in a case's number agree.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust::functions;
use crate::tree::Tree;

const PAGE: &str = "docs/cases.md";
/// The cell of a case that no test covers yet.
const NONE: &str = "–";

/// Tests by the number of their case and the folder of their crate.
type Tests = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Every row that does not read as the tests say, with what it should read; every case without a row.
pub(crate) fn disagreements(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.get(PAGE) else { return vec![format!("{PAGE} is missing")] };
    let (tests, mut findings, mut seen) = (tests(tree), Vec::new(), BTreeSet::new());
    for (number, cell) in page.text.lines().filter_map(row) {
        if !seen.insert(number) {
            findings.push(format!("{PAGE}: {number} has two rows"));
        }
        let right = tests.get(number).map_or_else(|| NONE.to_owned(), cell_of);
        if cell != Some(right.as_str()) {
            findings.push(format!("{PAGE}: the tests of row {number} must read: {right}"));
        }
    }
    let missing = tests.iter().filter(|(number, _)| !seen.contains(number.as_str()));
    findings.extend(
        missing.map(|(number, of)| format!("{PAGE}: no row {number}, which is covered by {}", cell_of(of))),
    );
    findings
}

/// `B074` of `…_b074`.
fn number(test: &str) -> Option<String> {
    let (_, number) = test.rsplit_once("_b")?;
    (number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("B{number}"))
}

/// The number and the last of the three cells of a row; `None` for the cell where there are not three.
fn row(line: &str) -> Option<(&str, Option<&str>)> {
    let inner = line.strip_prefix("| ")?;
    let number = inner.split(' ').next()?;
    let is_number = number.starts_with('B') && number.len() == 4;
    let cells: Vec<&str> = inner.strip_suffix(" |").unwrap_or(inner).split(" | ").collect();
    is_number.then(|| (number, cells.get(2).copied().filter(|_| cells.len() == 3)))
}

/// `actors: `one_b061`, `two_b061`; config: `three_b061``, each once and in order.
fn cell_of(tests: &BTreeMap<String, BTreeSet<String>>) -> String {
    let of_crate = |(folder, names): (&String, &BTreeSet<String>)| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("{folder}: {}", names.join(", "))
    };
    tests.iter().map(of_crate).collect::<Vec<_>>().join("; ")
}

fn tests(tree: &Tree) -> Tests {
    let mut tests = Tests::new();
    for file in tree.rust() {
        for name in functions(&file.text) {
            if let Some(number) = number(&name) {
                tests
                    .entry(number)
                    .or_default()
                    .entry(folder(&file.path).to_owned())
                    .or_default()
                    .insert(name);
            }
        }
    }
    tests
}

/// `plugins/http` of `plugins/http/src/desk.rs`.
fn folder(path: &str) -> &str {
    let end = ["/src/", "/tests/"].iter().filter_map(|part| path.find(part)).min();
    end.map_or(path, |end| &path[..end])
}

#[test]
fn a_row_that_reads_otherwise_than_the_tests_say_is_found() {
    let page = "\
| B061 | one | a: `kept_b061`, `gone_b061` |
| B062 | two | a: `old_b062`; a: `old_b062` |
| B063 | three | ; a: `one_b063`; b: `one_b063` |
| B064 | four | b: `two_b064`; a: `two_b064` |
| B065 | five | a: `fine_b065`; b/c: `fine_b065` |
| B065 | again | a: `fine_b065`; b/c: `fine_b065` |
| B099 | later | – |
";
    let a = "fn kept_b061() {} fn old_b062() {} fn one_b063() {} fn two_b064() {} fn fine_b065() {} fn new_b066() {}";
    let b = "fn one_b063() {} fn two_b064() {}";
    let tree = Tree::planted(&[
        (PAGE, page),
        ("a/src/x.rs", a),
        ("b/tests/x.rs", b),
        ("b/c/src/x.rs", "fn fine_b065() {}"),
    ]);
    assert_eq!(
        disagreements(&tree),
        [
            "docs/cases.md: the tests of row B061 must read: a: `kept_b061`",
            "docs/cases.md: the tests of row B062 must read: a: `old_b062`",
            "docs/cases.md: the tests of row B063 must read: a: `one_b063`; b: `one_b063`",
            "docs/cases.md: the tests of row B064 must read: a: `two_b064`; b: `two_b064`",
            "docs/cases.md: B065 has two rows",
            "docs/cases.md: no row B066, which is covered by a: `new_b066`",
        ]
    );
}
