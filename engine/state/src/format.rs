//! The bytes of a state file. Pure: bytes in, checkpoint or damage out.
//!
//! | field | bytes | |
//! |---|---|---|
//! | magic | 8 | `PICOSTAT` |
//! | version | 4 | 1, little endian like every number here |
//! | life | 8 | random name of the opening that wrote the file |
//! | number | 8 | number of the newest batch the state covers |
//! | length | 4 | bytes of the blob |
//! | checksum | 4 | CRC32C of everything before it and of the blob |
//! | blob | length | the plugin's state, opaque; may be empty |
//!
//! There is no "no state" inside a file: a source that never saved has no file, and one whose plugin saved zero
//! bytes has a file with an empty blob, which is handed back as such.

/// Largest blob a state file may hold. A state is rewritten with every batch; past this size it is a fault of the
/// plugin (the SDK cuts batches at 1 MiB of owed keys).
pub const STATE_BYTES_MAX: usize = 64 << 20;

const MAGIC: &[u8; 8] = b"PICOSTAT";
const VERSION: u32 = 1;
/// Bytes before the checksum.
const CHECKED_HEADER_BYTES: usize = 32;
/// Bytes before the blob.
pub(crate) const HEADER_BYTES: usize = CHECKED_HEADER_BYTES + 4;

/// One saved state with its place in the history of its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Random name of the opening that wrote it.
    pub life: u64,
    /// Number of the newest batch it covers.
    pub number: u64,
    /// The plugin's bytes; empty is valid and differs from no file.
    pub state: Vec<u8>,
}

/// Why bytes are not a checkpoint. The words complete "state file X ...".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// No byte at all: what a rename without a synced file leaves after a power loss.
    #[error("is empty")]
    Empty,
    /// It begins like ours and ends too early.
    #[error("is cut short: {found} of {wanted} bytes")]
    Truncated {
        /// Bytes that are there.
        found: usize,
        /// Bytes there should be, as far as the header can be read.
        wanted: usize,
    },
    /// Another program's file.
    #[error("is not a state file of this engine")]
    Foreign,
    /// Written by a newer engine.
    #[error("has format version {version}, this engine reads up to {VERSION}")]
    Newer {
        /// The version it bears.
        version: u32,
    },
    /// Bytes behind the blob.
    #[error("has {extra} bytes too many")]
    Overlong {
        /// How many.
        extra: usize,
    },
    /// Some byte is not what was written.
    #[error("is damaged: its checksum does not fit")]
    Checksum,
    /// Not something a state can be read from: a folder, a symbolic link, a device.
    #[error("is not a regular file")]
    NotRegular,
    /// Larger than any state this engine writes.
    #[error("has {bytes} bytes, more than any state this engine writes")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
}

/// The file for a checkpoint.
///
/// # Panics
/// When `state` is longer than [`STATE_BYTES_MAX`]; the lease refuses such a state before.
pub fn encode(life: u64, number: u64, state: &[u8]) -> Vec<u8> {
    assert!(state.len() <= STATE_BYTES_MAX, "a state longer than the limit is refused before it is encoded");
    let mut bytes = Vec::with_capacity(HEADER_BYTES + state.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&life.to_le_bytes());
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&(state.len() as u32).to_le_bytes());
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes), state);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(state);
    bytes
}

/// Reads a file that [`encode`] wrote.
///
/// # Errors
/// Anything else is a [`Damage`], told apart so that a person knows what happened to the file.
pub fn decode(bytes: &[u8]) -> Result<Checkpoint, Damage> {
    check_kind(bytes)?;
    let truncated = |wanted| Damage::Truncated { found: bytes.len(), wanted };
    let header = bytes.get(..HEADER_BYTES).ok_or(truncated(HEADER_BYTES))?;
    let length = u32_at(header, 28) as usize;
    let body = &bytes[HEADER_BYTES..];
    if body.len() < length {
        return Err(truncated(HEADER_BYTES + length));
    }
    if body.len() > length {
        return Err(Damage::Overlong { extra: body.len() - length });
    }
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&header[..CHECKED_HEADER_BYTES]), body);
    if checksum != u32_at(header, CHECKED_HEADER_BYTES) {
        return Err(Damage::Checksum);
    }
    Ok(Checkpoint { life: u64_at(header, 12), number: u64_at(header, 20), state: body.to_vec() })
}

/// Whose file is it, and of which version: decided before the layout is believed.
fn check_kind(bytes: &[u8]) -> Result<(), Damage> {
    if bytes.is_empty() {
        return Err(Damage::Empty);
    }
    let shown = bytes.len().min(MAGIC.len());
    if bytes[..shown] != MAGIC[..shown] {
        return Err(Damage::Foreign);
    }
    if bytes.len() < 12 {
        return Err(Damage::Truncated { found: bytes.len(), wanted: HEADER_BYTES });
    }
    match u32_at(bytes, 8) {
        VERSION => Ok(()),
        0 => Err(Damage::Checksum),
        version => Err(Damage::Newer { version }),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_layout_is_the_documented_one() {
        let bytes = encode(0x0102_0304_0506_0708, 9, b"xyz");

        assert_eq!(&bytes[..8], b"PICOSTAT");
        assert_eq!(bytes[8..12], [1, 0, 0, 0]);
        assert_eq!(bytes[12..20], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(bytes[20..28], [9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[28..32], [3, 0, 0, 0]);
        let checked = [&bytes[..32], b"xyz"].concat();
        assert_eq!(bytes[32..36], crc32c::crc32c(&checked).to_le_bytes());
        assert_eq!(&bytes[36..], b"xyz");
    }

    #[test]
    fn an_empty_state_comes_back_as_an_empty_state() {
        let checkpoint = decode(&encode(1, 2, b"")).unwrap();

        assert_eq!(checkpoint, Checkpoint { life: 1, number: 2, state: Vec::new() });
    }

    #[test]
    fn an_empty_file_is_damage() {
        assert_eq!(decode(b""), Err(Damage::Empty));
    }

    #[test]
    fn a_foreign_file_is_named_as_such() {
        assert_eq!(decode(b"SQLite format 3\0"), Err(Damage::Foreign));
        assert_eq!(decode(&[0; 64]), Err(Damage::Foreign));
    }

    #[test]
    fn a_newer_version_is_refused_by_its_number() {
        let mut bytes = encode(1, 2, b"state");
        bytes[8] = 2;

        assert_eq!(decode(&bytes), Err(Damage::Newer { version: 2 }));
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(life: u64, number: u64, state: Vec<u8>) {
            let bytes = encode(life, number, &state);
            prop_assert_eq!(decode(&bytes), Ok(Checkpoint { life, number, state }));
        }

        #[test]
        fn every_prefix_is_damage(state: Vec<u8>, cut in 0usize..100) {
            let bytes = encode(7, 8, &state);
            let cut = cut.min(bytes.len() - 1);
            prop_assert!(decode(&bytes[..cut]).is_err());
        }

        #[test]
        fn every_flipped_bit_is_damage(state: Vec<u8>, at: prop::sample::Index, bit in 0u8..8) {
            let mut bytes = encode(7, 8, &state);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(decode(&bytes).is_err());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }
}
