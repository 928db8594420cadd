//! The files that a verb is pointed at: what paths on the command line mean, and what is in them.

use std::path::{Path, PathBuf};

use pico_config::{Definition, Engine, Env, Finding, Location, Severity};

use crate::error::Error;

/// One run of the loader, with the configuration to take defaults, limits and plugin folders from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    config: Option<PathBuf>,
    definitions: Definitions,
}

/// Which definitions are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Definitions {
    /// Those of `[connectors] config_dir`.
    Configured,
    /// Those of this folder instead.
    Folder(PathBuf),
    /// This one alone.
    File(PathBuf),
}

/// What one target holds.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The configuration; its defaults where it cannot be used, so that all mistakes come in one go.
    pub(crate) engine: Engine,
    /// Every file that was read, good or not.
    pub(crate) files: Vec<PathBuf>,
    /// The definitions that can be used.
    pub(crate) definitions: Vec<Definition>,
    /// What was found in files and variables.
    pub(crate) findings: Vec<Finding>,
}

impl Target {
    /// What `run` would read.
    pub(crate) fn configured(config: Option<&Path>) -> Target {
        Target { config: config.map(Path::to_owned), definitions: Definitions::Configured }
    }

    /// What the arguments mean: no path is what `run` would read. A folder with a `config.toml` is that configuration
    /// with its definitions; any other folder is one of definitions; a file called `config.toml` is a configuration,
    /// any other file a definition.
    ///
    /// # Errors
    /// A path where nothing is.
    pub(crate) fn all(config: Option<&Path>, paths: &[PathBuf]) -> Result<Vec<Target>, Error> {
        if paths.is_empty() {
            return Ok(vec![Target::configured(config)]);
        }
        paths.iter().map(|path| Target::of_path(config, path)).collect()
    }

    fn of_path(config: Option<&Path>, path: &Path) -> Result<Target, Error> {
        let absolute = path.canonicalize().map_err(|cause| {
            let location = Location::File(path.to_owned());
            let finding = Finding::new("check.no_file", Severity::Error, location, cause.to_string());
            Error::Config(vec![finding.with_hint("name a file or a folder")])
        })?;
        let own = if absolute.is_dir() { absolute.join("config.toml") } else { absolute.clone() };
        if own.is_file() && own.file_name().is_some_and(|name| name == "config.toml") {
            return Ok(Target { config: Some(own), definitions: Definitions::Configured });
        }
        let is_folder = absolute.is_dir();
        let definitions = if is_folder { Definitions::Folder(absolute) } else { Definitions::File(absolute) };
        Ok(Target { config: config.map(Path::to_owned), definitions })
    }

    /// Reads the files.
    pub(crate) fn load(&self, env: &Env) -> Loaded {
        let mut loaded = match pico_config::load_engine(self.config.as_deref(), env) {
            Ok((engine, findings)) => {
                let files = engine.file.clone().into_iter().collect();
                Loaded { engine, files, definitions: Vec::new(), findings }
            }
            Err(findings) => {
                let engine = defaults_beside(self.config.as_deref());
                Loaded { engine, files: Vec::new(), definitions: Vec::new(), findings }
            }
        };
        match &self.definitions {
            Definitions::Configured => loaded.add_folder(env),
            Definitions::Folder(path) => {
                loaded.engine.connectors.config_dir.clone_from(path);
                loaded.add_folder(env);
            }
            Definitions::File(path) => loaded.add_file(path, env),
        }
        loaded
    }
}

impl Loaded {
    fn add_folder(&mut self, env: &Env) {
        let folder = crate::reload::in_force(&self.engine, env);
        for bad in folder.bad {
            self.files.push(bad.file);
            self.findings.extend(bad.findings);
        }
        self.findings.extend(folder.warnings);
        self.files.extend(folder.good.iter().map(|definition| definition.file.clone()));
        self.definitions.extend(folder.good);
    }

    fn add_file(&mut self, path: &Path, env: &Env) {
        self.files.push(path.to_owned());
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let (definition, findings) = pico_config::check_definition(path, &text, &self.engine, env);
                self.findings.extend(findings);
                self.definitions.extend(definition);
            }
            Err(cause) => {
                let location = Location::File(path.to_owned());
                let finding = Finding::new("config.unreadable", Severity::Error, location, cause.to_string());
                self.findings.push(finding);
            }
        }
    }
}

fn defaults_beside(config: Option<&Path>) -> Engine {
    let config = std::path::absolute(config.unwrap_or(Path::new("config.toml"))).unwrap_or_default();
    Engine::defaults(config.parent().unwrap_or(Path::new("/")))
}
