//! Opening a spool: everything in it is read and checked before the first post is taken.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::Segment;
use super::segment::{HEADER_BYTES, Header, Step};
use super::store::Spool;
use super::writer::Writer;
use super::{SpoolError, files};
use crate::post::Post;

/// An open spool.
pub(crate) struct Opened {
    /// For the reader.
    pub(crate) spool: Spool,
    /// For the writer; none when the spool is only looked at.
    pub(crate) writer: Option<Writer>,
}

/// What the caller knows and wants.
pub(crate) struct Opening<'a> {
    /// The folder of this source's spool.
    pub(crate) folder: &'a Path,
    /// The number after the last post that the state knows to be delivered.
    pub(crate) committed: u64,
    /// Whether that state was written with a spool, which must then be there.
    pub(crate) is_expected: bool,
    /// Only to look: nothing is locked, cut, removed or created.
    pub(crate) is_inspection: bool,
    /// Where the writer begins another segment.
    pub(crate) segment_bytes: u64,
}

impl Opened {
    /// Opens it; `each` is shown every post in it, delivered or not, oldest first.
    pub(crate) fn open(opening: &Opening<'_>, each: &mut dyn FnMut(Post)) -> Result<Opened, SpoolError> {
        let folder = opening.folder;
        let lock = if opening.is_inspection {
            None
        } else {
            files::prepare(folder)?;
            Some(files::lock(folder)?)
        };
        let mut segments = scan(folder, !opening.is_inspection, each)?;
        if segments.is_empty() && opening.is_expected && opening.committed > 0 {
            return Err(SpoolError::Gone { path: folder.to_owned(), next: opening.committed });
        }
        check_joints(folder, &segments, opening.committed)?;
        let next = segments.back().map_or(opening.committed, |last| last.next.max(opening.committed));
        let writer = match opening.is_inspection {
            true => None,
            false => Some(writer(opening, &mut segments, next)?),
        };
        if !opening.is_inspection {
            remove_delivered(&mut segments, opening.committed)?;
        }
        Ok(Opened { spool: Spool::new(lock, segments, next), writer })
    }
}

/// Begins the file of this life, before anything is removed: a folder without a file is a spool that is gone. One that
/// a former life began and never wrote to is taken as it is.
fn writer(opening: &Opening<'_>, segments: &mut VecDeque<Segment>, next: u64) -> Result<Writer, SpoolError> {
    if let Some(unused) = segments.back().filter(|last| last.first == next && last.next == next) {
        return Writer::resume(opening.folder, unused, opening.segment_bytes);
    }
    let writer = Writer::begin(opening.folder, next, opening.segment_bytes)?;
    segments.push_back(writer.segment());
    Ok(writer)
}

/// How many posts of a spool were never delivered, for a source that does not use it any more.
pub(crate) fn leftovers(folder: &Path, committed: u64) -> Result<u64, SpoolError> {
    let segments = scan(folder, false, &mut |_| {})?;
    Ok(segments.iter().map(|one| one.next.saturating_sub(committed.max(one.first))).sum())
}

fn scan(folder: &Path, may_cut: bool, each: &mut dyn FnMut(Post)) -> Result<VecDeque<Segment>, SpoolError> {
    let paths = files::segments(folder)?;
    let last = paths.len().saturating_sub(1);
    let mut segments = VecDeque::new();
    for (place, path) in paths.into_iter().enumerate() {
        segments.extend(scan_one(path, place == last, may_cut, each)?);
    }
    Ok(segments)
}

/// One file. None: the last one, whose header was never synced, so it never held a post.
fn scan_one(
    path: PathBuf,
    is_last: bool,
    may_cut: bool,
    each: &mut dyn FnMut(Post),
) -> Result<Option<Segment>, SpoolError> {
    let bytes = fs::read(&path).map_err(SpoolError::io("cannot read", &path))?;
    if is_last && bytes.len() <= HEADER_BYTES && Header::decode(&bytes).is_err() {
        if may_cut {
            files::remove(&path)?;
        }
        return Ok(None);
    }
    let damaged = |damage| SpoolError::Damaged { path: path.clone(), damage };
    let scan = Header::scan(&bytes).map_err(damaged)?;
    if scan.is_torn && !is_last {
        return Err(damaged(super::segment::Damage::Group { at: scan.good_bytes }));
    }
    if scan.is_torn && may_cut {
        tracing::warn!(
            file = %path.display(), kept_bytes = scan.good_bytes, cut_bytes = bytes.len() - scan.good_bytes,
            "the last write to the spool was torn; it was never answered and is cut off"
        );
    }
    let is_longer = bytes.len() > scan.good_bytes;
    if is_longer && may_cut {
        files::truncate(&path, scan.good_bytes as u64)?;
    }
    show(&bytes[..scan.good_bytes], &scan.header, each);
    let (first, next, bytes) = (scan.header.first, scan.next, scan.good_bytes as u64);
    Ok(Some(Segment { first, next, bytes, disk_bytes: bytes, path }))
}

fn show(bytes: &[u8], header: &Header, each: &mut dyn FnMut(Post)) {
    let (mut at, mut next) = (HEADER_BYTES, header.first);
    while let Step::Group(group) = header.step(&bytes[at..], next) {
        group.posts().filter_map(|post| Post::decode(post).ok()).for_each(&mut *each);
        at += group.bytes;
        next += u64::from(group.count);
    }
}

/// What was owed when the last process died, done again.
fn remove_delivered(segments: &mut VecDeque<Segment>, committed: u64) -> Result<(), SpoolError> {
    while let Some(first) = segments.front().filter(|first| first.next <= committed && segments.len() > 1) {
        files::remove(&first.path)?;
        segments.pop_front();
    }
    Ok(())
}

/// Every number from the first that is not delivered must be there.
fn check_joints(folder: &Path, segments: &VecDeque<Segment>, committed: u64) -> Result<(), SpoolError> {
    let mut due = committed;
    // Without a state the oldest segment is where everything begins.
    if committed == 0 {
        due = segments.front().map_or(0, |first| first.first);
    }
    for segment in segments {
        if segment.first > due {
            return Err(SpoolError::Gap { path: folder.to_owned(), from: due, to: segment.first - 1 });
        }
        due = due.max(segment.next);
    }
    Ok(())
}
