//! A source that does not run.

use crate::config::Mode;
use crate::settings::Settings;
use crate::state::Saved;

/// A stopped source: what the definition says and what is saved.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) key: String,
    pub(crate) mode: Mode,
    pub(crate) settings: Settings,
    pub(crate) saved: Saved,
}
