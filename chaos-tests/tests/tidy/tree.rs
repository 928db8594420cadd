//! The text files of the repository. Rules get them as a value, so that their tests can plant what they like.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold what builds, runs and fuzzers leave behind.
const SKIPPED: [&str; 6] = ["target", ".git", "local_state", "corpus", "artifacts", "node_modules"];
/// Text, by the end of the name.
const TEXT: [&str; 14] =
    ["rs", "toml", "md", "txt", "sh", "py", "c", "h", "xml", "patch", "json", "yml", "service", "properties"];
/// Text without such an end.
const TEXT_NAMES: [&str; 4] = ["Makefile", "run", "Containerfile", ".gitignore"];
/// Written by a machine, or by others.
const FOREIGN: [&str; 2] = ["Cargo.lock", "LICENSE"];

/// One file: its path from the top of the repository, with `/`, and its text.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Is this Rust?
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The number of the line that holds byte `at`, counted from 1.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }
}

/// All text files, sorted by path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
    /// Every path there is, folders included: what a link may lead to.
    pub(crate) paths: Vec<String>,
}

impl Tree {
    /// This repository.
    pub(crate) fn read() -> Tree {
        let mut tree = Tree::default();
        tree.walk(&top(), "");
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(tree.files.len() > 100, "the repository is not where it should be: {}", top().display());
        tree
    }

    /// A repository made of these files, for the tests of the rules.
    #[cfg(test)]
    pub(crate) fn planted(files: &[(&str, &str)]) -> Tree {
        let files: Vec<File> = files
            .iter()
            .map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        let paths = files.iter().map(|file| file.path.clone()).collect();
        Tree { files, paths }
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// The file at this path.
    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    fn walk(&mut self, folder: &Path, prefix: &str) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if SKIPPED.contains(&name.as_str()) {
                continue;
            }
            let path = format!("{prefix}{name}");
            self.paths.push(path.clone());
            if entry.file_type().unwrap().is_dir() {
                self.walk(&entry.path(), &format!("{path}/"));
            } else if is_text(&name) {
                let text = fs::read_to_string(entry.path()).unwrap_or_else(|error| panic!("{path}: {error}"));
                self.files.push(File { path, text });
            }
        }
    }
}

/// The top of the repository.
pub(crate) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn is_text(name: &str) -> bool {
    if FOREIGN.contains(&name) {
        return false;
    }
    TEXT_NAMES.contains(&name) || name.rsplit_once('.').is_some_and(|(_, end)| TEXT.contains(&end))
}
