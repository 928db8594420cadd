//! The wanted set: all definitions as the files say now, checked as far as that is possible without a network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use pico_actors::handle::{Entry, RunningSource};
use pico_config::{BadFile, Definition, DefinitionFile, Engine, Env, Finding, Location, Owners};

use super::foreign::{self, Urls};
use super::last::Last;
use super::look::Look;
use super::version_files::VersionFiles;
use super::versions::{Adopted, Chosen};
use crate::wiring::{Wiring, bad_entry};

/// Name of a definition that a client sent and that no source has.
const SENT_NAME: &str = "sent.toml";

/// Where the texts come from.
#[derive(Debug, Clone)]
pub(crate) enum Texts {
    /// The folder.
    Files,
    /// These instead of the folder, from a client.
    All(Vec<DefinitionFile>),
    /// The folder, with this one in the place of the file with its key, from a client.
    One(String),
}

/// All definitions, good and bad.
pub(crate) struct Wanted {
    good: Vec<Definition>,
    bad: Vec<BadFile>,
    warnings: Vec<Finding>,
    referenced: BTreeSet<PathBuf>,
    look: Look,
    /// Present key by file to the key it gave before.
    pub(super) renamed: BTreeMap<String, String>,
    pub(super) adopted: Vec<Adopted>,
    pub(super) needs_restart: Vec<String>,
}

/// What the wanted set is held against.
pub(super) struct Ground<'a> {
    pub(super) config: &'a Engine,
    pub(super) env: &'a Env,
    pub(super) files: &'a VersionFiles,
    pub(super) last: &'a Last,
    pub(super) running: &'a [RunningSource],
    /// What a library and the Kafka client say of a definition.
    pub(super) check: &'a dyn Fn(&Definition) -> Vec<Finding>,
}

impl Ground<'_> {
    fn running(&self, key: &str) -> Option<&Definition> {
        let source = self.running.iter().find(|source| source.key.eq_ignore_ascii_case(key));
        source.and_then(|source| source.definition.as_deref())
    }
}

impl Wanted {
    /// Reads and checks. A changed definition that could not run becomes a bad file; a new one is listed with its error,
    /// as at the start. Blocks.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn load(ground: &Ground<'_>, texts: Texts) -> Result<Wanted, Box<Finding>> {
        let Ground { config, env, files, last, .. } = ground;
        // Before the files are read: what changes meanwhile is seen as a change later.
        let look = Look::now(config, files, &last.referenced);
        let (mut chosen, is_foreign) = read_texts(ground, texts)?;
        let adopted = std::mem::take(&mut chosen.adopted);
        let loaded = load_chosen(chosen, config, env, &last.owners);
        let mut wanted = Wanted {
            good: Vec::new(),
            bad: loaded.bad,
            warnings: loaded.warnings,
            referenced: loaded.referenced,
            look,
            renamed: BTreeMap::new(),
            adopted,
            needs_restart: needs_restart(config, env),
        };
        for definition in loaded.good {
            wanted.admit(definition, ground, is_foreign);
        }
        wanted.name_bad_files(&last.owners);
        wanted.find_renamed(&last.owners);
        Ok(wanted)
    }

    fn admit(&mut self, definition: Definition, ground: &Ground<'_>, is_foreign: bool) {
        let former = ground.running(definition.key.as_str());
        if former == Some(&definition) {
            self.good.push(definition);
            return;
        }
        let mut findings = Vec::new();
        if is_foreign {
            let location = Location::File(definition.file.clone());
            let held = former.map(|former| &former.written);
            let urls = Urls::of(&ground.config.limits);
            findings = foreign::refusals(&definition.written, held, urls, &location);
        }
        let is_refused = !findings.is_empty();
        findings.extend((ground.check)(&definition));
        let has_errors = findings.iter().any(Finding::is_error);
        if is_refused || has_errors && former.is_some() {
            let (file, key) = (definition.file.clone(), definition.key.as_str().to_owned());
            self.bad.push(BadFile { file, key, findings });
        } else {
            self.warnings.extend(findings);
            self.good.push(definition);
        }
    }

    /// A file whose key cannot be read any more still stands for the source that came from it.
    fn name_bad_files(&mut self, owners: &Owners) {
        let good: BTreeSet<String> = self.good.iter().map(|definition| definition.key.folded()).collect();
        for bad in &mut self.bad {
            let owned = owners.iter().find(|(_, file)| **file == bad.file).map(|(key, _)| key);
            if let Some(key) = owned.filter(|key| !good.contains(*key)) {
                bad.key.clone_from(key);
            }
        }
        let mut seen = good;
        // Two bad files of one key, or a bad newcomer beside a good owner, are told apart by their names.
        for bad in &mut self.bad {
            if !seen.insert(bad.key.to_ascii_lowercase()) {
                bad.key = bad.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                seen.insert(bad.key.to_ascii_lowercase());
            }
        }
    }

    fn find_renamed(&mut self, owners: &Owners) {
        for definition in &self.good {
            let former = owners.iter().find(|(_, file)| **file == definition.file).map(|(key, _)| key);
            if let Some(former) = former.filter(|former| **former != definition.key.folded()) {
                self.renamed.insert(definition.key.as_str().to_owned(), former.clone());
            }
        }
    }

    pub(super) fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.good.iter()
    }

    pub(super) fn bad(&self) -> impl Iterator<Item = &BadFile> {
        self.bad.iter()
    }

    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.bad.iter().flat_map(|bad| &bad.findings).chain(&self.warnings)
    }

    /// What the next load needs to know of this one. A refused file keeps the key it had.
    pub(super) fn last(&self, before: &Last) -> Last {
        let mut owners: Owners =
            self.good.iter().map(|definition| (definition.key.folded(), definition.file.clone())).collect();
        for bad in &self.bad {
            let key = bad.key.to_ascii_lowercase();
            if let Some(file) = before.owners.get(&key) {
                owners.entry(key).or_insert_with(|| file.clone());
            }
        }
        Last { owners, referenced: self.referenced.iter().cloned().collect(), look: Some(self.look) }
    }

    /// With their doors, in the order of their files.
    pub(super) fn entries(self, wiring: &Wiring) -> Vec<Entry> {
        let good = self.good.into_iter().map(|good| (good.file.clone(), wiring.entry(good)));
        let bad = self.bad.into_iter().map(|bad| (bad.file.clone(), bad_entry(bad)));
        let mut entries: Vec<(PathBuf, Entry)> = good.chain(bad).collect();
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        entries.into_iter().map(|(_, entry)| entry).collect()
    }
}

/// Loads what was chosen: a version is the number of its file's name, whatever stands in it.
pub(super) fn load_chosen(
    chosen: Chosen,
    config: &Engine,
    env: &Env,
    owners: &Owners,
) -> pico_config::Definitions {
    let Chosen { files, versions, of_api, bad, adopted: _ } = chosen;
    let mut loaded = pico_config::load_files(files, config, env, owners);
    for definition in &mut loaded.good {
        if let Some((_, version)) = versions.get(&definition.file) {
            definition.version = *version;
        }
        if let Some(held) = of_api.get(&definition.file).filter(|_| Urls::of(&config.limits) == Urls::Public)
        {
            foreign::mark_urls(definition, held);
        }
    }
    for bad in &mut loaded.bad {
        if let Some((key, _)) = versions.get(&bad.file) {
            bad.key.clone_from(key);
        }
    }
    loaded.bad.extend(bad);
    loaded
}

/// The texts, each read once, and whether a client sent some of them.
fn read_texts(ground: &Ground<'_>, texts: Texts) -> Result<(Chosen, bool), Box<Finding>> {
    let folder = &ground.config.connectors.config_dir;
    match texts {
        Texts::Files => Ok((ground.files.choose(ground.config)?, false)),
        // By their names they stand for the files of the folder.
        Texts::All(sent) => {
            let here = |sent: DefinitionFile| {
                let name = sent.file.file_name().unwrap_or_default();
                DefinitionFile { file: folder.join(name), ..sent }
            };
            Ok((Chosen { files: sent.into_iter().map(here).collect(), ..Chosen::default() }, true))
        }
        Texts::One(text) => {
            let mut chosen = ground.files.choose(ground.config)?;
            let name = folder.join(SENT_NAME);
            let (definition, _) = pico_config::check_definition(&name, &text, ground.config, ground.env);
            let key = definition.map(|definition| definition.key.folded());
            let file = key.and_then(|key| ground.last.owners.get(&key).cloned()).unwrap_or(name);
            chosen.files.retain(|known| known.file != file);
            chosen.files.push(DefinitionFile { file, text: Ok(text) });
            Ok((chosen, true))
        }
    }
}

/// Sections of config.toml that are not as they were at the start.
fn needs_restart(config: &Engine, env: &Env) -> Vec<String> {
    let Some(file) = &config.file else { return Vec::new() };
    let Ok((now, _)) = pico_config::load_engine(Some(file), env) else {
        return vec!["config.toml cannot be used as it is now".to_owned()];
    };
    let sections = [
        ("kafka", now.kafka != config.kafka),
        ("state", now.state != config.state),
        ("connectors", now.connectors != config.connectors),
        ("plugins", now.plugins != config.plugins),
        ("http", now.http != config.http),
        ("logging", now.logging != config.logging),
        ("supervision", now.supervision != config.supervision),
        ("shutdown", now.shutdown != config.shutdown),
        ("limits", now.limits != config.limits),
    ];
    sections.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests;
