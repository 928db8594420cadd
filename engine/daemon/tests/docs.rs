//! Every TOML block of README and docs is one that `check` takes: what people copy works.

use std::path::{Path, PathBuf};

use crate::support::Folder;

/// A block with this after its fence is part of a file, not a whole one.
const FRAGMENT: &str = "fragment";
/// What a plugin's own Cargo.toml begins with: cargo's to judge.
const MANIFEST: &str = "[package]";
/// Sections of `config.toml`; a block that begins with one is that file.
const SECTIONS: [&str; 9] = [
    "[kafka",
    "[state",
    "[connectors",
    "[plugins",
    "[http",
    "[logging",
    "[supervision",
    "[shutdown",
    "[limits",
];

struct Block {
    place: String,
    text: String,
}

/// The whole TOML files among the fenced blocks of a page.
fn blocks(place: &str, page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        let inside: Vec<&str> = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| !line.trim_start().starts_with("```"))
            .collect();
        if info.starts_with("toml") && !info.contains(FRAGMENT) && inside.first() != Some(&MANIFEST) {
            blocks.push(Block { place: format!("{place}:{}", index + 1), text: inside.join("\n") });
        }
    }
    blocks
}

/// The files that the definitions of the pages name, from the examples.
const SCHEMAS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/examples/schemas");

/// A folder with a block as its only file, and what that may name.
fn folder_with(block: &Block, file: &str) -> Folder {
    let folder = Folder::new();
    folder.write(file, &block.text);
    std::fs::create_dir_all(folder.path().join("sources/schemas")).unwrap();
    for schema in std::fs::read_dir(SCHEMAS).unwrap() {
        let schema = schema.unwrap();
        std::fs::copy(schema.path(), folder.path().join("sources/schemas").join(schema.file_name())).unwrap();
    }
    folder
}

/// What `check` says about a block. A library that is not built is no fault of the page.
fn faults(block: &Block) -> Vec<String> {
    let is_config = SECTIONS.iter().any(|section| block.text.trim_start().starts_with(section));
    let file = if is_config { "config.toml" } else { "sources/a.toml" };
    let folder = folder_with(block, file);
    let arguments =
        if is_config { vec!["check", "--json", "--config", file] } else { vec!["check", "--json", file] };
    let (_, out, err) = folder.told(&arguments);
    let said: serde_json::Value =
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{}: {out}{err}", block.place));
    let findings = said["findings"].as_array().unwrap().iter();
    let faults =
        findings.filter(|finding| finding["severity"] == "error" && finding["code"] != "plugin.not_found");
    faults.map(|finding| format!("{}: {}", block.place, finding["reason"].as_str().unwrap())).collect()
}

fn pages() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut pages = vec![top.join("README.md")];
    let mut folders = vec![top.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

#[test]
fn every_definition_in_the_docs_passes_check() {
    let read = |page: PathBuf| blocks(&page.display().to_string(), &std::fs::read_to_string(&page).unwrap());
    let blocks: Vec<Block> = pages().into_iter().flat_map(read).collect();
    assert!(!blocks.is_empty(), "README has one at least");

    let faults: Vec<String> = blocks.iter().flat_map(faults).collect();

    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What `test` says about a definition that has tests, where one fails.
fn failed_tests(block: &Block) -> Option<String> {
    let folder = folder_with(block, "sources/a.toml");
    let (code, out, err) = folder.told(&["test", "sources/a.toml"]);
    (code != 0).then(|| format!("{}: {out}{err}", block.place))
}

#[test]
fn every_definition_of_the_page_of_schemas_passes_its_own_tests() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("docs/schemas.md");
    let blocks = blocks("schemas.md", &std::fs::read_to_string(page).unwrap());
    let tested: Vec<&Block> = blocks.iter().filter(|block| block.text.contains("[[tests]]")).collect();
    assert_eq!(tested.len(), 4, "one for each binary schema, and one for a convert transform");

    let failed: Vec<String> = tested.into_iter().filter_map(failed_tests).collect();

    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_example_of_schemas_passes_its_own_tests() {
    let text = std::fs::read_to_string(Path::new(SCHEMAS).with_extension("toml")).unwrap();
    let block = Block { place: "schemas.toml".to_owned(), text };
    assert_eq!(failed_tests(&block), None);
}

#[test]
fn a_block_that_check_refuses_is_found_and_a_fragment_is_not_looked_at() {
    let page = "```toml\ntype = \"source\"\nkey = \"a\"\npath = \"libnothing\"\n[[topics]]\ntopc = \"x\"\n```\n\
                ```toml fragment\nnot_a = \"whole file\"\n```\n```toml\n[kafka]\nbootstrap_server = \"x:1\"\n```\n";

    let faults: Vec<String> = blocks("page", page).iter().flat_map(faults).collect();

    assert!(faults.iter().any(|fault| fault.contains("page:1") && fault.contains("topc")), "{faults:?}");
    assert!(
        faults.iter().any(|fault| fault.contains("page:11") && fault.contains("bootstrap_server")),
        "{faults:?}"
    );
    assert!(!faults.iter().any(|fault| fault.contains("page:8")), "{faults:?}");
}
