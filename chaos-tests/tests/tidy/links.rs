//! What the docs point at is there: pages and headings, files, and the tests that show a promise.

use std::collections::HashSet;

use crate::rust::functions;
use crate::tree::{File, Tree};

/// The top-level folders of the layout: a name in backticks that begins with one is a path.
const FOLDERS: [&str; 7] = ["actors/", "config/", "engine/", "plugins/", "chaos-tests/", "docs/", ".ci/"];
/// A name in backticks with so many underscores is the name of a test; metrics begin with our prefix.
const UNDERSCORES_OF_A_TEST: usize = 4;
const METRIC: &str = "picomq_";

fn pages(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| file.path.ends_with(".md"))
}

/// Every relative link whose page or heading is not there.
pub(crate) fn broken(tree: &Tree) -> Vec<String> {
    pages(tree)
        .flat_map(|page| links(page).filter_map(|(at, target)| broken_link(tree, page, at, target)))
        .collect()
}

fn links(page: &File) -> impl Iterator<Item = (usize, &str)> {
    page.text.match_indices("](").filter_map(|(at, _)| {
        let target = page.text[at + 2..].split([')', '\n', ' ']).next()?;
        Some((at, target))
    })
}

fn broken_link(tree: &Tree, page: &File, at: usize, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (to, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if to.is_empty() { page.path.clone() } else { resolve(&page.path, to) };
    let place = format!("{}:{}", page.path, page.line_of(at));
    if !tree.paths.contains(&path) {
        return Some(format!("{place}: {target} leads nowhere"));
    }
    let is_there = heading.is_empty()
        || tree.get(&path).is_some_and(|file| headings(&file.text).any(|slug| slug == heading));
    (!is_there).then(|| format!("{place}: {path} has no heading #{heading}"))
}

/// `target` as seen from the folder of `page`.
fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a page, as GitHub makes them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let heading = |line: &str| Some(line.strip_prefix('#')?.trim_start_matches('#').trim().to_lowercase());
    text.lines().filter_map(heading).map(|heading| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// Every path in backticks that is not there. Patterns (`*`, `{`, `<`) and places in capitals are left alone.
pub(crate) fn absent_files(tree: &Tree) -> Vec<String> {
    let is_path = |name: &str| FOLDERS.iter().any(|folder| name.starts_with(folder));
    let is_pattern = |name: &str| name.contains(['*', '{', '<', ' ', '$', '…']) || name.contains("NAME");
    named(tree, |name| {
        is_path(name)
            && !is_pattern(name)
            && !tree.paths.iter().any(|path| path == name.trim_end_matches('/'))
    })
    .map(|(place, name)| format!("{place}: no file {name}"))
    .collect()
}

/// Every test named in backticks that is not there. It may be written with the modules it lies in.
pub(crate) fn absent_tests(tree: &Tree) -> Vec<String> {
    let tests: HashSet<String> = tree.rust().flat_map(|file| functions(&file.text)).collect();
    let is_test = |name: &str| {
        let is_name =
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        is_name && name.matches('_').count() >= UNDERSCORES_OF_A_TEST && !name.starts_with(METRIC)
    };
    let last = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    named(tree, |name| is_test(&last(name)) && !tests.contains(&last(name)))
        .map(|(place, name)| format!("{place}: no test {name}"))
        .collect()
}

/// Everything in backticks of every page, fenced blocks left out, that fits.
fn named(tree: &Tree, fits: impl Fn(&str) -> bool) -> impl Iterator<Item = (String, String)> {
    let mut found = Vec::new();
    for page in pages(tree) {
        let mut is_fenced = false;
        for (index, line) in page.text.lines().enumerate() {
            is_fenced ^= line.trim_start().starts_with("```");
            let names = line.split('`').skip(1).step_by(2).filter(|_| !is_fenced);
            found.extend(
                names
                    .filter(|name| fits(name))
                    .map(|name| (format!("{}:{}", page.path, index + 1), name.to_owned())),
            );
        }
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leads_nowhere_and_a_missing_heading_are_found() {
        let page = "[a](b.md) [c](../README.md#the-tree) [d](absent.md) [e](b.md#gone) [f](https://example.com) [g](#here)\n# Here\n";
        let tree =
            Tree::planted(&[("docs/a.md", page), ("docs/b.md", "# B\n"), ("README.md", "## The tree!\n")]);
        assert_eq!(
            broken(&tree),
            ["docs/a.md:1: absent.md leads nowhere", "docs/a.md:1: docs/b.md has no heading #gone"]
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_found() {
        let tree = Tree::planted(&[(
            "docs/a.md",
            "`docs/a.md` `actors/src/gone.rs` `plugins/*/src` `max_topics`\n",
        )]);
        assert_eq!(absent_files(&tree), ["docs/a.md:1: no file actors/src/gone.rs"]);
    }

    #[test]
    fn a_test_that_is_not_there_is_found() {
        let page = "`nothing_is_lost_after_a_kill` `tree::nothing_is_lost_here` `nothing_is_lost_any_more`\n`picomq_connector_a_b_total`";
        let tree = Tree::planted(&[("docs/a.md", page), ("a.rs", "fn nothing_is_lost_after_a_kill() {}")]);
        assert_eq!(absent_tests(&tree), ["docs/a.md:1: no test nothing_is_lost_any_more"]);
    }
}
