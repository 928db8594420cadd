//! What the daemon gives the engine: the sources to keep, and the settings they share.

use std::sync::Arc;
use std::time::Duration;

use pico_config::Definition;

use crate::cause::Cause;
use crate::difference::Item;
use crate::lifecycle::Asked;
use crate::ports::{DeliveryFactory, PluginFactory};

/// One source to keep: a definition with its doors, or a file that could not be read as one.
pub enum Entry {
    /// A checked definition.
    Good(Box<SourceSpec>),
    /// Listed with status `error` so that nobody looks for it in vain.
    Bad(BadSource),
}

impl Entry {
    /// Its key; for a file that is no definition the one it is listed under.
    pub fn key(&self) -> &str {
        match self {
            Entry::Good(spec) => spec.definition.key.as_str(),
            Entry::Bad(bad) => &bad.key,
        }
    }

    /// What the difference of two sets depends on.
    pub fn item(&self) -> Item<'_> {
        let definition = match self {
            Entry::Good(spec) => Some(&*spec.definition),
            Entry::Bad(_) => None,
        };
        Item { key: self.key(), definition, has_failed: false }
    }
}

/// A checked definition with its doors.
#[derive(Clone)]
pub struct SourceSpec {
    /// The definition.
    pub definition: Arc<Definition>,
    /// Opens instances of its plugin.
    pub plugin: Arc<dyn PluginFactory>,
    /// Opens its store and broker.
    pub delivery: Arc<dyn DeliveryFactory>,
    /// Keeps what a person asked for.
    pub asked: Arc<dyn AskedStore>,
}

/// A file that could not be read as a definition.
#[derive(Debug, Clone)]
pub struct BadSource {
    /// Key in the file, else its stem.
    pub key: String,
    /// Library it names, empty when it names none.
    pub path: String,
    /// The findings, in one line each.
    pub cause: Cause,
}

/// Keeps what a person asked for beside the state. Blocking and small: called from a blocking thread.
pub trait AskedStore: Send + Sync + 'static {
    /// What was asked last; `Running` when nothing was, or when it cannot be kept.
    fn load(&self) -> Result<Asked, Cause>;
    /// Keeps it.
    fn save(&self, asked: Asked) -> Result<(), Cause>;
}

/// One source as a reload finds it.
#[derive(Debug, Clone)]
pub struct RunningSource {
    /// Its key.
    pub key: String,
    /// In force, or on its way to be; `None` for a file that is no definition.
    pub definition: Option<Arc<Definition>>,
    /// What was told last and did not open; `None` when the last reload went well.
    pub refused: Option<Arc<Definition>>,
    /// A changed definition is not open yet.
    pub is_reloading: bool,
    /// Its file, or its changed definition, could not be used, and what ran before runs on.
    pub has_reload_failed: bool,
}

impl RunningSource {
    pub(crate) fn of_bad(bad: &BadSource) -> RunningSource {
        RunningSource {
            key: bad.key.clone(),
            definition: None,
            refused: None,
            is_reloading: false,
            has_reload_failed: false,
        }
    }

    pub(crate) fn of_entry(entry: &Entry) -> RunningSource {
        match entry {
            Entry::Good(spec) => RunningSource {
                key: entry.key().to_owned(),
                definition: Some(spec.definition.clone()),
                refused: None,
                is_reloading: true,
                has_reload_failed: false,
            },
            Entry::Bad(bad) => RunningSource::of_bad(bad),
        }
    }

    /// What the difference of two sets depends on: what is in force, or, where what failed is not tried again, what was
    /// told last.
    pub fn item_told(&self, retries_failed: bool) -> Item<'_> {
        let told = self.refused.as_ref().filter(|_| !retries_failed).or(self.definition.as_ref());
        Item { key: &self.key, definition: told.map(|told| &**told), has_failed: false }
    }
}

/// Settings of the process that every source shares.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// Limits of one source and of all together.
    pub limits: pico_config::Limits,
    /// What a stop waits for batches in flight.
    pub grace: Duration,
}
