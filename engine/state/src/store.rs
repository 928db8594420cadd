//! The file store of the process: who may open which source, and what is kept for it.

use std::path::Path;
use std::sync::Arc;

use pico_config::SourceKey;
use tokio::sync::OwnedMutexGuard;

use crate::asked::Asked;
use crate::error::StateError;
use crate::fault;
use crate::folder::Folder;
use crate::format::{self, Checkpoint};
use crate::lease::{self, Lease};
use crate::slot::{Held, Names, Slot, Table};

/// Largest file of what a person asked: one word.
const ASKED_BYTES_MAX: u64 = 64;

/// One file a source in one folder. The process has exactly one of these per folder and clones it freely: the
/// clones share the table that makes an opening wait for what a former opening left under way.
#[derive(Debug, Clone)]
pub struct FileStore {
    folder: Arc<Folder>,
    table: Arc<Table>,
}

/// What an opening found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// Random name of this opening, in the file from now on.
    pub life: u64,
    /// Number of the newest batch whose state was saved, 0 when there is none.
    pub number: u64,
    /// The saved state: `None` when nothing was ever saved. An empty one is a state.
    pub state: Option<Vec<u8>>,
}

impl FileStore {
    /// Opens the folder at `path`, making it where it is missing (0700). Blocks on the disk: called once, while
    /// the process starts.
    ///
    /// # Errors
    /// [`StateError::Io`] when the folder cannot be made or opened, [`StateError::FolderOpen`] when everybody may
    /// write to it.
    pub fn open_folder(path: &Path) -> Result<FileStore, StateError> {
        let folder = Arc::new(Folder::open(path)?);
        Ok(FileStore { folder, table: Arc::new(Table::default()) })
    }

    /// Opens one source: claims it, waits for a write that a former opening of this process left under way,
    /// loads, and writes what it loaded once more in full under a new life. Only then is it handed out, because
    /// what was read may be a rename whose folder was never synced.
    ///
    /// A former lease of this process that is still alive loses the source: it saves nothing any more.
    ///
    /// # Errors
    /// [`StateError::Locked`] when another process runs the source, [`StateError::Unreadable`] for a file that
    /// is not a complete checkpoint, [`StateError::Io`] for anything that may pass.
    pub async fn open(&self, key: &SourceKey) -> Result<(Lease, Loaded), StateError> {
        let slot = self.slot(key).await;
        // The claim: whoever held the slot before is done with its write when this returns, and from `claim` on
        // its opening is an old one.
        let mut held = slot.clone().lock_owned().await;
        let folder = self.folder.clone();
        let loading = tokio::task::spawn_blocking(move || {
            let loaded = held.claim(&folder)?;
            Ok::<_, StateError>((held, loaded))
        });
        let (held, checkpoint) = loading.await.map_err(|source| StateError::Unfinished { source })??;
        let lease = Lease::new(self.folder.clone(), slot, &held);
        let loaded = match checkpoint {
            None => Loaded { life: lease.life(), number: 0, state: None },
            Some(checkpoint) => self.renew(held, &lease, checkpoint).await?,
        };
        Ok((lease, loaded))
    }

    /// Makes durable what was loaded, under the new life.
    async fn renew(
        &self,
        held: OwnedMutexGuard<Held>,
        lease: &Lease,
        checkpoint: Checkpoint,
    ) -> Result<Loaded, StateError> {
        let Checkpoint { number, state, .. } = checkpoint;
        let content = format::encode(lease.life(), number, &state);
        let held = lease::write(held, self.folder.clone(), content).await?;
        fault::point("life_written");
        drop(held);
        Ok(Loaded { life: lease.life(), number, state: Some(state) })
    }

    /// What a person last asked of this source; [`Asked::Running`] when nothing was.
    ///
    /// # Errors
    /// [`StateError::UnknownAsked`] when the file holds another word: it is reported, not guessed.
    pub async fn asked(&self, key: &SourceKey) -> Result<Asked, StateError> {
        let names = Names::of(key);
        let folder = self.folder.clone();
        blocking(move || match folder.read(&names.asked, ASKED_BYTES_MAX)? {
            None => Ok(Asked::Running),
            Some(text) => Asked::parse(&text)
                .ok_or_else(|| StateError::UnknownAsked { file: folder.path_of(&names.asked) }),
        })
        .await
    }

    /// Keeps what a person asked, durably, before the answer to them is given.
    ///
    /// # Errors
    /// [`StateError::Io`] when it could not be written; what was asked before holds then.
    pub async fn set_asked(&self, key: &SourceKey, asked: Asked) -> Result<(), StateError> {
        let folder = self.folder.clone();
        let content = format!("{}\n", asked.as_str());
        // In turn with everything else that writes for this source: an opening removes leftovers.
        let held = self.slot(key).await.lock_owned().await;
        blocking(move || {
            let Names { asked, asked_temporary, .. } = &*held.names;
            folder.replace(asked, asked_temporary, content.as_bytes())
        })
        .await
    }

    /// The slot of a key, made where this process has none.
    async fn slot(&self, key: &SourceKey) -> Slot {
        loop {
            if let Some(slot) = self.table.slot(key) {
                return slot;
            }
            // The last owner of the former slot is closing its lock file on another thread this moment.
            tokio::task::yield_now().await;
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StateError> + Send + 'static,
) -> Result<T, StateError> {
    tokio::task::spawn_blocking(work).await.map_err(|source| StateError::Unfinished { source })?
}
