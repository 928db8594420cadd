//! What one load leaves to the next.

use std::path::PathBuf;

use pico_config::{Definition, Definitions, Owners};

use super::look::Look;

/// What is left of the last load.
#[derive(Debug, Default, Clone)]
pub(crate) struct Last {
    pub(super) owners: Owners,
    pub(super) referenced: Vec<PathBuf>,
    pub(super) look: Option<Look>,
}

impl Last {
    /// After the definitions were loaded for the start.
    pub(crate) fn of_start(definitions: &Definitions) -> Last {
        let owner = |good: &Definition| (good.key.folded(), good.file.clone());
        Last {
            owners: definitions.good.iter().map(owner).collect(),
            referenced: definitions.referenced.iter().cloned().collect(),
            look: None,
        }
    }
}
