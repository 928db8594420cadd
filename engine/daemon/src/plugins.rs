//! `plugins`: the libraries that a definition could name, with what they say about themselves or why they are refused.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use comfy_table::{Table, presets};
use pico_config::{Definition, Engine, Env, Plugins};
use picomq_connector_sdk::ffi::host::Library;
use serde::Serialize;
use serde_json::Value;

use crate::cli::{Cli, Format};
use crate::error::{Error, chain};
use crate::findings::shown;
use crate::leave::Exit;
use crate::library;
use crate::output::{self, Stream};

/// Where distributions put libraries; searched last.
const SYSTEM_FOLDER: &str = "/usr/local/lib";

/// In folders that hold other libraries too, only those with this in their name are looked at.
const PLUGIN_NAME_PART: &str = "picomq_connector";

/// So long a library may take that is only looked at.
const LISTED_WITHIN: Duration = Duration::from_secs(10);

/// So many are looked at side by side; each is a process for a moment.
const SIDE_BY_SIDE: usize = 8;

/// Which libraries there are, and which of them the sources of this process use.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    plugins: Plugins,
    executable_folder: PathBuf,
    /// Real path of the library by `path` as a definition writes it.
    used: Mutex<BTreeMap<String, PathBuf>>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Listing {
    /// Searched in this order.
    directories: Vec<PathBuf>,
    plugins: Vec<Listed>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Listed {
    path: PathBuf,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
enum Outcome {
    Fits {
        name: String,
        version: String,
        abi: u32,
        capabilities: Vec<&'static str>,
        /// Of the file, so that two machines can be compared; null when it cannot be read.
        sha256: Option<String>,
        config_schema: Value,
    },
    Refused {
        refused: String,
    },
    /// It may be there at the next look, or hang for ever; the text says since when, and what to do.
    Loading {
        loading: String,
    },
}

impl Listing {
    /// Path, name and schema of those that can be used.
    pub(crate) fn fitting(&self) -> impl Iterator<Item = (&Path, &str, &Value)> {
        self.plugins.iter().filter_map(|Listed { path, outcome }| match outcome {
            Outcome::Fits { name, config_schema, .. } => Some((path.as_path(), name.as_str(), config_schema)),
            Outcome::Refused { .. } | Outcome::Loading { .. } => None,
        })
    }
}

impl Catalog {
    /// For this configuration and these definitions. Touches the disk.
    pub(crate) fn new(engine: &Engine, definitions: &[Definition]) -> Catalog {
        let executable_folder = executable_folder();
        let used = Mutex::default();
        let shared = Shared { plugins: engine.plugins.clone(), executable_folder, used };
        let catalog = Catalog { shared: Arc::new(shared) };
        catalog.learn(definitions);
        catalog
    }

    /// These definitions run from now on. Touches the disk.
    pub(crate) fn learn<'d>(&self, definitions: impl IntoIterator<Item = &'d Definition>) {
        let Shared { plugins, executable_folder, used } = &*self.shared;
        for definition in definitions {
            let found = pico_config::find_plugin(&definition.path, plugins, executable_folder).ok();
            if let Some(real) = found.and_then(|path| path.canonicalize().ok()) {
                let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
                used.insert(definition.path.clone(), real);
            }
        }
    }

    /// The version of the plugin that a definition names by `path`; `None` until its library was loaded.
    pub(crate) fn version_of(&self, path: &str) -> Option<String> {
        let real = self.shared.used.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()?;
        let library = Library::all().into_iter().find(|library| library.path() == real)?;
        Some(library.info().version.clone())
    }

    /// The folders, in the order in which they are searched.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let configured = self.shared.plugins.directories.iter().cloned();
        configured.chain([self.shared.executable_folder.clone(), PathBuf::from(SYSTEM_FOLDER)]).collect()
    }

    /// Looks into the folders now and loads every plugin found, some at a time. Blocks.
    pub(crate) fn list(&self) -> Listing {
        let directories = self.folders();
        let configured = self.shared.plugins.directories.len();
        let files =
            directories.iter().enumerate().flat_map(|(place, folder)| libraries(folder, place < configured));
        let mut seen = BTreeSet::new();
        let files = files.filter(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
        let files: Vec<PathBuf> = files.collect();
        let plugins = files.chunks(SIDE_BY_SIDE).flat_map(listed).collect();
        Listing { directories, plugins }
    }
}

/// The folder of this program; plugins that come with it lie there.
pub(crate) fn executable_folder() -> PathBuf {
    let executable = std::env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
    executable.parent().unwrap_or(Path::new("/")).to_owned()
}

fn libraries(folder: &Path, is_for_plugins: bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == std::env::consts::DLL_EXTENSION))
        .filter(|path| is_for_plugins || path.to_string_lossy().contains(PLUGIN_NAME_PART))
        .collect();
    files.sort();
    files
}

fn listed(files: &[PathBuf]) -> Vec<Listed> {
    std::thread::scope(|scope| {
        let looks: Vec<_> = files.iter().map(|file| scope.spawn(|| outcome(file))).collect();
        let outcomes =
            looks.into_iter().map(|look| look.join().expect("looking at a library does not panic"));
        files.iter().cloned().zip(outcomes).map(|(path, outcome)| Listed { path, outcome }).collect()
    })
}

fn outcome(path: &Path) -> Outcome {
    match library::load(path, LISTED_WITHIN) {
        Ok(library) => {
            let info = library.info();
            Outcome::Fits {
                name: info.name.clone(),
                version: info.version.clone(),
                abi: info.abi,
                capabilities: capabilities(info.capabilities),
                sha256: digest(path),
                config_schema: info.config_schema.clone(),
            }
        }
        Err(error) if error.may_pass() => Outcome::Loading { loading: chain(&error) },
        Err(error) => Outcome::Refused { refused: chain(&error) },
    }
}

/// In pieces: a library may be large.
fn digest(path: &Path) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece).ok()? {
            0 => break,
            read => context.update(&piece[..read]),
        }
    }
    Some(context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn capabilities(can: picomq_connector_sdk::Capabilities) -> Vec<&'static str> {
    let all = [("pipelined", can.pipelined), ("listener", can.listener), ("own_runtime", can.own_runtime)];
    all.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}

/// Prints the listing for the configuration that `run` would use.
pub(crate) fn run(cli: &Cli) -> Result<Exit, Error> {
    let env = Env::from_process();
    let (engine, _findings) = pico_config::load_engine(cli.config.as_deref(), &env).map_err(Error::Config)?;
    let listing = Catalog::new(&engine, &[]).list();
    match cli.format() {
        Format::Json => output::write_json(&listing),
        Format::Human | Format::Github => output::write(Stream::Stdout, &text(&listing)),
    }
    Ok(Exit::Ok)
}

fn text(listing: &Listing) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["NAME", "VERSION", "ABI", "CAPABILITIES", "PATH"]);
    let mut refused = String::new();
    for Listed { path, outcome } in &listing.plugins {
        match outcome {
            Outcome::Fits { name, version, abi, capabilities, sha256: _, config_schema: _ } => {
                let can = if capabilities.is_empty() { "–".to_owned() } else { capabilities.join(", ") };
                table.add_row([name, version, &abi.to_string(), &can, &shown(path).display().to_string()]);
            }
            Outcome::Refused { refused: reason } | Outcome::Loading { loading: reason } => {
                refused.push_str(&format!("✗ {reason}\n"))
            }
        }
    }
    let mut text = match table.row_count() {
        0 => "no plugin found\n".to_owned(),
        _ => output::trimmed(&table.to_string()),
    };
    text.push_str(&refused);
    text.push_str("searched, in this order:\n");
    for folder in &listing.directories {
        text.push_str(&format!("  {}\n", folder.display()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_library_is_listed_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libpicomq_connector_broken.so"), "not a library").unwrap();
        std::fs::write(folder.path().join("notes.txt"), "").unwrap();
        let mut engine = Engine::defaults(folder.path());
        engine.plugins.directories = vec![folder.path().to_owned()];

        let listing = Catalog::new(&engine, &[]).list();

        let broken = &listing.plugins[0];
        assert!(broken.path.ends_with("libpicomq_connector_broken.so"));
        assert!(
            matches!(&broken.outcome, Outcome::Refused { refused } if refused.contains("cannot be loaded"))
        );
        assert_eq!(listing.directories[0], folder.path());
        assert!(text(&listing).contains("✗ "));
    }

    #[test]
    fn foreign_libraries_beside_the_executable_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["libssl.so", "libpicomq_connector_x.so", "libx.rlib"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let names = |is_for_plugins| libraries(folder.path(), is_for_plugins).len();
        assert_eq!((names(false), names(true)), (1, 2));
    }
}
