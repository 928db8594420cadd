//! Every module opens with what it is for, and is named after what it defines.

use crate::tree::{File, Tree};

/// Names that say nothing.
const VAGUE: [&str; 8] = ["util", "utils", "common", "helper", "helpers", "manager", "misc", "shared"];

/// Every module without a first line that says what it is for. A `tests.rs` beside a module needs none: the module has it.
pub(crate) fn silent_modules(tree: &Tree) -> Vec<String> {
    let speaks = |file: &File| file.text.starts_with("//!") || file.name() == "tests.rs";
    tree.rust()
        .filter(|file| !speaks(file))
        .map(|file| format!("{}:1: does not open with //!", file.path))
        .collect()
}

/// Every file and folder whose name says nothing.
pub(crate) fn vague_names(tree: &Tree) -> Vec<String> {
    let is_vague = |part: &str| VAGUE.contains(&part.split('.').next().unwrap_or(part));
    let vague = tree.rust().filter(|file| file.path.split('/').any(is_vague));
    vague.map(|file| format!("{}: name it after what it defines", file.path)).collect()
}

#[test]
fn a_module_that_says_nothing_is_found() {
    let tree =
        Tree::planted(&[("a.rs", "use x;\n"), ("b.rs", "//! Bees.\n"), ("b/tests.rs", "use super::*;\n")]);
    assert_eq!(silent_modules(&tree), ["a.rs:1: does not open with //!"]);
}

#[test]
fn a_name_that_says_nothing_is_found() {
    let tree = Tree::planted(&[("x/utils.rs", ""), ("x/common/mod.rs", ""), ("x/utility.rs", "")]);
    assert_eq!(vague_names(&tree).len(), 2);
}
