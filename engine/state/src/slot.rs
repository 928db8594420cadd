//! What every opening of one source in this process shares, and the table that finds it.
//!
//! A slot lives as long as a lease or a write of its source does. A later opening finds it, waits for the write and
//! takes the source over without ever letting go of the lock file, so no other process can come in between.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pico_config::SourceKey;

use crate::error::StateError;
use crate::folder::{Folder, Lock};
use crate::format::{self, Checkpoint, HEADER_BYTES, STATE_BYTES_MAX};

/// The names of one source's files. The grammar of [`SourceKey`] keeps them apart: a key begins with a letter or
/// digit, and no two of these endings can meet.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) state: String,
    pub(crate) temporary: String,
    lock: String,
    pub(crate) asked: String,
    pub(crate) asked_temporary: String,
}

impl Names {
    pub(crate) fn of(key: &SourceKey) -> Names {
        let key = key.as_str();
        Names {
            state: format!("{key}.state"),
            temporary: format!(".{key}.tmp"),
            lock: format!("{key}.lock"),
            asked: format!("{key}.asked"),
            asked_temporary: format!(".{key}.asked"),
        }
    }
}

/// What every opening of one source in this process shares. Whoever writes holds it locked on the thread that
/// writes, so that it outlives a caller that went away.
pub(crate) type Slot = Arc<tokio::sync::Mutex<Held>>;
type Slots = HashMap<String, Weak<tokio::sync::Mutex<Held>>>;

/// The source's claim to its files.
#[derive(Debug)]
pub(crate) struct Held {
    /// Held while this process owns the source. Stands before `_entry`: it is let go first.
    lock: Option<Lock>,
    /// Which opening owns it; a lease of an earlier one saves nothing (I6).
    pub(crate) opening: u64,
    /// Random name of that opening in the file.
    pub(crate) life: u64,
    /// The newest number written or tried: the next one is greater.
    pub(crate) newest: u64,
    /// The state of a failed save, kept for the probe.
    pub(crate) failed: Option<Vec<u8>>,
    pub(crate) names: Arc<Names>,
    _entry: Entry,
}

impl Held {
    /// Takes the source for a new opening and reads what is saved.
    pub(crate) fn claim(&mut self, folder: &Folder) -> Result<Option<Checkpoint>, StateError> {
        self.opening += 1;
        self.life = fastrand::u64(1..);
        if self.lock.is_none() {
            self.lock = Some(folder.lock(&self.names.lock)?);
        }
        folder.remove(&self.names.temporary)?;
        folder.remove(&self.names.asked_temporary)?;
        let loaded = read(folder, &self.names.state)?;
        self.newest = loaded.as_ref().map_or(0, |checkpoint| checkpoint.number);
        self.failed = None;
        Ok(loaded)
    }

    /// Takes the lock for a person, who opens nothing. Given back before the slot is let go.
    pub(crate) fn borrow_lock(&mut self, folder: &Folder) -> Result<(), StateError> {
        if self.lock.is_some() {
            return Err(StateError::InUse);
        }
        self.lock = Some(folder.lock(&self.names.lock)?);
        Ok(())
    }

    /// Whether `opening` may still write.
    pub(crate) fn is_owned_by(&self, opening: u64) -> bool {
        self.opening == opening && self.lock.is_some()
    }

    /// Gives the source back: the lock file is closed and no opening owns it.
    pub(crate) fn give_back(&mut self) {
        self.lock = None;
        self.failed = None;
    }
}

/// The checkpoint in the file `name`, `None` where there is none.
pub(crate) fn read(folder: &Folder, name: &str) -> Result<Option<Checkpoint>, StateError> {
    let bytes_max = (HEADER_BYTES + STATE_BYTES_MAX) as u64;
    let Some(bytes) = folder.read(name, bytes_max)? else { return Ok(None) };
    let unreadable = |damage| StateError::Unreadable { file: folder.path_of(name), damage };
    format::decode(&bytes).map(Some).map_err(unreadable)
}

/// Who has a slot in this process.
#[derive(Debug, Default)]
pub(crate) struct Table(Mutex<Slots>);

impl Table {
    fn lock(&self) -> MutexGuard<'_, Slots> {
        // Nothing in these few lines can panic half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of `key`; `None` while the former one is being dropped.
    pub(crate) fn slot(self: &Arc<Self>, key: &SourceKey) -> Option<Slot> {
        let mut slots = self.lock();
        if let Some(slot) = slots.get(key.as_str()) {
            return slot.upgrade();
        }
        let entry = Entry { table: self.clone(), key: key.as_str().to_owned() };
        let names = Arc::new(Names::of(key));
        let held = Held { lock: None, opening: 0, life: 0, newest: 0, failed: None, names, _entry: entry };
        let slot = Arc::new(tokio::sync::Mutex::new(held));
        slots.insert(key.as_str().to_owned(), Arc::downgrade(&slot));
        Some(slot)
    }
}

/// Takes its key out of the table when the slot ends.
#[derive(Debug)]
struct Entry {
    table: Arc<Table>,
    key: String,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.table.lock().remove(&self.key);
    }
}
