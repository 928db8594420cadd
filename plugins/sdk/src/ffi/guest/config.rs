//! `[plugin_config]` read into the author's type.

use serde::de::DeserializeOwned;

use crate::Error;

/// Reads the configuration; what is wrong with it is a [`Error::Config`].
pub(super) fn read<C: DeserializeOwned>(text: &str) -> Result<C, Error> {
    // By way of a tree, so that the message has no line and column of a text the person never saw.
    let tree: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| Error::config("plugin_config did not arrive as JSON").with_cause(error))?;
    serde_json::from_value(tree).map_err(|error| Error::config("plugin_config").with_cause(error))
}
