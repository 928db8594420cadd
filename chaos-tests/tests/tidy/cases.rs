//! `docs/cases.md` is the list of faults met in the field. Its rows and the tests that end in a case's number agree.

use std::collections::BTreeMap;

use crate::rust::functions;
use crate::tree::{File, Tree};

const PAGE: &str = "docs/cases.md";

/// Every test that the page does not name beside its number, and every name on the page without a test.
pub(crate) fn disagreements(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.get(PAGE) else { return vec![format!("{PAGE} is missing")] };
    let rows = rows(page);
    let tests = tests(tree);
    let mut findings = Vec::new();
    for (test, file) in &tests {
        let number = number(test).unwrap_or_default();
        match rows.get(&number) {
            None => findings.push(format!("{PAGE}: no row {number}, which {file} covers by {test}")),
            Some(row) if !row.contains(test) => {
                findings.push(format!("{PAGE}: row {number} does not name {test} of {file}"))
            }
            Some(_) => {}
        }
    }
    for (number, named) in &rows {
        let gone = named.iter().filter(|test| !tests.contains_key(*test));
        findings.extend(gone.map(|test| format!("{PAGE}: row {number} names {test}, which is not there")));
        let strange = named.iter().filter(|test| self::number(test).as_ref() != Some(number));
        findings.extend(strange.map(|test| format!("{PAGE}: row {number} names {test} of another case")));
    }
    findings
}

/// `B074` of `…_b074`.
fn number(test: &str) -> Option<String> {
    let (_, number) = test.rsplit_once("_b")?;
    (number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("B{number}"))
}

/// The numbers of the page and the tests named beside each.
fn rows(page: &File) -> BTreeMap<String, Vec<String>> {
    let row = |line: &str| {
        let number = line
            .strip_prefix("| ")?
            .split(' ')
            .next()
            .filter(|word| word.starts_with('B') && word.len() == 4)?;
        let names = line.split('`').skip(1).step_by(2).filter(|name| self::number(name).is_some());
        Some((number.to_owned(), names.map(str::to_owned).collect()))
    };
    page.text.lines().filter_map(row).collect()
}

fn tests(tree: &Tree) -> BTreeMap<String, String> {
    let named = |file: &File| {
        functions(&file.text).into_iter().map(|name| (name, file.path.clone())).collect::<Vec<_>>()
    };
    tree.rust().flat_map(named).filter(|(name, _)| number(name).is_some()).collect()
}

#[test]
fn missing_rows_missing_names_and_missing_tests_are_found() {
    let page =
        "| B061 | one | `kept_b061`, `gone_b061` |\n| B062 | two | `stray_b061` |\n| B099 | later | – |\n";
    let code = "fn kept_b061() {} fn new_b062() {} fn other_b063() {} fn stray_b061() {}";
    let tree = Tree::planted(&[(PAGE, page), ("a.rs", code)]);
    assert_eq!(
        disagreements(&tree),
        [
            "docs/cases.md: row B062 does not name new_b062 of a.rs",
            "docs/cases.md: no row B063, which a.rs covers by other_b063",
            "docs/cases.md: row B061 does not name stray_b061 of a.rs",
            "docs/cases.md: row B061 names gone_b061, which is not there",
            "docs/cases.md: row B062 names stray_b061 of another case",
        ]
    );
}
