//! The files of a spool: names, creation, lock.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::SpoolError;
use super::segment::Header;

const SUFFIX: &str = ".spool";
const LOCK: &str = "lock";

/// One file, as far as it is synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The number of its first post.
    pub(crate) first: u64,
    /// The number after its last.
    pub(crate) next: u64,
    /// Its bytes up to the end of its last post.
    pub(crate) bytes: u64,
    /// What it takes on the disk: one that is written has room made ahead.
    pub(crate) disk_bytes: u64,
    pub(crate) path: PathBuf,
}

/// Makes the folder, for its owner alone, and its name and those above it durable: a crash that took the folder would
/// take what is synced in it.
pub(super) fn prepare(folder: &Path) -> Result<(), SpoolError> {
    let missing = folder.ancestors().take_while(|ancestor| !ancestor.exists()).count();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(SpoolError::io("cannot create the folder", folder))?;
    folder.ancestors().skip(1).take(missing).try_for_each(sync_folder)
}

/// Takes the spool for this process until the file is dropped.
pub(super) fn lock(folder: &Path) -> Result<File, SpoolError> {
    let path = folder.join(LOCK);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&path)
        .map_err(SpoolError::io("cannot open", &path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(SpoolError::Busy { path: folder.to_owned() }),
        Err(errno) => Err(SpoolError::io("cannot lock", &path)(errno.into())),
    }
}

/// Its segments in order, by the number of their first post; none when there is no folder.
pub(super) fn segments(folder: &Path) -> Result<Vec<PathBuf>, SpoolError> {
    let unreadable = || SpoolError::io("cannot read the folder", folder);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable()(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable())?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(SUFFIX)) {
            found.push(path);
        }
    }
    // The numbers have leading zeros, so their order is that of the names.
    found.sort();
    Ok(found)
}

/// A new segment, header and name durable.
pub(super) fn create(folder: &Path, header: &Header) -> Result<(PathBuf, File), SpoolError> {
    use std::io::Write;

    let path = folder.join(format!("{:020}{SUFFIX}", header.first));
    let failed = || SpoolError::io("cannot create", &path);
    let mut file = OpenOptions::new()
        .create_new(true)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(&path)
        .map_err(failed())?;
    file.write_all(&header.encode()).and_then(|()| file.sync_data()).map_err(failed())?;
    sync_folder(folder)?;
    Ok((path, file))
}

/// Cuts a file back to what is known to be good.
pub(super) fn truncate(path: &Path, bytes: u64) -> Result<(), SpoolError> {
    let file = OpenOptions::new().write(true).open(path).map_err(SpoolError::io("cannot open", path))?;
    file.set_len(bytes).and_then(|()| file.sync_all()).map_err(SpoolError::io("cannot truncate", path))
}

/// Removes a segment. That it is gone need not be durable: it comes back, and is removed again.
pub(super) fn remove(path: &Path) -> Result<(), SpoolError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(SpoolError::io("cannot remove", path)(error))
        }
        _ => Ok(()),
    }
}

fn sync_folder(folder: &Path) -> Result<(), SpoolError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(SpoolError::io("cannot sync the folder", folder))
}
