//! A library has no terminal: it logs or returns. The daemon prints in one file; benches and tests print what they like.

use crate::rust::{code, words};
use crate::tree::{File, Tree};

const PRINTING: [&str; 4] = ["println", "print", "eprintln", "eprint"];

/// Every print in the sources of a library or of the daemon.
pub(crate) fn printing(tree: &Tree) -> Vec<String> {
    tree.rust().filter(|file| is_product(file)).flat_map(prints).collect()
}

fn is_product(file: &File) -> bool {
    file.path.contains("/src/") && !file.path.starts_with("chaos-tests/src/") && !file.path.contains("/tests")
}

fn prints(file: &File) -> Vec<String> {
    let code = code(&file.text);
    let is_macro = |at: usize, name: &str| code[at + name.len()..].starts_with('!');
    let found = PRINTING.iter().flat_map(|name| words(&code, name).filter(|&at| is_macro(at, name)));
    found.map(|at| format!("{}:{}: prints; log it or return it", file.path, file.line_of(at))).collect()
}

#[test]
fn a_printing_library_is_found_and_its_tests_are_not() {
    let tree = Tree::planted(&[
        ("actors/src/a.rs", "//! println!(\"in a doc\")\nfn f() { println!(\"x\"); }"),
        ("actors/tests/b.rs", "fn f() { println!(\"x\"); }"),
        ("actors/src/a/tests.rs", "fn f() { println!(\"x\"); }"),
    ]);
    assert_eq!(printing(&tree), ["actors/src/a.rs:2: prints; log it or return it"]);
}
