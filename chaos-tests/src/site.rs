//! What outlives a kill: the engine's folder with configuration, definitions and state.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::daemon::Daemon;
use crate::launch::Launch;
use crate::ports::free_port;
use crate::statefile::StateFile;
use crate::{Error, Result, binaries};

/// The folder for what tests write: `target/tmp/chaos`. What a failed test left stays there to be looked at.
pub fn scratch() -> PathBuf {
    binaries::folder().parent().map_or_else(std::env::temp_dir, |target| target.join("tmp/chaos"))
}

/// A folder with everything that the engine is given and everything that it keeps.
#[derive(Debug, Clone)]
pub struct Site {
    dir: PathBuf,
    http: u16,
}

impl Site {
    /// Makes `dir` anew with a `config.toml` for the broker at `bootstrap`. `more` is appended to the configuration:
    /// whole sections, or settings of `[kafka]` when they come first.
    pub fn new(dir: &Path, bootstrap: &str, more: &str) -> Result<Self> {
        let _ = fs::remove_dir_all(dir);
        let definitions = dir.join("definitions");
        let site = Self { dir: dir.to_owned(), http: free_port() };
        for folder in [&definitions, &site.plugin_folder()] {
            fs::create_dir_all(folder).map_err(Error::io(format!("create {}", folder.display())))?;
        }
        site.configure(bootstrap, more)?;
        Ok(site)
    }

    /// Another engine on the *same* state folder and definitions, with an API of its own.
    pub fn rival(&self, dir: &Path, bootstrap: &str) -> Result<Self> {
        let rival = Self::new(dir, bootstrap, "")?;
        let config = fs::read_to_string(rival.config()).map_err(Error::io("read a configuration"))?;
        let shared =
            config.replace("path = \"state\"", &format!("path = {:?}", self.dir.join("state"))).replace(
                "config_dir = \"definitions\"",
                &format!("config_dir = {:?}", self.dir.join("definitions")),
            );
        fs::write(rival.config(), shared).map_err(Error::io("write a configuration"))?;
        Ok(rival)
    }

    /// Writes `config.toml` again, for a broker elsewhere or with other settings.
    pub fn configure(&self, bootstrap: &str, more: &str) -> Result<()> {
        let plugins = [binaries::folder(), binaries::folder().join("examples"), self.plugin_folder()];
        let text = format!(
            "[state]\npath = \"state\"\n\n\
             [connectors]\nconfig_dir = \"definitions\"\nwatch = false\n\n\
             [plugins]\ndirectories = {plugins:?}\n\n\
             [http]\naddress = \"127.0.0.1:{http}\"\n\n\
             [kafka]\nbootstrap_servers = \"{bootstrap}\"\n{more}",
            http = self.http,
        );
        fs::write(self.config(), text).map_err(Error::io("write config.toml"))
    }

    /// Writes or replaces the definition `name`.toml.
    pub fn define(&self, name: &str, definition: &str) -> Result<()> {
        let path = self.dir.join("definitions").join(format!("{name}.toml"));
        fs::write(&path, definition).map_err(Error::io(format!("write {}", path.display())))
    }

    /// The folder itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its configuration file.
    pub fn config(&self) -> PathBuf {
        self.dir.join("config.toml")
    }

    /// Where its definitions lie.
    pub fn definitions(&self) -> PathBuf {
        self.dir.join("definitions")
    }

    /// Where the engine keeps its states.
    pub fn state_folder(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// A place for libraries of a story's own.
    pub fn plugin_folder(&self) -> PathBuf {
        self.dir.join("plugins")
    }

    /// The state file of one source.
    pub fn state_path(&self, key: &str) -> PathBuf {
        self.state_folder().join(format!("{key}.state"))
    }

    /// The saved state of one source; `None` before its first opening.
    pub fn state(&self, key: &str) -> Result<Option<StateFile>> {
        StateFile::read(&self.state_path(key))
    }

    /// Everything that every process on this site wrote to stdout and stderr.
    pub fn log(&self) -> PathBuf {
        self.dir.join("daemon.log")
    }

    /// The port of the API.
    pub fn port(&self) -> u16 {
        self.http
    }

    /// Starts the engine here and returns at once.
    pub fn start(&self, launch: &Launch) -> Result<Daemon> {
        let binary = binaries::engine()?;
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log())
            .map_err(Error::io(format!("write {}", self.log().display())))?;
        let errors = log.try_clone().map_err(Error::io("share the log file"))?;
        let mut words = launch.wrapping(&self.dir);
        words.extend([binary.display().to_string(), "run".to_owned(), "--config".to_owned()]);
        let child = Command::new(&words[0])
            .args(&words[1..])
            .arg(self.config())
            .env_remove("FAILPOINTS")
            .envs(launch.failpoints.iter().map(|points| ("FAILPOINTS", points)))
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(Error::io(format!("start {}", words[0])))?;
        Ok(Daemon::new(child, self.http, self.log()))
    }
}
