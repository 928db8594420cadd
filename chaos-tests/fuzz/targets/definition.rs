//! A definition as anybody may write it: never a panic, and refused exactly when there is an error among the findings.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pico_config::{Engine, Env, check_definition};

static ENGINE: LazyLock<Engine> = LazyLock::new(|| Engine::defaults(Path::new("/nowhere")));

fuzz_target!(|text: &str| {
    // `${file:…}` would read what lies on this machine.
    if text.contains("${file:") {
        return;
    }
    let (definition, findings) = check_definition(Path::new("fuzz.toml"), text, &ENGINE, &Env::default());
    if let Some(definition) = definition {
        assert!(!findings.iter().any(|finding| finding.is_error()), "good and refused at once: {findings:?}");
        assert!(!definition.topics.is_empty(), "a source without topics");
    }
    for finding in findings {
        assert!(!finding.summary().is_empty());
    }
});
