//! Versions of definitions: files `source_<key>_<version>.toml` and which of them is active. Pure; `version_files` reads
//! and writes.
//!
//! The file that people edit wins: while it is what it was when a version was made active, that version is in force; once
//! it changed, its content is the next version, and active. A pointer that names what is not there is an error of its
//! source, never a source that vanished.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pico_config::{BadFile, DefinitionFile, Finding, Location, Severity};
use serde::{Deserialize, Serialize};

use super::foreign;

/// First line of a version that was written through the API: its URLs are not the operator's.
pub(super) const API_MARK: &str = "# Written through the API.\n";

/// Name of the file that says which versions are active.
pub(super) const POINTER_FILE: &str = ".active_versions.toml";

/// Which version of each source is active, by folded key.
pub(super) type Pointer = BTreeMap<String, Active>;

/// What is said of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Active {
    /// The active one.
    pub(super) version: u64,
    /// SHA-256 of the file that people edit, as it was when this was said; absent for a source without one.
    pub(super) origin: Option<String>,
    /// The version that is the content of that file.
    pub(super) origin_version: Option<u64>,
}

/// All that is known of one source's versions.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// As its files write it.
    pub(super) key: String,
    /// The file that people edit.
    pub(super) original: Option<DefinitionFile>,
    /// Version files by number.
    pub(super) versions: BTreeMap<u64, DefinitionFile>,
}

/// Content of the file that people edit, which becomes a version because it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Adopted {
    pub(super) key: String,
    pub(super) text: String,
    pub(super) active: Active,
}

/// What is to be loaded.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// One file a source, and every file that no version concerns.
    pub(super) files: Vec<DefinitionFile>,
    /// Key and version of the files that are versions.
    pub(super) versions: BTreeMap<PathBuf, (String, u64)>,
    /// Of those that were written through the API: every text in the file that people edit.
    pub(super) of_api: BTreeMap<PathBuf, BTreeSet<String>>,
    /// Sources of which nobody can say what is in force.
    pub(super) bad: Vec<BadFile>,
    pub(super) adopted: Vec<Adopted>,
}

/// SHA-256 of a text, in hexadecimal.
pub(super) fn hash(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of a version's file.
pub(super) fn file_name(key: &str, version: u64) -> String {
    format!("source_{key}_{version}.toml")
}

/// The version a file is, by its name, if the key in its name is the key in it.
fn version_of(file: &Path, key: &str) -> Option<u64> {
    let stem = file.file_stem()?.to_str()?;
    let number = stem.strip_prefix("source_")?.strip_prefix(key)?.strip_prefix('_')?;
    let version = number.parse().ok()?;
    // `007` is no name of ours.
    (file_name(key, version) == format!("{stem}.toml")).then_some(version)
}

/// Files by folded key; those without a readable key, and further files of one key, are given back as they are.
pub(super) fn group(files: Vec<DefinitionFile>) -> (BTreeMap<String, Known>, Vec<DefinitionFile>) {
    let (mut known, mut rest): (BTreeMap<String, Known>, Vec<DefinitionFile>) = (BTreeMap::new(), Vec::new());
    for file in files {
        let key = file.text.as_ref().ok().and_then(|text| pico_config::key_of(text));
        let Some(key) = key else {
            rest.push(file);
            continue;
        };
        let source = known.entry(key.to_ascii_lowercase()).or_default();
        match version_of(&file.file, &key) {
            Some(version) => _ = source.versions.insert(version, file),
            // Of two files with one key the loader says what is wrong.
            None if source.original.is_some() => rest.push(file),
            None => source.original = Some(file),
        }
        source.key = key;
    }
    (known, rest)
}

/// Chooses what is in force.
pub(super) fn choose(files: Vec<DefinitionFile>, pointer: &Pointer) -> Chosen {
    let (known, rest) = group(files);
    let mut chosen = Chosen { files: rest, ..Chosen::default() };
    for (folded, source) in &known {
        chosen.add(source, pointer.get(folded));
    }
    for (folded, active) in pointer.iter().filter(|(folded, _)| !known.contains_key(*folded)) {
        chosen.miss(folded, active.version, &PathBuf::from(POINTER_FILE));
    }
    chosen.files.sort_by(|one, other| one.file.cmp(&other.file));
    chosen
}

/// Chooses where the pointer cannot be read, for the reason given: a source with versions is in error, because nobody
/// knows which one is in force; the others are what their files say.
pub(super) fn choose_unsure(files: Vec<DefinitionFile>, unreadable: &Finding) -> Chosen {
    let (known, rest) = group(files);
    let mut chosen = Chosen { files: rest, ..Chosen::default() };
    for source in known.into_values() {
        let first = source.original.iter().chain(source.versions.values()).next();
        match first.filter(|_| !source.versions.is_empty()) {
            Some(first) => {
                let (file, key) = (first.file.clone(), source.key);
                chosen.bad.push(BadFile { file, key, findings: vec![unreadable.clone()] });
            }
            None => chosen.files.extend(source.original),
        }
    }
    chosen.files.sort_by(|one, other| one.file.cmp(&other.file));
    chosen
}

impl Known {
    /// Every text in the file that people edit.
    fn texts(&self) -> BTreeSet<String> {
        let text = self.original.as_ref().and_then(|original| original.text.as_ref().ok());
        text.map(|text| foreign::texts(&pico_config::written_of(text))).unwrap_or_default()
    }
}

impl Chosen {
    fn add(&mut self, source: &Known, active: Option<&Active>) {
        let highest = source.versions.keys().next_back().copied();
        let Some(original) = &source.original else {
            let version = active.map(|active| active.version).or(highest).unwrap_or_default();
            return self.take(source, version);
        };
        let Ok(text) = &original.text else { return self.files.push(original.clone()) };
        let written = pico_config::version_of(text).unwrap_or_default();
        let Some(active) = active else {
            // Without a pointer the highest is active; the file itself counts by the version it names.
            return match highest.filter(|highest| *highest > written) {
                Some(highest) => self.take(source, highest),
                None => self.files.push(original.clone()),
            };
        };
        let now = hash(text);
        if active.origin.as_ref() != Some(&now) {
            let version = highest.unwrap_or_default().max(active.version).max(written) + 1;
            let active = Active { version, origin: Some(now), origin_version: Some(version) };
            self.adopted.push(Adopted { key: source.key.clone(), text: text.clone(), active });
            return self.keep(source, original, version);
        }
        match active.origin_version == Some(active.version) {
            true => self.keep(source, original, active.version),
            false => self.take(source, active.version),
        }
    }

    /// The file that people edit, under its number.
    fn keep(&mut self, source: &Known, original: &DefinitionFile, version: u64) {
        self.versions.insert(original.file.clone(), (source.key.clone(), version));
        self.files.push(original.clone());
    }

    fn take(&mut self, source: &Known, version: u64) {
        match source.versions.get(&version) {
            Some(file) => {
                self.versions.insert(file.file.clone(), (source.key.clone(), version));
                if file.text.as_ref().is_ok_and(|text| text.starts_with(API_MARK)) {
                    self.of_api.insert(file.file.clone(), source.texts());
                }
                self.files.push(file.clone());
            }
            None => {
                let of = source.original.iter().chain(source.versions.values()).next();
                let file = of.map_or_else(PathBuf::new, |of| of.file.clone());
                self.miss(&source.key, version, &file);
            }
        }
    }

    fn miss(&mut self, key: &str, version: u64, beside: &Path) {
        let reason = format!("version {version} of `{key}` is active and its file is not there");
        let finding =
            Finding::new("config.no_version", Severity::Error, Location::File(beside.to_owned()), reason)
                .with_hint(format!(
                    "put {} back, or make another version active: PUT /sources/{key}/configs/active",
                    file_name(key, version)
                ));
        self.bad.push(BadFile { file: beside.to_owned(), key: key.to_owned(), findings: vec![finding] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, key: &str, more: &str) -> DefinitionFile {
        let text = format!("type = \"source\"\nkey = \"{key}\"\n{more}");
        DefinitionFile { file: PathBuf::from(name), text: Ok(text) }
    }

    fn active(version: u64, origin: Option<&DefinitionFile>, origin_version: Option<u64>) -> Active {
        let origin = origin.map(|file| hash(file.text.as_ref().unwrap()));
        Active { version, origin, origin_version }
    }

    fn names(chosen: &Chosen) -> Vec<&str> {
        chosen.files.iter().map(|file| file.file.to_str().unwrap()).collect()
    }

    #[test]
    fn without_a_pointer_the_highest_version_is_active_and_the_file_counts_by_its_own() {
        let files = vec![
            file("a.toml", "a", "version = 2\n"),
            file("source_a_1.toml", "a", ""),
            file("source_a_3.toml", "a", ""),
        ];
        assert_eq!(names(&choose(files.clone(), &Pointer::new())), ["source_a_3.toml"]);
        assert_eq!(names(&choose(files[..2].to_vec(), &Pointer::new())), ["a.toml"]);
        assert_eq!(
            names(&choose(files[1..].to_vec(), &Pointer::new())),
            ["source_a_3.toml"],
            "made by the API alone"
        );
    }

    #[test]
    fn while_the_file_is_what_it_was_the_active_version_is_in_force() {
        let original = file("a.toml", "a", "");
        let pointer = Pointer::from([("a".to_owned(), active(1, Some(&original), Some(0)))]);
        let chosen = choose(
            vec![original, file("source_a_1.toml", "a", ""), file("source_a_2.toml", "a", "")],
            &pointer,
        );
        assert_eq!((names(&chosen), chosen.adopted.len()), (vec!["source_a_1.toml"], 0));
        assert_eq!(chosen.versions[Path::new("source_a_1.toml")], ("a".to_owned(), 1));
    }

    #[test]
    fn a_file_that_changed_is_the_next_version_and_active() {
        let original = file("a.toml", "a", "");
        let pointer = Pointer::from([("a".to_owned(), active(1, Some(&original), Some(0)))]);
        let changed = file("a.toml", "a", "verbose = true\n");
        let chosen = choose(
            vec![changed.clone(), file("source_a_1.toml", "a", ""), file("source_a_2.toml", "a", "")],
            &pointer,
        );
        assert_eq!(names(&chosen), ["a.toml"]);
        assert_eq!(chosen.adopted[0].active, active(3, Some(&changed), Some(3)));
        let pointer = Pointer::from([("a".to_owned(), chosen.adopted[0].active.clone())]);
        let again = choose(vec![changed, file("source_a_3.toml", "a", "")], &pointer);
        assert_eq!((names(&again), again.adopted.len()), (vec!["a.toml"], 0), "only once");
    }

    #[test]
    fn a_pointer_that_names_what_is_not_there_is_an_error_of_its_source() {
        let original = file("a.toml", "a", "");
        let pointer = Pointer::from([
            ("a".to_owned(), active(7, Some(&original), Some(0))),
            ("gone".to_owned(), active(1, None, None)),
        ]);
        let chosen = choose(vec![original], &pointer);
        let keys: Vec<&str> = chosen.bad.iter().map(|bad| bad.key.as_str()).collect();
        assert_eq!((names(&chosen), keys), (vec![], vec!["a", "gone"]));
        assert!(chosen.bad[0].findings[0].reason.contains("version 7 of `a`"));
    }

    #[test]
    fn without_a_readable_pointer_sources_with_versions_are_in_error_and_the_others_run() {
        let files = vec![
            file("a.toml", "a", ""),
            file("b.toml", "b", ""),
            file("source_a_2.toml", "a", ""),
            file("source_c_1.toml", "c", ""),
        ];
        let location = Location::File(PathBuf::from(POINTER_FILE));
        let why = Finding::new("config.bad_pointer", Severity::Error, location, "damaged");
        let chosen = choose_unsure(files, &why);
        let keys: Vec<&str> = chosen.bad.iter().map(|bad| bad.key.as_str()).collect();
        assert_eq!((names(&chosen), keys), (vec!["b.toml"], vec!["a", "c"]));
        assert!(chosen.bad.iter().all(|bad| bad.findings == [why.clone()]));
    }

    #[test]
    fn a_version_that_came_through_the_api_is_told_from_one_of_the_operator() {
        let mut of_api = file("source_a_3.toml", "a", "");
        of_api.text = of_api.text.map(|text| format!("{API_MARK}{text}"));
        let of_api = vec![file("a.toml", "a", "name = \"inner\"\n"), of_api];
        let chosen = choose(of_api, &Pointer::new());
        let held = &chosen.of_api[Path::new("source_a_3.toml")];
        assert!(held.contains("inner"), "{held:?}");
        let kept = vec![file("a.toml", "a", ""), file("source_a_3.toml", "a", "")];
        assert!(choose(kept, &Pointer::new()).of_api.is_empty());
    }

    #[test]
    fn a_name_that_only_looks_like_a_version_is_a_definition_of_its_own() {
        for (name, key) in [
            ("source_a_1.toml", "source_a_1"),
            ("source_b_1.toml", "a"),
            ("source_a_01.toml", "a"),
            ("source_a_x.toml", "a"),
        ] {
            let chosen = choose(vec![file(name, key, "")], &Pointer::new());
            assert_eq!((names(&chosen), chosen.versions.len()), (vec![name], 0), "{name}");
        }
    }
}
