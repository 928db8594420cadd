//! docs/transforms.md: each definition of the page turns each input below it into the output below that.

use std::path::Path;

use pico_config::{Definition, Engine, Env, Limits, check_definition};
use pico_record::RecordPath;

use crate::given::{PROVENANCE, json, sent};

/// Fenced blocks: the words after the fence, and what stands inside.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let inside: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
        blocks.push((kind.to_owned(), inside.join("\n")));
    }
    blocks
}

fn definition(text: &str) -> Definition {
    let engine = Engine::defaults(Path::new("/srv"));
    let (definition, findings) = check_definition(Path::new("a.toml"), text, &engine, &Env::default());
    definition.unwrap_or_else(|| panic!("{text}\n{findings:#?}"))
}

/// The payload as it is sent, `filtered`, or the code of the failure.
fn outcome(definition: &Definition, payload: &str) -> String {
    let path = RecordPath::new(&definition.topics, &Limits::default()).unwrap();
    let mut path = path.with_transforms(&definition.transforms).unwrap();
    match path.route(json(&[payload]), PROVENANCE) {
        Ok(routed) if routed.outgoing() == 0 => "filtered".to_owned(),
        Ok(routed) => String::from_utf8(sent(&routed).remove(0).payload.unwrap()).unwrap(),
        Err(failure) => failure.code.to_owned(),
    }
}

#[test]
fn every_example_of_the_page_gives_what_it_says() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/transforms.md")).unwrap();
    let (mut current, mut input, mut compared) = (None, None, 0);
    let mut types = Vec::new();
    for (kind, text) in blocks(&page) {
        match kind.as_str() {
            "toml" => current = Some(definition(&text)),
            "json input" => input = Some(text),
            "json output" | "text output" => {
                let definition = current.as_ref().expect("an output stands below its definition");
                let input = input.take().expect("an output stands below its input");
                assert_eq!(outcome(definition, &input), text, "{input}");
                types.extend(definition.transforms.iter().map(|transform| transform.action.type_name()));
                compared += 1;
            }
            other => panic!("a block of no known kind: {other}"),
        }
    }
    assert!(compared >= 12);
    for name in [
        "add_fields",
        "update_fields",
        "delete_fields",
        "rename_fields",
        "filter_fields",
        "filter_records",
        "mask_fields",
        "unwrap_envelope",
        "jq",
    ] {
        assert!(types.contains(&name), "{name} has no example");
        assert!(page.contains(&format!("\n## {name}\n")), "{name} has no section");
    }
}
