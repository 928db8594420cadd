//! The plugin guide shows files that are compiled, tested and linted here, to the letter.

use picomq_connector_sdk::conformance::{Bench, Setting};
use picomq_connector_sdk::{Error, State};
use serde_json::json;

use crate::template::Lines;

const GUIDE: &str = include_str!("../../../../docs/plugin-guide.md");

/// The Rust blocks of the guide.
fn blocks() -> Vec<&'static str> {
    GUIDE.split("```rust\n").skip(1).map(|rest| rest.split("```").next().expect("a block ends")).collect()
}

#[test]
fn the_template_of_the_guide_is_the_example() {
    assert_eq!(blocks()[0], include_str!("../../examples/lines.rs"));
}

#[test]
fn the_test_of_the_guide_is_the_one_that_runs_here() {
    // The guide's reader has the source in his own crate.
    let ours = include_str!("lines.rs").replace("use crate::template::Lines;", "use my_source::Lines;");
    assert_eq!(blocks()[1], ours);
}

#[tokio::test]
async fn the_template_says_what_is_wrong_with_its_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "short").unwrap();
    let config = json!({ "path": file.path(), "interval_ms": 0 });
    let state = State::encode(&json!({ "offset": 4096 }), 1).unwrap();
    let source = Bench::<Lines>::open(Setting::new(config).with_state(Some(state))).await.unwrap();
    let error = source.poll().await.unwrap_err();
    assert!(
        matches!(&error, Error::Permanent(text) if text.to_string().contains("delete the state")),
        "{error:?}"
    );
}
