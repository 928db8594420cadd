//! What a definition that came through the API may not do: reach further into this machine than the files already do.

use std::collections::BTreeSet;

use pico_config::{Finding, Location, Severity, Written};
use serde_json::Value;

/// Ends of the names of keys whose values are files.
const FILE_NAMES: [&str; 6] = ["path", "file", "files", "directory", "dir", "descriptor_set"];

/// What `text` would add to what its files hold: references, and values of keys that name files.
pub(crate) fn refusals(written: &Written, held: Option<&Written>, location: &Location) -> Vec<Finding> {
    let known = held.map(Written::references).unwrap_or_default();
    let mut findings: Vec<Finding> = written
        .references()
        .difference(&known)
        .map(|_reference| {
            let reason = "a definition that comes through the API may not add a reference";
            refusal("config.reference_through_api", reason, location)
                .with_hint("write the reference into the file in the folder of definitions")
        })
        .collect();
    let (files, held_files) = (file_values(written), held.map(file_values).unwrap_or_default());
    findings.extend(files.difference(&held_files).filter(|(path, value)| !is_bare_library(path, value)).map(
        |(path, _)| {
            let reason = format!(
                "a definition that comes through the API may not change `{path}`, which names a file"
            );
            refusal("config.file_through_api", &reason, location)
                .with_path(path.clone())
                .with_hint("write it into the file in the folder of definitions")
        },
    ));
    findings
}

fn refusal(code: &'static str, reason: &str, location: &Location) -> Finding {
    Finding::new(code, Severity::Error, location.clone(), reason)
}

/// A library of the plugin folders by its name, which the operator put there.
fn is_bare_library(path: &str, value: &str) -> bool {
    path == "path" && !value.contains(['/', '\\'])
}

fn file_values(written: &Written) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (path, value) in written.values() {
        let name = path
            .rsplit('.')
            .next()
            .unwrap_or(&path)
            .trim_end_matches(|c: char| c == ']' || c == '[' || c.is_ascii_digit());
        let names_file = FILE_NAMES.iter().any(|end| name == *end || name.ends_with(&format!("_{end}")));
        // A rule's `path` is a place in a record.
        let is_rule = path.ends_with(".topic.path");
        if let Value::String(text) = value
            && names_file
            && !is_rule
        {
            found.insert((path, text));
        }
    }
    found
}
