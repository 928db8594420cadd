//! A `.proto` file and all that it imports. Only the import statements are read here; what else a file says is for the
//! compiler to judge.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::context::{Context, Draft, Place};
use crate::schema_file::read_text;

/// Files that come with protobuf, and with its compilers.
const BUILT_IN: &str = "google/protobuf/";
/// Most files of one schema.
const FILES_MAX: usize = 500;

/// Files by the names under which they are imported.
pub(crate) struct ProtoFiles {
    pub(crate) root: String,
    pub(crate) files: BTreeMap<String, String>,
}

impl ProtoFiles {
    /// Reads the file, and each import from the first of `folders` that has it; without folders from the root's own.
    /// None when a finding says why not.
    pub(crate) fn read(
        cx: &mut Context<'_>,
        file: &Path,
        folders: &[PathBuf],
        place: &Place,
    ) -> Option<ProtoFiles> {
        let own = [file.parent().unwrap_or(Path::new("")).to_owned()];
        let folders = if folders.is_empty() { &own[..] } else { folders };
        // Protobuf knows a file by its path below the folder it was found in.
        let below = folders.iter().find_map(|folder| file.strip_prefix(folder).ok());
        let name = below.or_else(|| file.file_name().map(Path::new)).unwrap_or(file);
        let root = name.to_string_lossy().into_owned();
        let text = read_text(cx, file, place)?;
        let mut files = BTreeMap::new();
        let mut waiting = imports(&text);
        files.insert(root.clone(), text);
        while let Some(import) = waiting.pop() {
            if import.starts_with(BUILT_IN) || files.contains_key(&import) {
                continue;
            }
            let Some(found) = find(&import, folders) else {
                missing(cx, &import, folders, place);
                return None;
            };
            let text = read_text(cx, &found, place)?;
            waiting.extend(imports(&text));
            files.insert(import, text);
            if files.len() > FILES_MAX {
                let reason = format!("`{}` imports more than {FILES_MAX} files", place.name());
                cx.add(place, Draft::error("config.bad_schema", reason));
                return None;
            }
        }
        Some(ProtoFiles { root, files })
    }
}

/// An import leads into a folder, never out of it.
fn find(import: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let is_below = Path::new(import).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let mut candidates = folders.iter().map(|folder| folder.join(import));
    if is_below { candidates.find(|candidate| candidate.is_file()) } else { None }
}

fn missing(cx: &mut Context<'_>, import: &str, folders: &[PathBuf], place: &Place) {
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let reason = format!("`{}` imports {import:?}, which is not in {}", place.name(), folders.join(" or "));
    let hint = "name the folders that imports are counted from: proto_include_paths = [\"…\"]";
    cx.add(place, Draft::error("config.bad_schema", reason).hint(hint));
}

/// The names after `import`, `import public` and `import weak`.
fn imports(text: &str) -> Vec<String> {
    let mut imports = Vec::new();
    let words = Words { rest: text };
    let mut is_after_import = false;
    for word in words {
        match word {
            Word::Plain("import") => is_after_import = true,
            Word::Plain("public" | "weak") => {}
            Word::Quoted(name) if is_after_import => {
                imports.push(name.to_owned());
                is_after_import = false;
            }
            Word::Plain(_) | Word::Quoted(_) => is_after_import = false,
        }
    }
    imports
}

/// Words, quoted strings and single signs of a `.proto` file, without its comments.
struct Words<'a> {
    rest: &'a str,
}

enum Word<'a> {
    Plain(&'a str),
    Quoted(&'a str),
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        loop {
            self.rest = self.rest.trim_start();
            let first = self.rest.chars().next()?;
            if let Some(comment) = self.rest.strip_prefix("//") {
                self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
            } else if first == '"' || first == '\'' {
                return Some(Word::Quoted(self.quoted(first)));
            } else {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                let length = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len()).max(first.len_utf8());
                let (word, rest) = self.rest.split_at(length);
                self.rest = rest;
                return Some(Word::Plain(word));
            }
        }
    }
}

impl<'a> Words<'a> {
    /// What stands between two quotes, with its escapes as they are.
    fn quoted(&mut self, quote: char) -> &'a str {
        let inner = &self.rest[1..];
        let mut is_escaped = false;
        let end = inner.find(|c: char| {
            let is_end = c == quote && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        let end = end.unwrap_or(inner.len());
        self.rest = inner.get(end + 1..).unwrap_or("");
        &inner[..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_import_statements_are_imports() {
        let text = r#"
            syntax = "proto3"; // import "comment.proto";
            /* import "block.proto"; */
            import "a.proto";import public 'b/c.proto' ;
            import weak "d.proto";
            option go_package = "import \"x.proto\"";
            message M { string import = 1 [default = "e.proto"]; string imported = 2; }
        "#;
        assert_eq!(imports(text), ["a.proto", "b/c.proto", "d.proto"]);
    }

    #[test]
    fn a_text_that_breaks_off_ends_the_search() {
        for text in ["import \"a", "import \"", "/*", "//", "import 'a\\'", "é"] {
            assert!(imports(text).len() <= 1, "{text}");
        }
    }
}
