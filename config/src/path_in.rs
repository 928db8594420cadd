//! Paths of config.toml.

use std::path::{Path, PathBuf};

use crate::checked::Fields;
use crate::context::{Context, Draft};

/// A path of the file, absolute; an empty one is refused.
pub(crate) fn path_in(cx: &mut Context<'_>, table: &Fields, name: &str, folder: &Path) -> Option<PathBuf> {
    let (text, place) = table.text(name)?;
    if text.is_empty() {
        cx.add(place, Draft::error("config.empty", format!("`{name}` is empty")));
        return None;
    }
    Some(folder.join(text))
}
