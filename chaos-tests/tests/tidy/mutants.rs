//! A mutant is a small wrong change that one named test must notice. The name stands above the patch.

use std::collections::HashSet;

use crate::rust::{functions, is_word};
use crate::tree::{File, Tree};

const FOLDER: &str = "chaos-tests/mutants/";

/// Every patch whose head names no test that exists.
pub(crate) fn unnamed(tree: &Tree) -> Vec<String> {
    let tests: HashSet<String> = tree.rust().flat_map(|file| functions(&file.text)).collect();
    let patches =
        tree.files.iter().filter(|file| file.path.starts_with(FOLDER) && file.path.ends_with(".patch"));
    patches
        .filter(|patch| !names_a_test(patch, &tests))
        .map(|patch| format!("{}: no line above the patch names a test that exists", patch.path))
        .collect()
}

fn names_a_test(patch: &File, tests: &HashSet<String>) -> bool {
    let head = patch.text.lines().take_while(|line| !line.starts_with("--- ") && !line.starts_with("diff "));
    let mut names = head.flat_map(|line| line.split(|c: char| !c.is_ascii() || !is_word(c as u8)));
    names.any(|name| name.matches('_').count() >= 3 && tests.contains(name))
}

#[test]
fn a_mutant_without_a_test_is_found() {
    let tree = Tree::planted(&[
        (
            "chaos-tests/mutants/a.patch",
            "saves before delivery; killed by state_is_saved_last_of_all\n--- a/x\n+++ b/x\n",
        ),
        (
            "chaos-tests/mutants/b.patch",
            "killed by a_test_that_is_gone\n--- a/x\n+fn state_is_saved_last_of_all\n",
        ),
        ("a.rs", "#[test]\nfn state_is_saved_last_of_all() {}"),
    ]);
    assert_eq!(
        unnamed(&tree),
        ["chaos-tests/mutants/b.patch: no line above the patch names a test that exists"]
    );
}
