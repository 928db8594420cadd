//! The format of a segment file. Pure: bytes in, posts out.
//!
//! A file begins with a header (magic, version, a random salt, the number of its first post, CRC32C). Groups follow,
//! each written and synced as a whole: mark, length of the body, first number, count, CRC32C, then for each post its
//! length and its bytes. Mark and checksums depend on the salt, so no sender can post something that looks like a group.
//!
//! Behind the last group there may be zeros, room made ahead. No group is zeros alone: it counts its posts.
//!
//! Only the last group of a file may be torn, since each was synced before the next was begun. So what cannot be
//! read, but is followed by a group that can, is damage and not a torn write.

use thiserror::Error;

/// Bytes before the first group.
pub const HEADER_BYTES: usize = 32;

/// Bytes before the body of a group.
pub const GROUP_HEADER_BYTES: usize = 24;

const MAGIC: [u8; 8] = *b"PICOSPOL";
const VERSION: u32 = 1;

/// What the header of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The number of its first post.
    pub first: u64,
    /// Random, of this file alone.
    pub salt: u64,
}

/// One group of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group<'a> {
    /// The number of its first post.
    pub first: u64,
    /// How many posts it has.
    pub count: u32,
    /// All its bytes with its own header.
    pub bytes: usize,
    body: &'a [u8],
}

/// What stands at a place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A whole group.
    Group(Group<'a>),
    /// The end of the file.
    End,
    /// Something that is no group.
    Broken,
}

/// A file that cannot be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// The first bytes are not those of a segment, or of one by a newer version.
    #[error("the header is damaged or of a newer version")]
    Header,
    /// Something in the middle cannot be read, though what follows can.
    #[error("the group at byte {at} is damaged")]
    Group {
        /// Where it begins.
        at: usize,
    },
}

/// A file that was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Its header.
    pub header: Header,
    /// The number after its last post.
    pub next: u64,
    /// Where the last whole group ends.
    pub good_bytes: usize,
    /// Whether something torn follows.
    pub is_torn: bool,
}

impl Header {
    /// As bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.salt.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.first.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the first bytes of a file.
    ///
    /// # Errors
    /// [`Damage::Header`].
    pub fn decode(bytes: &[u8]) -> Result<Header, Damage> {
        let bytes = bytes.get(..HEADER_BYTES).ok_or(Damage::Header)?;
        let is_ours = bytes[..8] == MAGIC && u32_at(bytes, 8) == VERSION;
        if !is_ours || u32_at(bytes, 28) != crc32c::crc32c(&bytes[..28]) {
            return Err(Damage::Header);
        }
        Ok(Header { salt: u64_at(bytes, 12), first: u64_at(bytes, 20) })
    }

    /// Appends a group of `posts`, the first of which has the number `first`.
    pub fn write_group(&self, out: &mut Vec<u8>, first: u64, posts: &[Vec<u8>]) {
        let start = out.len();
        out.extend_from_slice(&[0; GROUP_HEADER_BYTES]);
        for post in posts {
            out.extend_from_slice(&length(post.len()).to_le_bytes());
            out.extend_from_slice(post);
        }
        let body_bytes = out.len() - start - GROUP_HEADER_BYTES;
        let head = &mut out[start..start + GROUP_HEADER_BYTES];
        head[..4].copy_from_slice(&self.mark().to_le_bytes());
        head[4..8].copy_from_slice(&length(body_bytes).to_le_bytes());
        head[8..16].copy_from_slice(&first.to_le_bytes());
        head[16..20].copy_from_slice(&length(posts.len()).to_le_bytes());
        let crc = self.checksum(&out[start..]);
        out[start + 20..start + GROUP_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
    }

    /// What stands at the beginning of `bytes`, where a group with the number `first` should.
    pub fn step<'a>(&self, bytes: &'a [u8], first: u64) -> Step<'a> {
        if bytes.is_empty() {
            return Step::End;
        }
        match self.group(bytes) {
            Some(group) if group.first == first => Step::Group(group),
            Some(_) | None => Step::Broken,
        }
    }

    /// A whole group at the beginning of `bytes`, whatever its number.
    fn group<'a>(&self, bytes: &'a [u8]) -> Option<Group<'a>> {
        let head = bytes.get(..GROUP_HEADER_BYTES)?;
        if u32_at(head, 0) != self.mark() {
            return None;
        }
        let all = GROUP_HEADER_BYTES + usize::try_from(u32_at(head, 4)).ok()?;
        let whole = bytes.get(..all)?;
        if u32_at(head, 20) != self.checksum(whole) {
            return None;
        }
        let group = Group {
            first: u64_at(head, 8),
            count: u32_at(head, 16),
            bytes: all,
            body: &whole[GROUP_HEADER_BYTES..],
        };
        // The checksum is right, so these hold unless another program wrote it.
        let is_sound = group.count > 0 && group.posts().count() == usize::try_from(group.count).ok()?;
        is_sound.then_some(group)
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// When it cannot be trusted.
    pub fn scan(bytes: &[u8]) -> Result<Scan, Damage> {
        let header = Header::decode(bytes)?;
        let (mut at, mut next) = (HEADER_BYTES, header.first);
        loop {
            match header.step(&bytes[at..], next) {
                Step::Group(group) => {
                    at += group.bytes;
                    next += u64::from(group.count);
                }
                Step::End => return Ok(Scan { header, next, good_bytes: at, is_torn: false }),
                // Room that was made ahead.
                Step::Broken if bytes[at..].iter().all(|byte| *byte == 0) => {
                    return Ok(Scan { header, next, good_bytes: at, is_torn: false });
                }
                Step::Broken if header.has_group_within(&bytes[at..]) => return Err(Damage::Group { at }),
                Step::Broken => return Ok(Scan { header, next, good_bytes: at, is_torn: true }),
            }
        }
    }

    /// Whether a whole group begins anywhere in `bytes`.
    fn has_group_within(&self, bytes: &[u8]) -> bool {
        let mark = self.mark().to_le_bytes();
        let places = bytes.windows(mark.len()).enumerate().filter(|(_, window)| *window == mark);
        places.map(|(at, _)| at).any(|at| self.group(&bytes[at..]).is_some())
    }

    /// Nobody who posts can know it.
    fn mark(&self) -> u32 {
        crc32c::crc32c(&self.salt.to_le_bytes())
    }

    /// Over the salt, the head of a group without the checksum itself, and its body.
    fn checksum(&self, group: &[u8]) -> u32 {
        let crc = crc32c::crc32c(&self.salt.to_be_bytes());
        let crc = crc32c::crc32c_append(crc, &group[..20]);
        crc32c::crc32c_append(crc, &group[GROUP_HEADER_BYTES..])
    }
}

impl<'a> Group<'a> {
    /// The bytes of each post, in order.
    pub fn posts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.body;
        std::iter::from_fn(move || {
            let (length, after) = rest.split_at_checked(4)?;
            let (post, after) = after.split_at_checked(usize::try_from(u32_at(length, 0)).ok()?)?;
            rest = after;
            Some(post)
        })
    }
}

fn length(length: usize) -> u32 {
    u32::try_from(length).expect("a group is bounded far below 4 GiB")
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests;
