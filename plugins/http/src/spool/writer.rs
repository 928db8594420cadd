//! Appends groups, each written and synced before anybody is told.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::files::Segment;
use super::segment::{HEADER_BYTES, Header};
use super::{SpoolError, files};

/// The one that writes.
#[derive(Debug)]
pub(crate) struct Writer {
    folder: PathBuf,
    segment_bytes: u64,
    header: Header,
    path: PathBuf,
    file: File,
    /// Where the last synced group ends.
    end: u64,
    /// Up to where the file has room on the disk; zeros from `end` on.
    roomy: u64,
    /// The number of the next post.
    next: u64,
    /// A write or sync failed: what lies past `end` is not known, and a second sync could lie about it.
    is_suspect: bool,
    buffer: Vec<u8>,
}

impl Writer {
    /// Begins a new segment at the number `next`.
    pub(super) fn begin(folder: &Path, next: u64, segment_bytes: u64) -> Result<Writer, SpoolError> {
        let header = Header { first: next, salt: fastrand::u64(..) };
        let (path, file) = files::create(folder, &header)?;
        Ok(Writer {
            folder: folder.to_owned(),
            segment_bytes,
            header,
            path,
            file,
            end: HEADER_BYTES as u64,
            roomy: HEADER_BYTES as u64,
            next,
            is_suspect: false,
            buffer: Vec::new(),
        })
    }

    /// Goes on with a segment that has a header and nothing else.
    pub(super) fn resume(folder: &Path, unused: &Segment, segment_bytes: u64) -> Result<Writer, SpoolError> {
        let (path, failed) = (unused.path.clone(), SpoolError::io("cannot open", &unused.path));
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(failed)?;
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, 0).map_err(SpoolError::io("cannot read", &path))?;
        let header =
            Header::decode(&bytes).map_err(|damage| SpoolError::Damaged { path: path.clone(), damage })?;
        let (folder, end) = (folder.to_owned(), HEADER_BYTES as u64);
        let (next, buffer) = (header.first, Vec::new());
        let (roomy, is_suspect) = (end, false);
        Ok(Writer { folder, segment_bytes, header, path, file, end, roomy, next, is_suspect, buffer })
    }

    /// The segment as it stands on disk now.
    pub(crate) fn segment(&self) -> Segment {
        let (first, next) = (self.header.first, self.next);
        Segment {
            first,
            next,
            bytes: self.end,
            disk_bytes: self.roomy.max(self.end),
            path: self.path.clone(),
        }
    }

    /// Appends `posts` as one group and syncs. Once it answers they survive a crash of the machine.
    ///
    /// # Errors
    /// When they may not; none of them was taken then, though a later life may still find them.
    pub(crate) fn append(&mut self, posts: &[Vec<u8>]) -> Result<Segment, SpoolError> {
        self.make_ready()?;
        self.buffer.clear();
        self.header.write_group(&mut self.buffer, self.next, posts);
        if let Err(error) = self.write() {
            self.is_suspect = true;
            return Err(SpoolError::io("cannot write", &self.path)(error));
        }
        self.next += posts.len() as u64;
        self.buffer.shrink_to(BUFFER_KEPT_BYTES);
        Ok(self.segment())
    }

    /// Writes the buffer, and more room behind it where there is none left: a sync of a file that keeps its length is
    /// spared the journal of the file system, which is most of what it costs.
    fn write(&mut self) -> io::Result<()> {
        let end = self.end + self.buffer.len() as u64;
        self.file.write_all_at(&self.buffer, self.end)?;
        let mut roomy = self.roomy;
        if end > roomy {
            roomy = end.next_multiple_of(ROOM_BYTES as u64).min(self.segment_bytes).max(end);
            let zeros = usize::try_from(roomy - end).unwrap_or(0);
            self.file.write_all_at(&ZEROS[..zeros], end)?;
        }
        self.file.sync_data()?;
        (self.end, self.roomy) = (end, roomy);
        Ok(())
    }

    /// Leaves a segment that is full or failed. The rest of a failed write is cut off first: only the last file of a
    /// spool may end in something torn.
    fn make_ready(&mut self) -> Result<(), SpoolError> {
        if self.is_suspect {
            files::truncate(&self.path, self.end)?;
            self.roomy = self.end;
        }
        let is_full = self.end >= self.segment_bytes;
        if !is_full && !self.is_suspect {
            return Ok(());
        }
        // With nothing in it, its successor would have its name.
        let fresh = match self.header.first == self.next {
            true => Writer::resume(&self.folder, &self.segment(), self.segment_bytes)?,
            false => Writer::begin(&self.folder, self.next, self.segment_bytes)?,
        };
        let buffer = std::mem::take(&mut self.buffer);
        *self = Writer { buffer, ..fresh };
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn break_file(&mut self) {
        self.file = File::open(&self.path).expect("the segment is there");
    }
}

/// Room is made in steps of this, which is what a segment that is being written may take beyond its posts.
pub(crate) const ROOM_BYTES: usize = 1 << 20;
static ZEROS: [u8; ROOM_BYTES] = [0; ROOM_BYTES];

/// A buffer that one large group made grow is given back.
const BUFFER_KEPT_BYTES: usize = 1 << 20;
