//! Reads posts back by number. Blocking: to be called on a thread that may.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use picomq_connector_sdk::Batch;

use super::SpoolError;
use super::files::Segment;
use super::segment::{Damage, GROUP_HEADER_BYTES, HEADER_BYTES, Header, Step};
use crate::post::Post;

/// The file that was read last and where in it, so that reading on is no search.
#[derive(Debug, Default)]
pub(super) struct Reader {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    segment_first: u64,
    header: Header,
    file: File,
    at: u64,
    /// The number of the group at `at`.
    next: u64,
}

/// Where a batch ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) records: usize,
    pub(crate) bytes: usize,
}

impl Reader {
    /// Goes on reading this file at number `next`, and moves that behind the last post added to `batch`.
    pub(super) fn read(
        &mut self,
        segment: &Segment,
        next: &mut u64,
        room: Room,
        batch: &mut Batch,
    ) -> Result<(), SpoolError> {
        let mut open = self.at(segment, *next)?;
        while open.at < segment.bytes {
            let bytes = open.group(segment)?;
            let damaged =
                |at| SpoolError::Damaged { path: segment.path.clone(), damage: Damage::Group { at } };
            let Step::Group(group) = open.header.step(&bytes, open.next) else {
                return Err(damaged(open.at as usize));
            };
            let from = *next;
            for (number, post) in (open.next..).zip(group.posts()).filter(|(number, _)| *number >= from) {
                let post = Post::decode(post).map_err(|_| damaged(open.at as usize))?;
                let is_full = batch.len() >= room.records || batch.bytes() + post.bytes() > room.bytes;
                if is_full && !batch.is_empty() {
                    self.open = Some(open);
                    return Ok(());
                }
                post.write(batch);
                *next = number + 1;
            }
            open.at += group.bytes as u64;
            open.next += u64::from(group.count);
        }
        self.open = Some(open);
        Ok(())
    }

    /// The segment, opened at the group with the number `next` or one before it.
    fn at(&mut self, segment: &Segment, next: u64) -> Result<Open, SpoolError> {
        let same = self.open.take().filter(|open| open.segment_first == segment.first);
        if let Some(open) = same {
            let is_behind = open.next <= next;
            let (at, first) =
                if is_behind { (open.at, open.next) } else { (HEADER_BYTES as u64, segment.first) };
            return Ok(Open { at, next: first, ..open });
        }
        let file = File::open(&segment.path).map_err(SpoolError::io("cannot open", &segment.path))?;
        let header = header(&file, &segment.path)?;
        Ok(Open { segment_first: segment.first, header, file, at: HEADER_BYTES as u64, next: segment.first })
    }
}

impl Open {
    /// The bytes of the group at the present place.
    fn group(&self, segment: &Segment) -> Result<Vec<u8>, SpoolError> {
        let unreadable = || SpoolError::io("cannot read", &segment.path);
        let mut bytes = vec![0; GROUP_HEADER_BYTES];
        self.file.read_exact_at(&mut bytes, self.at).map_err(unreadable())?;
        let body_bytes = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        let all = (GROUP_HEADER_BYTES as u64 + u64::from(body_bytes)).min(segment.bytes - self.at);
        bytes.resize(all as usize, 0);
        self.file.read_exact_at(&mut bytes, self.at).map_err(unreadable())?;
        Ok(bytes)
    }
}

fn header(file: &File, path: &Path) -> Result<Header, SpoolError> {
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact_at(&mut bytes, 0).map_err(SpoolError::io("cannot read", path))?;
    Header::decode(&bytes).map_err(|damage| SpoolError::Damaged { path: path.to_owned(), damage })
}
