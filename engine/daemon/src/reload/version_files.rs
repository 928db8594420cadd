//! Where versions are kept: beside the definitions, or, where that folder is mounted read-only, under the state path.
//! Every write is whole or not at all.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use pico_config::{DefinitionFile, Engine, Finding, Location, Severity, StateConfig};
use rustix::fs::Access;
use tempfile::NamedTempFile;

use super::versions::{Active, Adopted, Chosen, POINTER_FILE, Pointer, choose, file_name};

/// Folder under the state path.
const FOLDER: &str = "definitions";

/// Where versions and pointer are.
#[derive(Debug, Clone)]
pub(super) struct VersionFiles {
    folder: PathBuf,
    is_beside: bool,
}

impl VersionFiles {
    /// Beside the definitions if files can be written there.
    pub(super) fn of(config: &Engine) -> VersionFiles {
        let beside = &config.connectors.config_dir;
        let is_writable = rustix::fs::access(beside, Access::WRITE_OK).is_ok();
        match &config.state {
            StateConfig::File { path } if !is_writable => {
                VersionFiles { folder: path.join(FOLDER), is_beside: false }
            }
            StateConfig::File { .. } | StateConfig::Http(_) => {
                VersionFiles { folder: beside.clone(), is_beside: true }
            }
        }
    }

    /// Files of this folder that `definition_files` does not see, and the pointer.
    pub(super) fn watched(&self) -> Vec<PathBuf> {
        let mut files = self.own_files();
        files.push(self.folder.join(POINTER_FILE));
        files
    }

    fn own_files(&self) -> Vec<PathBuf> {
        if self.is_beside {
            return Vec::new();
        }
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_version = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with("source_") && name.ends_with(".toml")
        };
        entries.filter(is_version).collect()
    }

    /// All files of definitions, those of the folder and versions kept elsewhere. Blocks.
    ///
    /// # Errors
    /// The folder of definitions cannot be read.
    pub(super) fn read(&self, config: &Engine) -> Result<Vec<DefinitionFile>, Box<Finding>> {
        let files = pico_config::definition_files(config)?.into_iter().chain(self.own_files());
        Ok(files.map(|file| DefinitionFile::read(&file)).collect())
    }

    /// The files that are in force. Blocks.
    ///
    /// # Errors
    /// The folder or the pointer cannot be read: nobody knows then what is in force.
    pub(super) fn choose(&self, config: &Engine) -> Result<Chosen, Box<Finding>> {
        Ok(choose(self.read(config)?, &self.pointer()?))
    }

    /// Which versions are active.
    ///
    /// # Errors
    /// The file is there and cannot be read or understood.
    pub(super) fn pointer(&self) -> Result<Pointer, Box<Finding>> {
        let path = self.folder.join(POINTER_FILE);
        let refused =
            |reason: String| {
                let location = Location::File(path.clone());
                let finding = Finding::new("config.bad_pointer", Severity::Error, location, reason);
                Box::new(finding.with_hint(
                    "mend it, or remove it: without it the highest version of each source is active",
                ))
            };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Pointer::new()),
            Err(error) => return Err(refused(format!("the file cannot be read: {error}"))),
        };
        let pointer: Pointer = toml::from_str(&text)
            .map_err(|error| refused(format!("it is no list of active versions: {}", error.message())))?;
        Ok(pointer.into_iter().map(|(key, active)| (key.to_ascii_lowercase(), active)).collect())
    }

    /// Makes a version active. Blocks.
    ///
    /// # Errors
    /// The pointer cannot be read or written.
    pub(super) fn activate(&self, key: &str, active: Active) -> Result<(), Box<Finding>> {
        let mut pointer = self.pointer()?;
        pointer.insert(key.to_ascii_lowercase(), active);
        let text = toml::to_string(&pointer).expect("a table of tables of numbers and texts prints");
        let remark = "# Which version of each source is in force. Written by the daemon; see docs/operations.md, Versions.\n";
        self.write(POINTER_FILE, &format!("{remark}{text}"))
    }

    /// Keeps a version. Blocks.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn keep(&self, key: &str, version: u64, text: &str) -> Result<(), Box<Finding>> {
        self.write(&file_name(key, version), text)
    }

    /// Removes a version. Blocks.
    ///
    /// # Errors
    /// It cannot be removed.
    pub(super) fn remove(&self, key: &str, version: u64) -> Result<(), Box<Finding>> {
        let path = self.folder.join(file_name(key, version));
        fs::remove_file(&path).map_err(|error| self.failed(&path, &error))
    }

    /// A changed file became a version. What cannot be kept is said; the file itself is in force all the same.
    pub(super) fn adopt(&self, adopted: &Adopted) {
        let Adopted { key, text, active } = adopted;
        let version = active.version;
        tracing::info!(source = key, version, "the file changed: it is a new version, and active");
        let kept = self.keep(key, version, text).and_then(|()| self.activate(key, active.clone()));
        if let Err(finding) = kept {
            let reason = finding.summary();
            tracing::warn!(source = key, reason, "the version is not kept; the file itself is in force");
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Box<Finding>> {
        let path = self.folder.join(name);
        self.try_write(&path, text).map_err(|error| self.failed(&path, &error))
    }

    fn try_write(&self, path: &Path, text: &str) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        // Its mode is 0600: a definition may hold a secret.
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(&self.folder)?.sync_all()
    }

    fn failed(&self, path: &Path, error: &std::io::Error) -> Box<Finding> {
        let reason = format!("it cannot be written: {error}");
        let finding =
            Finding::new("config.not_written", Severity::Error, Location::File(path.to_owned()), reason);
        Box::new(finding.with_hint("see owner, mode and room of the folder"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reload::versions::hash;

    const TEXT: &str = "type = \"source\"\nkey = \"a\"\n";

    #[test]
    fn versions_and_pointer_may_lie_elsewhere_when_the_folder_is_read_only() {
        let (beside, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut config = Engine::defaults(beside.path());
        config.connectors.config_dir = beside.path().to_owned();
        fs::write(beside.path().join("a.toml"), TEXT).unwrap();
        let files = VersionFiles { folder: elsewhere.path().join("definitions"), is_beside: false };

        files.keep("a", 2, TEXT).unwrap();
        files
            .activate("A", Active { version: 2, origin: Some(hash(TEXT)), origin_version: Some(0) })
            .unwrap();

        let chosen = files.choose(&config).unwrap();
        assert_eq!(chosen.files[0].file, elsewhere.path().join("definitions/source_a_2.toml"));
        assert_eq!(fs::read_dir(beside.path()).unwrap().count(), 1, "nothing is written there");
        let left: Vec<_> = fs::read_dir(elsewhere.path().join("definitions")).unwrap().collect();
        assert_eq!(left.len(), 2, "no temporary file is left: {left:?}");
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&chosen.files[0].file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_damaged_pointer_is_an_error_and_no_list_of_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let files = VersionFiles { folder: folder.path().to_owned(), is_beside: true };
        assert_eq!(files.pointer().unwrap().len(), 0, "an absent one is");
        fs::write(folder.path().join(POINTER_FILE), "[a]\nversion = \"x\"\n").unwrap();
        assert_eq!(files.pointer().unwrap_err().code, "config.bad_pointer");
    }
}
