//! What the API does with versions: list, store, make active, remove.

use std::path::PathBuf;

use pico_config::{Finding, Location, Severity, SourceKey, Written};
use serde_json::{Map, Value};

use super::foreign::{self, Urls};
use super::versions::{API_MARK, Active, Known, file_name, group, hash};
use super::{Refused, Reloads};
use crate::definition_check;

/// One version of a definition.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    /// Its number.
    pub(crate) version: u64,
    /// Whether it is the one that is in force, or will be with the next reload.
    pub(crate) is_active: bool,
    /// For people: references stay references, secrets are `***`.
    pub(crate) shown: Map<String, Value>,
}

/// Why the API did not do it.
#[derive(Debug)]
pub(crate) enum NotDone {
    /// `[connectors] writable = false`.
    ReadOnly,
    /// No source, or no version, of this name.
    Unknown(String),
    /// What was sent is no definition: every error.
    Invalid(Vec<Finding>),
    /// It is active.
    Active,
    /// The files cannot be read or written.
    Files(Box<Finding>),
    /// The process ends.
    Ending,
}

impl From<Box<Finding>> for NotDone {
    fn from(finding: Box<Finding>) -> NotDone {
        NotDone::Files(finding)
    }
}

impl From<Refused> for NotDone {
    fn from(refused: Refused) -> NotDone {
        match refused {
            Refused::Unreadable(finding) => NotDone::Files(finding),
            Refused::Outdated { .. } | Refused::Ending => NotDone::Ending,
        }
    }
}

/// The files of one source with their numbers.
struct Source {
    known: Known,
    active: Active,
}

impl Source {
    fn text(&self, version: u64) -> Option<&str> {
        let is_original = self.active.origin_version == Some(version);
        let file = match (is_original, &self.known.original) {
            (true, Some(original)) => Some(original),
            (_, _) => self.known.versions.get(&version),
        };
        file.and_then(|file| file.text.as_ref().ok()).map(String::as_str)
    }

    fn numbers(&self) -> Vec<u64> {
        let original = self.active.origin_version.filter(|_| self.known.original.is_some());
        let mut numbers: Vec<u64> = self.known.versions.keys().copied().chain(original).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

impl Reloads {
    /// All versions of a source, by number.
    ///
    /// # Errors
    /// There is no such source, or its files cannot be read.
    pub(crate) async fn versions(&self, key: &str) -> Result<Vec<Version>, NotDone> {
        let key = known_key(key)?;
        self.blocking(move |reloads| {
            let source = reloads.source(key.as_str())?.ok_or_else(|| unknown(key.as_str()))?;
            let version = |version: u64| {
                let text = source.text(version).unwrap_or_default();
                let shown = pico_config::written_of(text).shown(&|_path| false);
                Version { version, is_active: version == source.active.version, shown }
            };
            Ok(source.numbers().into_iter().map(version).collect())
        })
        .await
    }

    /// Stores what was sent as the next version, which is not active yet. A key that no source has begins a source, which
    /// the next reload starts.
    ///
    /// # Errors
    /// What was sent is no definition, or reaches further than the files do.
    pub(crate) async fn store(&self, key: &str, sent: Map<String, Value>) -> Result<Version, NotDone> {
        let key = known_key(key)?;
        self.blocking(move |reloads| {
            reloads.check_writable()?;
            let source = reloads.source(key.as_str())?;
            reloads.store_now(&key, source.as_ref(), sent)
        })
        .await
    }

    /// Makes a version active; the watch, or a reload, takes it up.
    ///
    /// # Errors
    /// There is no such version.
    pub(crate) async fn activate(&self, key: &str, version: u64) -> Result<(), NotDone> {
        let key = known_key(key)?;
        self.blocking(move |reloads| {
            reloads.check_writable()?;
            let source = reloads.source(key.as_str())?.ok_or_else(|| unknown(key.as_str()))?;
            if source.text(version).is_none() {
                return Err(NotDone::Unknown(format!("`{key}` has no version {version}")));
            }
            reloads.keep_original(&source)?;
            Ok(reloads.shared.files.activate(key.as_str(), Active { version, ..source.active })?)
        })
        .await
    }

    /// Removes a version that is not active.
    ///
    /// # Errors
    /// There is no such version, it is active, or it is the file that people edit.
    pub(crate) async fn forget(&self, key: &str, version: u64) -> Result<(), NotDone> {
        let key = known_key(key)?;
        self.blocking(move |reloads| {
            reloads.check_writable()?;
            let source = reloads.source(key.as_str())?.ok_or_else(|| unknown(key.as_str()))?;
            if version == source.active.version {
                return Err(NotDone::Active);
            }
            if !source.known.versions.contains_key(&version) {
                return Err(NotDone::Unknown(format!(
                    "`{key}` has no version {version} that can be removed"
                )));
            }
            Ok(reloads.shared.files.remove(&source.known.key, version)?)
        })
        .await
    }

    /// What runs under this key, as its file writes it.
    ///
    /// # Errors
    /// No definition runs under it.
    pub(crate) async fn in_force(&self, key: &str) -> Result<Version, NotDone> {
        let running = self.running().await?;
        let source = running.into_iter().find(|source| source.key.eq_ignore_ascii_case(key));
        let definition = source.and_then(|source| source.definition).ok_or_else(|| unknown(key))?;
        let schema = definition_check::known_schema(&definition);
        let is_secret =
            |path: &str| schema.as_ref().is_some_and(|schema| definition_check::is_secret(schema, path));
        let shown = definition.written.shown(&is_secret);
        Ok(Version { version: definition.version, is_active: true, shown })
    }

    /// One writer at a time, beside no reload.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Reloads) -> Result<T, NotDone> + Send + 'static,
    ) -> Result<T, NotDone> {
        let alone = self.shared.last.lock().await;
        let reloads = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&reloads)).await;
        drop(alone);
        done.unwrap_or(Err(NotDone::Ending))
    }

    fn check_writable(&self) -> Result<(), NotDone> {
        if self.shared.config.connectors.writable { Ok(()) } else { Err(NotDone::ReadOnly) }
    }

    fn source(&self, key: &str) -> Result<Option<Source>, NotDone> {
        let (mut known, _) = group(self.shared.files.read(&self.shared.config)?);
        let folded = key.to_ascii_lowercase();
        let Some(known) = known.remove(&folded) else { return Ok(None) };
        let text = known.original.as_ref().and_then(|original| original.text.as_ref().ok());
        let origin = text.map(|text| hash(text));
        let written = text.map(|text| pico_config::version_of(text).unwrap_or_default());
        let highest = known.versions.keys().next_back().copied();
        // Before anything was said the highest is active, the file counting by the version it names.
        let said = self.shared.files.pointer()?.remove(&folded);
        let active = said.unwrap_or(Active {
            version: highest.max(written).unwrap_or_default(),
            origin: origin.clone(),
            origin_version: written,
        });
        Ok(Some(Source { known, active }))
    }

    /// A copy of the file that people edit, under its number, so that it can be gone back to once it was edited.
    fn keep_original(&self, source: &Source) -> Result<(), NotDone> {
        let Known { key, original, versions } = &source.known;
        let text = original.as_ref().and_then(|original| original.text.as_ref().ok());
        match (text, source.active.origin_version) {
            (Some(text), Some(version)) if !versions.contains_key(&version) => {
                Ok(self.shared.files.keep(key, version, text)?)
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    fn store_now(
        &self,
        key: &SourceKey,
        source: Option<&Source>,
        sent: Map<String, Value>,
    ) -> Result<Version, NotDone> {
        let held = source.and_then(|source| source.text(source.active.version)).map(pico_config::written_of);
        let numbers = source.map(Source::numbers).unwrap_or_default();
        let version = numbers.last().map_or(1, |highest| highest + 1);
        let text = self.checked(key, version, sent, held.as_ref())?;
        let files = &self.shared.files;
        if let Some(source) = source {
            // From here on it must be said that the present one is active, since the highest no longer is.
            self.keep_original(source)?;
            files.activate(key.as_str(), source.active.clone())?;
        }
        files.keep(source.map_or(key.as_str(), |source| &source.known.key), version, &text)?;
        let shown = pico_config::written_of(&text).shown(&|_path| false);
        Ok(Version { version, is_active: source.is_none(), shown })
    }

    /// The text to be stored, if it is a definition of this source that may come through the API.
    fn checked(
        &self,
        key: &SourceKey,
        version: u64,
        mut sent: Map<String, Value>,
        held: Option<&Written>,
    ) -> Result<String, NotDone> {
        let file = PathBuf::from(file_name(key.as_str(), version));
        let location = Location::File(file.clone());
        let refused = |code, reason: String| {
            NotDone::Invalid(vec![Finding::new(code, Severity::Error, location.clone(), reason)])
        };
        let named = sent.get("key").cloned().unwrap_or_else(|| key.as_str().into());
        if !named.as_str().is_some_and(|named| named.eq_ignore_ascii_case(key.as_str())) {
            return Err(refused(
                "config.other_key",
                format!("the definition names another key than `{key}`"),
            ));
        }
        for (name, value) in
            [("type", "source".into()), ("key", key.as_str().into()), ("version", version.into())]
        {
            sent.insert(name.to_owned(), value);
        }
        sent.remove("active");
        let sent = held.cloned().unwrap_or_default().fill_hidden(sent).map_err(|path| {
            refused(
                "config.hidden_value",
                format!("`{path}` is `***`, and the active version holds no value there"),
            )
        })?;
        let text = toml::to_string(&sent).map_err(|error| refused("config.no_toml", error.to_string()))?;
        let (definition, mut findings) =
            pico_config::check_definition(&file, &text, &self.shared.config, &self.shared.env);
        // Before anything is said of values: what may not be resolved is not looked into.
        let urls = Urls::of(&self.shared.config.limits);
        let foreign = foreign::refusals(&pico_config::written_of(&text), held, urls, &location);
        if !foreign.is_empty() {
            return Err(NotDone::Invalid(foreign));
        }
        if let Some(definition) = &definition {
            findings.extend(definition_check::findings(definition, &self.shared.config));
        }
        findings.retain(Finding::is_error);
        if findings.is_empty() { Ok(format!("{API_MARK}{text}")) } else { Err(NotDone::Invalid(findings)) }
    }
}

/// One rule for keys, here as in files: what is no key names no file.
fn known_key(key: &str) -> Result<SourceKey, NotDone> {
    SourceKey::parse(key).map_err(|error| {
        let location = Location::File(PathBuf::new());
        NotDone::Invalid(vec![Finding::new("config.bad_key", Severity::Error, location, error.reason)])
    })
}

fn unknown(key: &str) -> NotDone {
    NotDone::Unknown(format!("no source has the key `{key}`"))
}
