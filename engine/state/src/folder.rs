//! The state folder: everything is opened relative to one handle, links are never followed inside it, and a file
//! is replaced in the one order that survives a power loss.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use pico_actors::fault;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::error::StateError;
use crate::format::Damage;

/// How to read a file that is not ours to trust: no link is followed, a FIFO does not block.
const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Handle and path of the folder. The handle is opened once: a volume that vanishes under it makes writes fail,
/// where a path looked up anew would find an empty folder and start every source afresh.
#[derive(Debug)]
pub(crate) struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder, making it where it is missing, 0700 and durable in its parents.
    pub(crate) fn open(path: &Path) -> Result<Folder, StateError> {
        create_durably(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle =
            rustix::fs::open(path, flags, Mode::empty()).map_err(failed("open the state folder", path))?;
        let folder = Folder { handle, path: path.to_path_buf() };
        folder.tighten()?;
        Ok(folder)
    }

    /// The folder, as it was named.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file of this folder lies, for messages.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Nobody else may read a state: it may hold data of the upstream.
    fn tighten(&self) -> Result<(), StateError> {
        let stat = rustix::fs::fstat(&self.handle).map_err(failed("look at", &self.path))?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            if mode.contains(Mode::WOTH) {
                return Err(StateError::FolderOpen { folder: self.path.clone() });
            }
            tracing::warn!(folder = %self.path.display(), "state folder belongs to another user");
            return Ok(());
        }
        if mode.intersects(Mode::RWXG | Mode::RWXO) {
            rustix::fs::fchmod(&self.handle, Mode::RWXU).map_err(failed("close to others", &self.path))?;
            tracing::info!(folder = %self.path.display(), "state folder closed to other users");
        }
        Ok(())
    }

    /// Takes the lock file `name`. It is opened for reading only, so that it does not keep anybody from turning
    /// the disk read-only.
    pub(crate) fn lock(&self, name: &str) -> Result<Lock, StateError> {
        let flags = READ_FLAGS | OFlags::CREATE;
        let file = self.path_of(name);
        let handle = rustix::fs::openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(failed("open the lock file", &file))?;
        let lock = File::from(handle);
        match lock.try_lock() {
            Ok(()) => Ok(Lock(lock)),
            Err(TryLockError::WouldBlock) => Err(StateError::Locked { file }),
            Err(TryLockError::Error(source)) => Err(StateError::Io { step: "lock", file, source }),
        }
    }

    /// The bytes of `name`, at most `bytes_max`; `None` when there is no such file. Anything but a regular file
    /// is damage.
    pub(crate) fn read(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, StateError> {
        let file = self.path_of(name);
        let unreadable = |damage| StateError::Unreadable { file: file.clone(), damage };
        let handle = match rustix::fs::openat(&self.handle, name, READ_FLAGS, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(unreadable(Damage::NotRegular)),
            Err(errno) => return Err(failed("open", &file)(errno)),
        };
        let stat: Stat = rustix::fs::fstat(&handle).map_err(failed("look at", &file))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(unreadable(Damage::NotRegular));
        }
        let bytes = stat.st_size.max(0).unsigned_abs();
        if bytes > bytes_max {
            return Err(unreadable(Damage::TooLarge { bytes }));
        }
        let mut content = Vec::with_capacity(bytes as usize);
        let read = File::from(handle).take(bytes_max).read_to_end(&mut content);
        read.map_err(|source| StateError::Io { step: "read", file, source })?;
        Ok(Some(content))
    }

    /// Replaces `name` by `content`, durably: temporary file, write, sync the file, rename, sync the folder.
    ///
    /// Every call writes a fresh temporary file. A sync that failed may have dropped the dirty pages, so a second
    /// sync of that same file could succeed without a byte on the disk.
    pub(crate) fn replace(&self, name: &str, temporary: &str, content: &[u8]) -> Result<(), StateError> {
        let outcome = self.replace_once(name, temporary, content);
        if outcome.is_err() {
            // Best effort: the next write and the next opening remove it too.
            let _ = self.remove(temporary);
        }
        outcome
    }

    fn replace_once(&self, name: &str, temporary: &str, content: &[u8]) -> Result<(), StateError> {
        let path = self.path_of(temporary);
        self.remove(temporary)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(&self.handle, temporary, flags, Mode::RUSR | Mode::WUSR)
            .map_err(failed("create", &path))?;
        let mut file = File::from(handle);
        file.write_all(content).map_err(|source| StateError::Io {
            step: "write",
            file: path.clone(),
            source,
        })?;
        fault::point("state_temp_written");
        rustix::fs::fdatasync(&file).map_err(failed("sync", &path))?;
        fault::point("state_temp_synced");
        rustix::fs::renameat(&self.handle, temporary, &self.handle, name).map_err(failed("rename", &path))?;
        fault::point("state_renamed");
        rustix::fs::fsync(&self.handle).map_err(failed("sync the folder", &self.path))?;
        fault::point("state_dir_synced");
        Ok(())
    }

    /// Removes `name` where it is, durably.
    pub(crate) fn remove_durably(&self, name: &str) -> Result<(), StateError> {
        self.remove(name)?;
        rustix::fs::fsync(&self.handle).map_err(failed("sync the folder", &self.path))
    }

    /// Removes `name` where it is.
    pub(crate) fn remove(&self, name: &str) -> Result<(), StateError> {
        match rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(failed("remove", &self.path_of(name))(errno)),
        }
    }
}

/// A lock file that is locked. The lock ends with the value, or with the process.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone would not do: a child process between fork and exec holds the same open file.
        let _ = self.0.unlock();
    }
}

/// Makes `path` and its missing parents, each synced into its own parent: else a power loss could take the whole
/// folder with every checkpoint in it.
fn create_durably(path: &Path) -> Result<(), StateError> {
    let parent = parent_of(path);
    if !path.exists() {
        if !parent.exists() {
            create_durably(parent)?;
        }
        let made = DirBuilder::new().mode(0o700).create(path);
        match made {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(StateError::Io { step: "create", file: path.to_path_buf(), source }),
        }
    }
    match File::open(parent).and_then(|folder| folder.sync_all()) {
        Ok(()) => Ok(()),
        // A parent we may pass through but not read was not made by us.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(source) => Err(StateError::Io { step: "sync the folder", file: parent.to_path_buf(), source }),
    }
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

fn failed(step: &'static str, file: &Path) -> impl FnOnce(Errno) -> StateError {
    let file = file.to_path_buf();
    move |errno| StateError::Io { step, file, source: errno.into() }
}
