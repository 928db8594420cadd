//! The file store of the process: who may open which source, and what is kept for it.

use std::path::Path;
use std::sync::Arc;

use pico_actors::fault;
use pico_config::SourceKey;
use tokio::sync::{OwnedMutexGuard, Semaphore};

use crate::asked::Asked;
use crate::error::StateError;
use crate::folder::Folder;
use crate::format::{self, Checkpoint, STATE_BYTES_MAX};
use crate::lease::{self, Lease};
use crate::slot::{self, Held, Names, Slot, Table};

/// Openings that touch the disk at once. A thread each, and a thread's memory stays with the allocator for a while: a
/// thousand sources that start together would have hundreds, and the disk is not faster for it.
const OPENINGS_AT_ONCE: usize = 16;

/// Largest file of what a person asked: one word.
const ASKED_BYTES_MAX: u64 = 64;

/// One file a source in one folder. The process has exactly one of these per folder and clones it freely: the
/// clones share the table that makes an opening wait for what a former opening left under way.
#[derive(Debug, Clone)]
pub struct FileStore {
    folder: Arc<Folder>,
    table: Arc<Table>,
    /// Openings that may touch the disk.
    openings: Arc<Semaphore>,
}

/// A source that nobody runs while this lives, because somebody looks at it.
#[derive(Debug)]
pub struct Borrowed {
    held: OwnedMutexGuard<Held>,
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.held.give_back();
    }
}

/// What is saved of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Number of the batch it covers; `None` where the store keeps none, or nothing is saved.
    pub number: Option<u64>,
    /// The plugin's bytes; `None` when nothing was ever saved.
    pub state: Option<Vec<u8>>,
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
        let openings = Arc::new(Semaphore::new(OPENINGS_AT_ONCE));
        Ok(FileStore { folder, table: Arc::new(Table::default()), openings })
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
        // Only once the slot is ours: waiting for a former opening of it keeps no other source from the disk.
        let _turn = self.openings.acquire().await.expect("nobody closes it");
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

    /// The folder, as it was named.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What is saved now, without claiming the source: the file is replaced whole, so this is right at any time.
    ///
    /// # Errors
    /// As of [`FileStore::open`], but for the lock.
    pub async fn read(&self, key: &SourceKey) -> Result<Saved, StateError> {
        let (folder, names) = (self.folder.clone(), Names::of(key));
        blocking(move || {
            let found = slot::read(&folder, &names.state)?;
            Ok(match found {
                None => Saved { number: None, state: None },
                Some(checkpoint) => Saved { number: Some(checkpoint.number), state: Some(checkpoint.state) },
            })
        })
        .await
    }

    /// Keeps everybody from running the source while the answer lives, and reads what is saved. Nothing is written.
    ///
    /// # Errors
    /// As of [`FileStore::open`]; [`StateError::InUse`] while an opening of this process has the source.
    pub async fn borrow(&self, key: &SourceKey) -> Result<(Borrowed, Saved), StateError> {
        let mut held = self.slot(key).await.lock_owned().await;
        let folder = self.folder.clone();
        let held = blocking(move || held.borrow_lock(&folder).map(|()| held)).await?;
        let borrowed = Borrowed { held };
        let saved = self.read(key).await?;
        Ok((borrowed, saved))
    }

    /// Puts `state` in the place of what is saved, under the next number and a life of its own; `None` removes the
    /// file. A damaged file is replaced or removed too: that is what a person is here for.
    ///
    /// # Errors
    /// [`StateError::InUse`] while an opening of this process has the source, [`StateError::Locked`] while another
    /// process has, [`StateError::Io`] when nothing was changed, or perhaps was.
    pub async fn replace_state(&self, key: &SourceKey, state: Option<Vec<u8>>) -> Result<(), StateError> {
        if let Some(bytes) = state.as_ref().map(Vec::len).filter(|bytes| *bytes > STATE_BYTES_MAX) {
            return Err(StateError::TooLarge { bytes });
        }
        let mut held = self.slot(key).await.lock_owned().await;
        let folder = self.folder.clone();
        // An opening waits for this lock, and loads what is left here.
        blocking(move || {
            held.borrow_lock(&folder)?;
            let outcome = replace_state(&folder, &held.names, state);
            held.give_back();
            outcome
        })
        .await
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

fn replace_state(folder: &Folder, names: &Names, state: Option<Vec<u8>>) -> Result<(), StateError> {
    let Some(state) = state else { return folder.remove_durably(&names.state) };
    let number = match slot::read(folder, &names.state) {
        Ok(found) => found.map_or(0, |checkpoint| checkpoint.number),
        // Its number is lost with it; the new life keeps the two apart.
        Err(StateError::Unreadable { .. }) => 0,
        Err(error) => return Err(error),
    };
    let content = format::encode(fastrand::u64(1..), number + 1, &state);
    folder.replace(&names.state, &names.temporary, &content)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StateError> + Send + 'static,
) -> Result<T, StateError> {
    tokio::task::spawn_blocking(work).await.map_err(|source| StateError::Unfinished { source })?
}
