//! A mutant is a small wrong change that a test must notice. Which one stands above the patch, as `cargo test` takes it.

use crate::rust::functions;
use crate::tree::{File, Tree};

const FOLDER: &str = "chaos-tests/mutants/";
const HEAD: &str = "# test: ";

/// Every patch whose head names no test, and no module of tests, that exists.
pub(crate) fn unnamed(tree: &Tree) -> Vec<String> {
    let functions: Vec<String> = tree.rust().flat_map(|file| functions(&file.text)).collect();
    let patches =
        tree.files.iter().filter(|file| file.path.starts_with(FOLDER) && file.path.ends_with(".patch"));
    patches.filter_map(|patch| unnamed_in(patch, tree, &functions)).collect()
}

fn unnamed_in(patch: &File, tree: &Tree, functions: &[String]) -> Option<String> {
    let Some(arguments) = patch.text.lines().find_map(|line| line.strip_prefix(HEAD)) else {
        return Some(format!("{}: no line `{HEAD}…` above the patch", patch.path));
    };
    // The last word is the filter; the ones before it choose package and target.
    let filter = arguments.split_whitespace().last().unwrap_or_default();
    let name = filter.rsplit("::").next().unwrap_or_default();
    let is_module =
        |path: &str| path.ends_with(&format!("/{name}.rs")) || path.contains(&format!("/{name}/"));
    let is_there = !name.is_empty()
        && (functions.iter().any(|function| function.contains(name))
            || tree.rust().any(|file| is_module(&file.path)));
    (!is_there).then(|| format!("{}: there is no test {filter}", patch.path))
}

#[test]
fn a_mutant_without_a_test_is_found() {
    let tree = Tree::planted(&[
        ("chaos-tests/mutants/a.patch", "# early\n# test: -p x --lib tests::state_is_saved_last\n--- a/x\n"),
        ("chaos-tests/mutants/b.patch", "# late\n# test: -p x --test main order\n--- a/x\n"),
        ("chaos-tests/mutants/c.patch", "# test: -p x --lib tests::gone\n--- a/x\n"),
        ("chaos-tests/mutants/d.patch", "--- a/x\n+# tested by state_is_saved_last\n"),
        ("a.rs", "#[test]\nfn state_is_saved_last_of_all() {}"),
        ("x/tests/order.rs", ""),
    ]);
    assert_eq!(
        unnamed(&tree),
        [
            "chaos-tests/mutants/c.patch: there is no test tests::gone",
            "chaos-tests/mutants/d.patch: no line `# test: …` above the patch",
        ]
    );
}
