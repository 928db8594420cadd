//! The spool: posts on disk, synced before they are answered, until the engine says they were delivered.
//!
//! A folder holds segment files. The writer appends groups of posts and syncs once a group, however many posts are in
//! it; the reader reads what was synced, by number; segments whose posts are all delivered are removed. A number is
//! never given to two posts that were both answered, over all lives of the spool.

mod files;
mod opening;
mod reader;
pub mod segment;
mod store;
mod writer;

pub(crate) use opening::{Opened, Opening, leftovers};
pub(crate) use reader::Room;
pub(crate) use store::Spool;
pub(crate) use writer::{ROOM_BYTES, Writer};

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use segment::Damage;

/// What is wrong with a spool.
#[derive(Debug, Error)]
pub(crate) enum SpoolError {
    /// The disk did not do as asked.
    #[error("{what} {}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Somebody else holds the lock.
    #[error("the spool {} is used by another source or process; give each its own spool_dir", path.display())]
    Busy { path: PathBuf },
    /// What was synced cannot be read.
    #[error(
        "{} in the spool cannot be trusted: {damage}; restore it, or move it away and accept that its posts are lost",
        path.display()
    )]
    Damaged { path: PathBuf, damage: Damage },
    /// The numbers of two files do not join.
    #[error("the posts {from} to {to} are missing in the spool {}: restore its files", path.display())]
    Gap { path: PathBuf, from: u64, to: u64 },
    /// The state knows a spool, the folder does not.
    #[error(
        "{} holds no spool, but {next} posts went through one: point spool_dir to it, or delete the state of this \
         source if the posts in it are not wanted",
        path.display()
    )]
    Gone { path: PathBuf, next: u64 },
}

impl SpoolError {
    fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SpoolError {
        let path = path.to_owned();
        move |source| SpoolError::Io { what, path, source }
    }
}

impl From<SpoolError> for picomq_connector_sdk::Error {
    fn from(error: SpoolError) -> Self {
        let text = error.to_string();
        match error {
            SpoolError::Io { source, .. } => Self::transient(text).with_cause(source),
            SpoolError::Busy { .. } => Self::transient(text),
            SpoolError::Damaged { .. } | SpoolError::Gap { .. } | SpoolError::Gone { .. } => {
                Self::permanent(text)
            }
        }
    }
}

#[cfg(test)]
mod tests;
