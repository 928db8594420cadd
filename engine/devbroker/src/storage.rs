//! The data folder: one append-only file a topic, so that a restart keeps topics and records.
//!
//! A file is a head (magic, length, checksum, then id, name and configuration) followed by record batches exactly as they
//! go over the wire. On load the first batch that is cut off, damaged or out of line ends the file, and it is truncated
//! there: that is what a killed process can leave behind. All calls block.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bytes::{Buf, BufMut, Bytes};
use uuid::Uuid;

use crate::batch::{self, Batch};
use crate::error::Error;
use crate::log::Log;
use crate::topic_settings::{Limits, TopicSettings};

const MAGIC: &[u8; 8] = b"PICODEV1";
const HEAD_BYTES_MAX: usize = 1 << 20;
const EXTENSION: &str = "log";
const TEMPORARY: &str = "tmp";

/// An open data folder, held by a lock file for as long as this lives.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    _lock: File,
}

/// The open file of a topic.
#[derive(Debug)]
pub(crate) struct TopicFile {
    file: File,
    path: PathBuf,
    head: Vec<u8>,
    length: u64,
    /// A failed write could not be undone, so nothing may follow it.
    is_broken: bool,
}

/// A topic as its file had it.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) id: Uuid,
    pub(crate) settings: TopicSettings,
    pub(crate) log: Log,
    pub(crate) file: TopicFile,
}

impl Store {
    /// Creates the folder if need be and takes its lock.
    pub(crate) fn open(data: &Path) -> Result<Self, Error> {
        let folder = data.join("topics");
        let failed = |source| Error::Storage { path: folder.clone(), source };
        fs::create_dir_all(&folder).map_err(failed)?;
        let path = data.join("lock");
        let options = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = options.map_err(|source| Error::Storage { path: path.clone(), source })?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::DataInUse { path: data.to_owned() }),
            Err(TryLockError::Error(source)) => Err(Error::Storage { path, source }),
        }
    }

    /// The topic files, and removes what an interrupted rewrite left.
    pub(crate) fn topic_files(&self) -> Result<Vec<PathBuf>, Error> {
        let failed = |source| Error::Storage { path: self.folder.clone(), source };
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(EXTENSION) => files.push(path),
                Some(TEMPORARY) => fs::remove_file(&path).map_err(failed)?,
                Some(_) | None => {}
            }
        }
        files.sort();
        Ok(files)
    }

    /// Creates the file of a new topic; fails if there is one.
    pub(crate) fn create_topic(
        &self,
        name: &str,
        id: Uuid,
        settings: &TopicSettings,
    ) -> io::Result<TopicFile> {
        let path = self.folder.join(format!("{name}.{EXTENSION}"));
        let head = encode_head(name, id, settings);
        let mut file = OpenOptions::new().create_new(true).read(true).write(true).open(&path)?;
        if let Err(error) = file.write_all(&head) {
            fs::remove_file(&path)?;
            return Err(error);
        }
        let length = head.len() as u64;
        Ok(TopicFile { file, path, head, length, is_broken: false })
    }
}

impl TopicFile {
    /// Appends one placed batch. After a failure the file is as before, or takes nothing any more.
    pub(crate) fn append(&mut self, batch: &[u8]) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier failed write could not be undone"));
        }
        if let Err(error) = self.file.write_all(batch) {
            self.is_broken = self.undo_write().is_err();
            return Err(error);
        }
        self.length += batch.len() as u64;
        Ok(())
    }

    fn undo_write(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length)).map(|_| ())
    }

    /// Bytes of the batches in the file, dropped ones included.
    pub(crate) fn batch_bytes(&self) -> u64 {
        self.length - self.head.len() as u64
    }

    /// Writes the file anew with these batches only: beside it, then renamed over it.
    pub(crate) fn rewrite<'a>(&mut self, batches: impl Iterator<Item = &'a Bytes>) -> io::Result<()> {
        let beside = self.path.with_extension(TEMPORARY);
        let mut options = OpenOptions::new();
        let mut file = options.create(true).truncate(true).read(true).write(true).open(&beside)?;
        file.write_all(&self.head)?;
        let mut length = self.head.len() as u64;
        for batch in batches {
            file.write_all(batch)?;
            length += batch.len() as u64;
        }
        fs::rename(&beside, &self.path)?;
        (self.file, self.length, self.is_broken) = (file, length, false);
        Ok(())
    }

    /// Hands the file to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    #[cfg(test)]
    pub(crate) fn swap_for_test(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }

    /// Removes the file; the open handle stays usable and useless.
    pub(crate) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

impl Loaded {
    /// Reads a topic file and truncates what is torn. Keeps as many of the newest batches as `limits` allow. A file that ends
    /// inside its head is of a topic whose creation was never answered: it is removed.
    pub(crate) fn read(path: &Path, batch_bytes_max: usize, limits: &Limits) -> Result<Option<Self>, Error> {
        let failed = |source| Error::Storage { path: path.to_owned(), source };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let mut reader = BufReader::new(file);
        let Some((head, name, id, settings)) = read_head(&mut reader, path)? else {
            tracing::warn!(path = %path.display(), "topic file without a whole head removed");
            fs::remove_file(path).map_err(failed)?;
            return Ok(None);
        };
        let bytes_max = limits.topic_bytes_max(&settings);
        let mut log = limits.empty_log();
        let mut length = head.len() as u64;
        while let Some(batch) = next_batch(&mut reader, batch_bytes_max).map_err(failed)? {
            length += batch.len() as u64;
            if log.end() == 0 {
                log.begin_at(batch.base_offset);
            } else if batch.base_offset != log.end() {
                length -= batch.len() as u64;
                break;
            }
            log.append(batch);
            while log.bytes() > bytes_max && log.drop_oldest().is_some() {}
        }
        let file = truncate(reader.into_inner(), length, path).map_err(failed)?;
        let file = TopicFile { file, path: path.to_owned(), head, length, is_broken: false };
        Ok(Some(Self { name, id, settings, log, file }))
    }
}

fn truncate(mut file: File, length: u64, path: &Path) -> io::Result<File> {
    let torn = file.metadata()?.len() - length;
    if torn > 0 {
        tracing::warn!(path = %path.display(), bytes = torn, "torn end of a topic file cut off");
        file.set_len(length)?;
    }
    file.seek(SeekFrom::Start(length))?;
    Ok(file)
}

/// The next whole, undamaged batch; `None` where the good part ends.
fn next_batch(reader: &mut impl Read, batch_bytes_max: usize) -> io::Result<Option<Batch>> {
    let mut start = [0; batch::HEADER_BYTES];
    if !fill(reader, &mut start)? {
        return Ok(None);
    }
    let whole = batch::whole_length(&start).filter(|whole| (start.len()..=batch_bytes_max).contains(whole));
    let Some(whole) = whole else {
        return Ok(None);
    };
    let mut bytes = vec![0; whole];
    bytes[..start.len()].copy_from_slice(&start);
    if !fill(reader, &mut bytes[start.len()..])? {
        return Ok(None);
    }
    Ok(Batch::check(bytes.into()).ok())
}

/// Whether the buffer could be filled; a file that ends inside it is no error here.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn encode_head(name: &str, id: Uuid, settings: &TopicSettings) -> Vec<u8> {
    let mut body = id.as_bytes().to_vec();
    put_text(&mut body, name);
    for (name, value) in settings.entries() {
        put_text(&mut body, name);
        put_text(&mut body, value);
    }
    let mut head = MAGIC.to_vec();
    head.put_u32(body.len() as u32);
    head.put_u32(crc32c::crc32c(&body));
    head.extend(body);
    head
}

type Head = (Vec<u8>, String, Uuid, TopicSettings);

/// The head; `None` if the file ends inside it.
fn read_head(reader: &mut impl Read, path: &Path) -> Result<Option<Head>, Error> {
    let not_ours = |reason| Error::NotOurs { path: path.to_owned(), reason };
    let failed = |source| Error::Storage { path: path.to_owned(), source };
    let mut head = vec![0; MAGIC.len() + 8];
    if !fill(reader, &mut head).map_err(failed)? {
        return Ok(None);
    }
    if !head.starts_with(MAGIC) {
        return Err(not_ours("it does not begin as one"));
    }
    let mut fields = &head[MAGIC.len()..];
    let (length, crc) = (fields.get_u32() as usize, fields.get_u32());
    if length > HEAD_BYTES_MAX {
        return Err(not_ours("its head is too long"));
    }
    let mut body = vec![0; length];
    if !fill(reader, &mut body).map_err(failed)? {
        return Ok(None);
    }
    if crc32c::crc32c(&body) != crc {
        return Err(not_ours("its head is damaged"));
    }
    let (name, id, settings) = decode_head(&body).ok_or_else(|| not_ours("its head makes no sense"))?;
    head.extend(body);
    Ok(Some((head, name, id, settings)))
}

fn decode_head(mut body: &[u8]) -> Option<(String, Uuid, TopicSettings)> {
    let id = Uuid::from_slice(body.split_off(..16)?).ok()?;
    let name = take_text(&mut body)?;
    let mut entries = BTreeMap::new();
    while !body.is_empty() {
        let entry = take_text(&mut body)?;
        entries.insert(entry, take_text(&mut body)?);
    }
    Some((name, id, TopicSettings::check(entries).ok()?))
}

/// Writes a text with its length before it.
pub(crate) fn put_text(body: &mut Vec<u8>, text: &str) {
    body.put_u32(text.len() as u32);
    body.extend_from_slice(text.as_bytes());
}

/// Takes a text that [`put_text`] wrote.
pub(crate) fn take_text(body: &mut &[u8]) -> Option<String> {
    let length = body.try_get_u32().ok()? as usize;
    let text = body.split_off(..length)?;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests;
