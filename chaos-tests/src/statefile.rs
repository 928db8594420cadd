//! Reads what the engine's file store left on disk, by a decoder of its own: the harness must not trust the code it
//! tests.
//!
//! The file is `PICOSTAT`, then little-endian: format version u32, life u64, number u64, length u32, CRC32C u32 over
//! all bytes before it and the blob; then the blob, the plugin's own bytes: MessagePack with a version mark, for the
//! plugins that use the SDK's help.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"PICOSTAT";
const VERSION: u32 = 1;
const CHECKSUM_AT: usize = 32;
const HEADER: usize = 36;

/// One whole and undamaged state file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFile {
    /// The opening that wrote it.
    pub life: u64,
    /// The number of the batch it covers.
    pub number: u64,
    /// The plugin's own bytes.
    pub blob: Vec<u8>,
}

impl StateFile {
    /// Reads the file. `None` when there is none, which is a fresh start; anything else that is not a whole state
    /// file is an error.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        match fs::read(path) {
            Ok(bytes) => Self::parse(&bytes)
                .map(Some)
                .map_err(|reason| Error::malformed(format!("state file {}", path.display()), reason)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(format!("read {}", path.display()))(error)),
        }
    }

    fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        if bytes.len() < HEADER {
            return Err(format!("{} bytes, a header has {HEADER}", bytes.len()));
        }
        let (head, blob) = bytes.split_at(HEADER);
        if &head[..8] != MAGIC {
            return Err("the magic is not PICOSTAT".to_owned());
        }
        let version = u32_at(head, 8);
        if version != VERSION {
            return Err(format!("format version {version}, this harness knows {VERSION}"));
        }
        let length = u32_at(head, 28) as usize;
        if length != blob.len() {
            return Err(format!("the header says {length} bytes, {} follow", blob.len()));
        }
        let computed = crc32c::crc32c_append(crc32c::crc32c(&head[..CHECKSUM_AT]), blob);
        let stored = u32_at(head, CHECKSUM_AT);
        if computed != stored {
            return Err(format!("checksum {stored:08x}, computed {computed:08x}"));
        }
        Ok(Self { life: u64_at(head, 12), number: u64_at(head, 20), blob: blob.to_vec() })
    }

    /// The file's bytes, for tests that plant one.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.life.to_le_bytes());
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(u32::try_from(self.blob.len()).expect("a test's blob is small").to_le_bytes());
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes), &self.blob);
        bytes.extend(checksum.to_le_bytes());
        bytes.extend(&self.blob);
        bytes
    }

    /// The count of records before the saved position: what the random source keeps as `count`, and the faulty
    /// source's script as the whole of its state. 0 when the blob is empty: opened, nothing saved yet.
    pub fn position(&self) -> Result<u64> {
        if self.blob.is_empty() {
            return Ok(0);
        }
        let value = self.value()?;
        let count = value["state"]["count"].as_u64().or_else(|| value["state"].as_u64());
        count
            .ok_or_else(|| Error::malformed("the state of a counting source", format!("no count in {value}")))
    }

    /// The plugin's own bytes, read as the MessagePack that the SDK writes.
    pub fn value(&self) -> Result<serde_json::Value> {
        rmp_serde::from_slice(&self.blob)
            .map_err(|error| Error::malformed("the state of a source", error.to_string()))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes were sliced"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes were sliced"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> StateFile {
        let blob = rmp_serde::to_vec_named(&serde_json::json!({"v": 1, "state": {"count": 1042}})).unwrap();
        StateFile { life: u64::MAX - 3, number: 17, blob }
    }

    #[test]
    fn a_whole_file_gives_life_number_and_position() {
        let read = StateFile::parse(&sample().to_bytes()).unwrap();

        assert_eq!(read, sample());
        assert_eq!(read.position().unwrap(), 1042);
    }

    #[test]
    fn a_state_that_is_a_bare_count_is_a_position_too() {
        let blob = rmp_serde::to_vec_named(&serde_json::json!({"v": 1, "state": 7})).unwrap();

        assert_eq!(StateFile { blob, ..sample() }.position().unwrap(), 7);
    }

    #[test]
    fn every_single_damaged_byte_is_noticed() {
        let good = sample().to_bytes();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert!(StateFile::parse(&bad).is_err(), "byte {at}");
        }
        for length in 0..good.len() {
            assert!(StateFile::parse(&good[..length]).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn no_file_is_a_fresh_start_and_an_empty_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.state");
        assert_eq!(StateFile::read(&path).unwrap(), None);

        fs::write(&path, b"").unwrap();

        assert!(StateFile::read(&path).is_err());
    }
}
