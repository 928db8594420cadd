//! Reads a few fields out of a JSON payload in the same pass that checks it to be JSON.
//!
//! serde_json does the parsing; this module only steers it: along the asked paths it descends, everything else it
//! skips while validating. No tree is built. The field paths of all blocks lie in one [`FieldTree`], so a payload is
//! walked once however many blocks ask.
//!
//! What is JSON is what serde_json takes (RFC 8259, UTF-8, nothing after the value). Of a key that stands twice in one
//! object the last one counts. A dotted path descends objects; a segment that is a number also indexes an array. A
//! key that holds a dot itself is not reached by a dotted path.

mod fields;
mod walk;

use std::str::Utf8Error;

use serde::de::{DeserializeSeed, IgnoredAny};

pub(crate) use fields::{Absence, FieldTree, Fields, Slot};
use walk::{Care, Walk};

/// Why a payload is not JSON.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotJson {
    #[error("{0}")]
    Encoding(#[from] Utf8Error),
    #[error("{0}")]
    Grammar(#[from] serde_json::Error),
}

impl Fields {
    /// Checks `payload` to be one JSON text and files what stands at the paths of `tree`. After an error every path
    /// is absent.
    pub(crate) fn read(&mut self, tree: &FieldTree, payload: &[u8]) -> Result<(), NotJson> {
        let outcome = self.walk(tree, payload);
        if outcome.is_err() {
            self.forget(tree, Absence::NotJson);
        }
        outcome
    }

    fn walk(&mut self, tree: &FieldTree, payload: &[u8]) -> Result<(), NotJson> {
        let text = std::str::from_utf8(payload)?;
        if tree.is_empty() {
            serde_json::from_str::<IgnoredAny>(text)?;
            return Ok(());
        }
        if self.descend(tree, text, Care::Swift).is_ok() {
            return Ok(());
        }
        // Beside the asked fields stands something that serde_json validates but cannot hold, such as half a
        // surrogate pair or 1e999; or the text is no JSON, and then this says where.
        serde_json::from_str::<IgnoredAny>(text)?;
        self.descend(tree, text, Care::Raw)?;
        Ok(())
    }

    fn descend(&mut self, tree: &FieldTree, text: &str, care: Care) -> Result<(), serde_json::Error> {
        self.forget(tree, Absence::NotThere);
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let base = text.as_ptr().addr();
        Walk { node: &tree.root, fields: self, base, care }.deserialize(&mut deserializer)?;
        deserializer.end()
    }
}

#[cfg(test)]
mod tests;
