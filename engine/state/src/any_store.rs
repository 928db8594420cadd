//! The store that the configuration names, whichever it is.

use std::path::Path;
use std::sync::Arc;

use pico_actors::ports::StorePort;
use pico_config::{SourceKey, StateConfig};

use crate::asked::Asked;
use crate::error::StateError;
use crate::http::HttpStore;
use crate::store::{Borrowed, FileStore, Loaded, Saved};

/// Where checkpoints are kept. The process has one; clones share what makes an opening wait for a former one.
#[derive(Debug, Clone)]
pub enum AnyStore {
    /// One file a source.
    File(FileStore),
    /// One resource a source, on a server.
    Http(HttpStore),
}

impl AnyStore {
    /// The store of `[state]`. May block on the disk: called once, while the process starts.
    ///
    /// # Errors
    /// The folder cannot be used, or the client of the server cannot be made. The server itself is not asked yet.
    pub fn of(config: &StateConfig) -> Result<AnyStore, StateError> {
        match config {
            StateConfig::File { path } => FileStore::open_folder(path).map(AnyStore::File),
            StateConfig::Http(http) => HttpStore::new((**http).clone()).map(AnyStore::Http),
        }
    }

    /// Opens one source for this process: see [`FileStore::open`] and [`HttpStore::open`].
    ///
    /// # Errors
    /// As there.
    pub async fn open(&self, key: &SourceKey) -> Result<(Arc<dyn StorePort>, Loaded), StateError> {
        match self {
            AnyStore::File(store) => {
                store.open(key).await.map(|(lease, loaded)| (Arc::new(lease) as Arc<dyn StorePort>, loaded))
            }
            AnyStore::Http(store) => {
                store.open(key).await.map(|(lease, loaded)| (Arc::new(lease) as Arc<dyn StorePort>, loaded))
            }
        }
    }

    /// What is saved now, without taking the source. A state file is replaced whole, so this is right at any time.
    ///
    /// # Errors
    /// It cannot be read, or is no state.
    pub async fn read(&self, key: &SourceKey) -> Result<Saved, StateError> {
        match self {
            AnyStore::File(store) => store.read(key).await,
            AnyStore::Http(store) => Ok(Saved { number: None, state: store.read(key).await? }),
        }
    }

    /// Keeps everybody from running the source while the answer lives, where that can be had, and reads what is saved:
    /// see [`FileStore::borrow`]. A server has no lock.
    ///
    /// # Errors
    /// As there.
    pub async fn borrow(&self, key: &SourceKey) -> Result<(Option<Borrowed>, Saved), StateError> {
        match self {
            AnyStore::File(store) => store.borrow(key).await.map(|(held, saved)| (Some(held), saved)),
            AnyStore::Http(_) => Ok((None, self.read(key).await?)),
        }
    }

    /// Puts `state` in the place of what is saved, durably; `None` removes it, so that the source begins afresh.
    ///
    /// # Errors
    /// [`StateError::InUse`] while an opening of this process has the source, [`StateError::Locked`] while another
    /// process has its file.
    pub async fn replace(&self, key: &SourceKey, state: Option<Vec<u8>>) -> Result<(), StateError> {
        match self {
            AnyStore::File(store) => store.replace_state(key, state).await,
            AnyStore::Http(store) => store.replace(key, state).await,
        }
    }

    /// What a person last asked of this source; [`Asked::Running`] where that is not kept.
    ///
    /// # Errors
    /// As of [`FileStore::asked`].
    pub async fn asked(&self, key: &SourceKey) -> Result<Asked, StateError> {
        match self {
            AnyStore::File(store) => store.asked(key).await,
            AnyStore::Http(_) => Ok(Asked::Running),
        }
    }

    /// Keeps what a person asked.
    ///
    /// # Errors
    /// [`StateError::AskedNotKept`] on a server, which keeps checkpoints only.
    pub async fn set_asked(&self, key: &SourceKey, asked: Asked) -> Result<(), StateError> {
        match self {
            AnyStore::File(store) => store.set_asked(key, asked).await,
            AnyStore::Http(_) => Err(StateError::AskedNotKept),
        }
    }

    /// Whether what a person asks of a source outlives the process.
    pub fn keeps_asked(&self) -> bool {
        match self {
            AnyStore::File(_) => true,
            AnyStore::Http(_) => false,
        }
    }

    /// Where checkpoints are, as it may be shown to anybody: the folder, or the origin of the server.
    pub fn shown(&self) -> String {
        match self {
            AnyStore::File(store) => store.path().display().to_string(),
            AnyStore::Http(store) => store.origin(),
        }
    }

    /// The folder, where there is one.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            AnyStore::File(store) => Some(store.path()),
            AnyStore::Http(_) => None,
        }
    }
}
