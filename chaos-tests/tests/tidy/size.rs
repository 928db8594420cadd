//! A page is read without scrolling for ever: files of code end by line 500, functions by line 70.

use crate::tree::Tree;

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: i64 = 70;
const PARAMETERS_MAX: i64 = 5;
const CODE: [&str; 5] = [".rs", ".c", ".h", ".sh", ".py"];

/// Every file of code that is too long.
pub(crate) fn long_files(tree: &Tree) -> Vec<String> {
    let is_code = |path: &str| CODE.iter().any(|end| path.ends_with(end));
    let lines =
        tree.files.iter().filter(|file| is_code(&file.path)).map(|file| (file, file.text.lines().count()));
    lines
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .map(|(file, lines)| {
            format!("{}: {lines} lines, at most {FILE_LINES_MAX}: split it by what it defines", file.path)
        })
        .collect()
}

/// Clippy counts the lines and parameters of functions; this sees that it was told to, in every crate.
pub(crate) fn lax_lints(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    let clippy = table(tree, "clippy.toml");
    for (key, limit) in
        [("too-many-lines-threshold", FUNCTION_LINES_MAX), ("too-many-arguments-threshold", PARAMETERS_MAX)]
    {
        let stands = clippy.get(key).and_then(toml::Value::as_integer);
        if stands.is_none_or(|value| value > limit) {
            findings.push(format!("clippy.toml: {key} must stand there and be at most {limit}"));
        }
    }
    let workspace = table(tree, "Cargo.toml");
    for lint in ["too_many_lines", "too_many_arguments"] {
        let level = workspace["workspace"]["lints"]["clippy"].get(lint).and_then(toml::Value::as_str);
        if !matches!(level, Some("warn" | "deny" | "forbid")) {
            findings.push(format!("Cargo.toml: clippy's {lint} must be on"));
        }
    }
    for file in
        tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml") && !file.path.contains("/fuzz/"))
    {
        let manifest = table(tree, &file.path);
        let inherits =
            manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool);
        if inherits != Some(true) {
            findings.push(format!("{}: [lints] workspace = true is missing", file.path));
        }
    }
    findings
}

fn table(tree: &Tree, path: &str) -> toml::Table {
    let file = tree.get(path).unwrap_or_else(|| panic!("{path} is missing"));
    file.text.parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "[workspace.lints.clippy]\ntoo_many_lines = 'warn'\ntoo_many_arguments = 'warn'\n";
    const CLIPPY: &str = "too-many-lines-threshold = 70\ntoo-many-arguments-threshold = 5\n";

    #[test]
    fn line_501_is_found_and_line_500_is_not() {
        let long = "x\n".repeat(501);
        let tree = Tree::planted(&[("a.rs", &long), ("b.rs", &long[..1000]), ("docs/c.md", &long)]);
        let findings = long_files(&tree);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].starts_with("a.rs: 501 lines"), "{findings:?}");
    }

    #[test]
    fn a_higher_threshold_and_a_silent_lint_are_found() {
        let clippy = CLIPPY.replace("70", "71");
        let tree = Tree::planted(&[
            ("clippy.toml", &clippy),
            ("Cargo.toml", &LINTS.replace("too_many_arguments = 'warn'", "")),
        ]);
        let findings = lax_lints(&tree);
        assert_eq!(findings.len(), 2, "{findings:?}");
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let tree = Tree::planted(&[
            ("clippy.toml", CLIPPY),
            ("Cargo.toml", LINTS),
            ("new/Cargo.toml", "[package]\nname = 'new'\n"),
        ]);
        assert_eq!(lax_lints(&tree), ["new/Cargo.toml: [lints] workspace = true is missing"]);
    }
}
