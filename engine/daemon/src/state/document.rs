//! A state as people and programs get it, from the API, in an exported file, on the terminal.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pico_config::SourceKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::trouble::Trouble;

/// What is saved of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Document {
    /// Whose it is.
    pub(crate) key: String,
    /// Folder, or origin of the server.
    pub(crate) store: String,
    /// What is there; null: nothing was ever saved.
    pub(crate) saved: Option<Summary>,
    /// The bytes in base64: what `import` takes. Not for a key that may read only.
    pub(crate) state: Option<String>,
}

/// What can be said of a state without its bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Its size; null for one that cannot be read.
    pub(crate) bytes: Option<usize>,
    /// Number of the batch it covers; null where the store keeps none.
    pub(crate) number: Option<u64>,
    /// What it means, in the plugin's words.
    pub(crate) described: Option<Value>,
    /// Why there are none, or why it cannot be read.
    pub(crate) note: Option<String>,
}

/// What a change would do, or did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// Whose state.
    pub(crate) key: String,
    /// What is, or was, there.
    pub(crate) now: Option<Summary>,
    /// What comes in its place; null: nothing, the source begins afresh.
    pub(crate) then: Option<Summary>,
    /// What will be sent again or left out.
    pub(crate) means: String,
}

/// What a person wants in the place of the saved state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// These bytes.
    State(Vec<u8>),
    /// Nothing.
    Nothing,
}

/// The parts of a document that an import looks at; everything else in it is for people.
#[derive(Debug, Deserialize)]
struct Imported {
    key: Option<String>,
    state: Option<String>,
}

impl Document {
    pub(crate) fn new(key: &SourceKey, store: String, saved: Option<(Summary, Vec<u8>)>) -> Document {
        let (saved, state) = saved.map(|(summary, state)| (summary, STANDARD.encode(state))).unzip();
        Document { key: key.as_str().to_owned(), store, saved, state }
    }
}

/// The bytes of an exported document, and whose they were.
///
/// # Errors
/// It is no such document.
pub(crate) fn parse(text: &[u8]) -> Result<(Vec<u8>, Option<String>), Trouble> {
    let document: Imported = serde_json::from_slice(text)
        .map_err(|error| Trouble::Document(format!("not what `state export` writes: {error}")))?;
    let state = document.state.ok_or_else(|| {
        Trouble::Document("it holds no state; to begin afresh use `state reset`".to_owned())
    })?;
    let state = STANDARD
        .decode(state)
        .map_err(|error| Trouble::Document(format!("its `state` is no base64: {error}")))?;
    Ok((state, document.key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exported_is_what_is_imported() {
        let summary = Summary { bytes: Some(3), number: Some(7), described: None, note: None };
        let key = "orders".parse().unwrap();
        let document = Document::new(&key, "/state".to_owned(), Some((summary, vec![0, 255, 7])));
        let text = serde_json::to_vec(&document).unwrap();
        assert_eq!(parse(&text).unwrap(), (vec![0, 255, 7], Some("orders".to_owned())));
    }

    #[test]
    fn an_empty_state_is_one_and_none_is_not() {
        assert_eq!(parse(br#"{"state": ""}"#).unwrap(), (Vec::new(), None));
        for bad in ["", "[]", "{}", r#"{"state": null}"#, r#"{"state": "%"}"#, r#"{"state": 5}"#] {
            assert!(matches!(parse(bad.as_bytes()), Err(Trouble::Document(_))), "{bad}");
        }
    }
}
