//! Work that is left is an issue or a sentence in the docs, not a word in a file.

use crate::rust::code;
use crate::tree::{File, Tree};

/// In pieces, so that this file does not find itself.
const ANYWHERE: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
/// What a merge leaves that was not resolved.
const MERGED: [&str; 2] = [concat!("<<<<", "<<< "), concat!(">>>>", ">>> ")];
const IN_CODE: [&str; 4] = ["dbg!(", "todo!(", "unimplemented!(", "#[ignore"];

/// Every leftover marker.
pub(crate) fn left_over(tree: &Tree) -> Vec<String> {
    tree.files.iter().flat_map(markers).collect()
}

fn markers(file: &File) -> Vec<String> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    for marker in ANYWHERE {
        let bytes = file.text.as_bytes();
        let is_letter =
            |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
        let is_alone = |at: usize| !is_letter(at.checked_sub(1)) && !is_letter(Some(at + marker.len()));
        found.extend(file.text.match_indices(marker).filter(|(at, _)| is_alone(*at)));
    }
    for marker in MERGED {
        found.extend(file.text.match_indices(marker));
    }
    let code = if file.is_rust() { code(&file.text) } else { String::new() };
    for marker in IN_CODE {
        found.extend(code.match_indices(marker).map(|(at, _)| (at, marker)));
    }
    found.iter().map(|(at, marker)| format!("{}:{}: {marker}", file.path, file.line_of(*at))).collect()
}

#[test]
fn markers_are_found_in_code_comments_and_docs() {
    let planted =
        format!("// {}: later\nfn f() {{ todo!() }}\n#[ignore = \"slow\"]\n// dbg!(x)\n", ANYWHERE[0]);
    let merge = format!("[dependencies]\n{}HEAD\n", MERGED[0]);
    let tree = Tree::planted(&[
        ("a.rs", &planted),
        ("docs/b.md", ANYWHERE[1]),
        ("c.sh", "mktemp a.XXXXXX"),
        ("d.toml", &merge),
    ]);
    let findings = left_over(&tree);
    assert_eq!(findings.len(), 5, "{findings:?}");
    assert!(findings[1].starts_with("a.rs:2: todo!("), "{findings:?}");
}
