//! Unsafe code has two rooms: the border to plugins, and producing by handle. Every other crate forbids it.

use crate::rust::{code, words};
use crate::tree::{File, Tree};

const BORDER: &str = "plugins/sdk/src/ffi/";
const NATIVE: &str = "engine/broker/src/native.rs";
const NATIVE_LINES_MAX: usize = 150;
/// Crates with one of the two rooms; they deny it and lift that for the room alone.
const DENYING: [&str; 2] = ["plugins/sdk/src/lib.rs", "engine/broker/src/lib.rs"];

/// Every use of unsafe code outside its rooms, every crate that does not keep it out, and a room that grew.
pub(crate) fn outside(tree: &Tree) -> Vec<String> {
    let mut findings: Vec<String> = tree.rust().flat_map(stray).collect();
    findings.extend(tree.rust().filter(|file| is_root(file)).filter_map(unguarded));
    if let Some(native) = tree.get(NATIVE).filter(|file| file.text.lines().count() > NATIVE_LINES_MAX) {
        findings.push(format!("{}: more than {NATIVE_LINES_MAX} lines", native.path));
    }
    findings
}

fn is_room(file: &File) -> bool {
    file.path.starts_with(BORDER) || file.path == NATIVE
}

fn stray(file: &File) -> Vec<String> {
    let code = code(&file.text);
    let line = |at: usize| format!("{}:{}", file.path, file.line_of(at));
    if is_room(file) {
        let blocks = words(&code, "unsafe").filter(|&at| code[at + 6..].trim_start().starts_with('{'));
        let silent = blocks.filter(|&at| !is_justified(&file.text, file.line_of(at)));
        return silent.map(|at| format!("{}: an unsafe block without a SAFETY note", line(at))).collect();
    }
    let lifted = words(&code, "unsafe_code").filter(|&at| code[..at].trim_end().ends_with("allow("));
    words(&code, "unsafe")
        .chain(lifted)
        .map(|at| format!("{}: unsafe code outside its two rooms", line(at)))
        .collect()
}

/// A note stands in the comment lines above the block, or above the statement that holds it.
fn is_justified(text: &str, line: usize) -> bool {
    const ABOVE: usize = 8;
    text.lines().take(line).skip(line.saturating_sub(ABOVE)).any(|line| line.contains("SAFETY:"))
}

fn is_root(file: &File) -> bool {
    file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs")
}

fn unguarded(file: &File) -> Option<String> {
    let level = if DENYING.contains(&file.path.as_str()) { "deny" } else { "forbid" };
    let wanted = format!("#![{level}(unsafe_code)]");
    (!code(&file.text).contains(&wanted)).then(|| format!("{}: {wanted} is missing", file.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_code_elsewhere_is_found_and_the_word_in_a_comment_is_not() {
        let tree = Tree::planted(&[
            ("actors/src/a.rs", "// unsafe\nfn f() { unsafe { g() } }"),
            ("actors/src/b.rs", "\"unsafe\""),
        ]);
        assert_eq!(outside(&tree), ["actors/src/a.rs:2: unsafe code outside its two rooms"]);
    }

    #[test]
    fn a_lifted_lint_elsewhere_is_found() {
        let tree = Tree::planted(&[("actors/src/a.rs", "#![allow(unsafe_code)]")]);
        assert_eq!(outside(&tree).len(), 1);
    }

    #[test]
    fn a_crate_that_does_not_forbid_it_is_found() {
        let tree = Tree::planted(&[
            ("actors/src/lib.rs", "#![deny(unsafe_code)]"),
            ("config/src/lib.rs", "#![forbid(unsafe_code)]"),
        ]);
        assert_eq!(outside(&tree), ["actors/src/lib.rs: #![forbid(unsafe_code)] is missing"]);
    }

    #[test]
    fn a_long_native_file_is_found() {
        let tree = Tree::planted(&[(NATIVE, &"\n".repeat(151))]);
        assert_eq!(outside(&tree).len(), 1);
    }

    #[test]
    fn a_block_without_a_reason_is_found() {
        let good = "fn f() {\n    // SAFETY: checked above.\n    let x =\n        unsafe { g() };\n}";
        let bad = "fn f() { unsafe { g() } }";
        let tree = Tree::planted(&[("plugins/sdk/src/ffi/a.rs", good), ("plugins/sdk/src/ffi/b.rs", bad)]);
        assert_eq!(outside(&tree), ["plugins/sdk/src/ffi/b.rs:1: an unsafe block without a SAFETY note"]);
    }
}
