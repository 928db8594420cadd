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

/// Every patch with a change for which its file has no place: it would plant nothing.
pub(crate) fn astray(tree: &Tree) -> Vec<String> {
    let patches =
        tree.files.iter().filter(|file| file.path.starts_with(FOLDER) && file.path.ends_with(".patch"));
    let wrong = patches.filter(|patch| !hunks(&patch.text).all(|(path, before)| has(tree, path, &before)));
    wrong.map(|patch| format!("{}: it does not fit the code any more", patch.path)).collect()
}

fn has(tree: &Tree, path: &str, before: &str) -> bool {
    tree.files.iter().any(|file| file.path == path && file.text.contains(before))
}

/// Of each hunk: the file, and the lines that it expects there.
fn hunks(patch: &str) -> impl Iterator<Item = (&str, String)> {
    let files = patch.split("\n+++ b/").skip(1);
    files.flat_map(|file| {
        let path = file.lines().next().unwrap_or_default();
        file.split("\n@@ ").skip(1).map(move |hunk| {
            let lines = hunk.lines().skip(1).take_while(|line| !line.starts_with("diff "));
            let before = lines.filter(|line| !line.starts_with(['+', '\\']));
            (path, before.map(|line| format!("{}\n", line.get(1..).unwrap_or_default())).collect())
        })
    })
}

#[test]
fn a_mutant_that_does_not_fit_the_code_is_found() {
    let tree = Tree::planted(&[
        ("a.rs", "one\ntwo\nthree\n"),
        (
            "chaos-tests/mutants/a.patch",
            "# x\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@ fn\n one\n-two\n+2\n three\n",
        ),
        (
            "chaos-tests/mutants/b.patch",
            "# x\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@ fn\n one\n-three\n+3\n",
        ),
        ("chaos-tests/mutants/c.patch", "# x\n--- a/b.rs\n+++ b/b.rs\n@@ -1,1 +1,1 @@\n-one\n+1\n"),
    ]);
    let gone = |name| format!("chaos-tests/mutants/{name}.patch: it does not fit the code any more");
    assert_eq!(astray(&tree), [gone("b"), gone("c")]);
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
