//! What the files look like from outside, so that a reload is begun when somebody wrote and only then.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use pico_config::Engine;

use super::version_files::VersionFiles;

/// What all files look like, cheap and exact: `stat` tells whether somebody wrote, the contents whether it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Look {
    /// Of names, places and times.
    pub(super) outside: u64,
    /// Of the contents.
    pub(super) inside: u64,
}

impl Look {
    /// Both. Reads every file.
    pub(super) fn now(config: &Engine, files: &VersionFiles, referenced: &[PathBuf]) -> Look {
        let (mut outside, mut inside) = (DefaultHasher::new(), DefaultHasher::new());
        for file in watched(config, files, referenced) {
            (&file, Stamp::of(&file)).hash(&mut outside);
            (&file, std::fs::read(&file).ok()).hash(&mut inside);
        }
        Look { outside: outside.finish(), inside: inside.finish() }
    }

    /// Names, places and times alone. One `stat` a file.
    pub(super) fn outside(config: &Engine, files: &VersionFiles, referenced: &[PathBuf]) -> u64 {
        let mut outside = DefaultHasher::new();
        for file in watched(config, files, referenced) {
            (&file, Stamp::of(&file)).hash(&mut outside);
        }
        outside.finish()
    }
}

/// What changes when a file is written, replaced, or reached over another link.
#[derive(Hash)]
struct Stamp(Option<(u64, u64, i64, i64, i64, i64)>);

impl Stamp {
    fn of(file: &Path) -> Stamp {
        let stamp = |meta: Metadata| {
            (meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec())
        };
        Stamp(std::fs::metadata(file).ok().map(stamp))
    }
}

/// Definitions, what they refer to, and config.toml, in a fixed order.
fn watched(config: &Engine, files: &VersionFiles, referenced: &[PathBuf]) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(&config.connectors.config_dir).into_iter().flatten().flatten();
    let in_folder = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".toml")
    });
    in_folder.chain(files.watched()).chain(referenced.iter().cloned()).chain(config.file.clone()).collect()
}
