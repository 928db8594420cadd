//! The file of committed group offsets in the data folder, so that groups resume after a restart.
//!
//! A line of entries, each with its length and checksum; the last word on a group and topic counts. It is written anew on
//! open and whenever it grew long. As with topic files, the first damaged entry ends it. All calls block.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bytes::{Buf, BufMut};

use crate::error::Error;
use crate::group_words::Committed;
use crate::storage::{put_text, take_text};

const MAGIC: &[u8; 8] = b"PICOOFF1";
/// Past this the file is written anew.
const BYTES_MAX: u64 = 4 << 20;

/// What the file tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A group committed an offset of a topic.
    Committed { group: String, topic: String, offset: Committed },
    /// A topic was deleted: all groups forget their offsets of it.
    Forgotten { topic: String },
}

/// The open file.
#[derive(Debug)]
pub(crate) struct OffsetFile {
    file: File,
    path: PathBuf,
    length: u64,
}

impl OffsetFile {
    /// Reads the entries of the file, if it is there, up to the first damaged one.
    pub(crate) fn read(data: &Path) -> Result<Vec<Entry>, Error> {
        let path = path(data);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::Storage { path, source }),
        };
        let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
            return Err(Error::NotOurs { path, reason: "it does not begin as a file of offsets" });
        };
        let mut entries = Vec::new();
        while let Some(entry) = take_entry(&mut rest) {
            entries.push(entry);
        }
        if !rest.is_empty() {
            tracing::warn!(path = %path.display(), bytes = rest.len(), "torn end of the offsets cut off");
        }
        Ok(entries)
    }

    /// Begins the file anew with these entries: beside it, then renamed over it.
    pub(crate) fn create(data: &Path, entries: &[Entry]) -> Result<Self, Error> {
        let path = path(data);
        let written = write_anew(&path, entries);
        let (file, length) = written.map_err(|source| Error::Storage { path: path.clone(), source })?;
        Ok(Self { file, path, length })
    }

    /// Appends one entry.
    pub(crate) fn append(&mut self, entry: &Entry) -> io::Result<()> {
        let bytes = encode(entry);
        self.file.write_all(&bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Whether it should be written anew.
    pub(crate) fn is_long(&self) -> bool {
        self.length > BYTES_MAX
    }

    /// Replaces all entries, of which there are many old ones, by these.
    pub(crate) fn rewrite(&mut self, entries: &[Entry]) -> io::Result<()> {
        (self.file, self.length) = write_anew(&self.path, entries)?;
        Ok(())
    }

    /// Hands the file to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

fn path(data: &Path) -> PathBuf {
    data.join("offsets")
}

fn write_anew(path: &Path, entries: &[Entry]) -> io::Result<(File, u64)> {
    let mut bytes = MAGIC.to_vec();
    for entry in entries {
        bytes.extend(encode(entry));
    }
    let beside = path.with_extension("tmp");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(&beside)?;
    file.write_all(&bytes)?;
    fs::rename(&beside, path)?;
    Ok((file, bytes.len() as u64))
}

fn encode(entry: &Entry) -> Vec<u8> {
    let mut body = Vec::new();
    match entry {
        Entry::Committed { group, topic, offset } => {
            put_text(&mut body, topic);
            put_text(&mut body, group);
            body.put_i64(offset.offset);
            body.put_i32(offset.leader_epoch);
            put_text(&mut body, &offset.metadata);
        }
        Entry::Forgotten { topic } => put_text(&mut body, topic),
    }
    let mut bytes = Vec::with_capacity(body.len() + 8);
    bytes.put_u32(body.len() as u32);
    bytes.put_u32(crc32c::crc32c(&body));
    bytes.extend(body);
    bytes
}

/// The next entry; on `None` the bytes are as they were.
fn take_entry(bytes: &mut &[u8]) -> Option<Entry> {
    let mut rest = *bytes;
    let length = rest.try_get_u32().ok()? as usize;
    let crc = rest.try_get_u32().ok()?;
    let body = rest.split_off(..length)?;
    let entry = if crc32c::crc32c(body) == crc { decode(body) } else { None }?;
    *bytes = rest;
    Some(entry)
}

fn decode(mut body: &[u8]) -> Option<Entry> {
    let topic = take_text(&mut body)?;
    if body.is_empty() {
        return Some(Entry::Forgotten { topic });
    }
    let group = take_text(&mut body)?;
    let offset = body.try_get_i64().ok()?;
    let leader_epoch = body.try_get_i32().ok()?;
    let metadata = take_text(&mut body)?;
    let offset = Committed { offset, leader_epoch, metadata };
    body.is_empty().then_some(Entry::Committed { group, topic, offset })
}

#[cfg(test)]
mod tests;
