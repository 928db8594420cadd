//! Plugin libraries: loaded once per real path, checked before anything of them is called, never unloaded.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use libloading::os::unix;

use super::error::LoadError;
use super::functions::Calls;
use super::loading::{Loaded, Loader};
use crate::Capabilities;
use crate::ffi::abi::{ABI, Descriptor, Entry, RawBatch, RawBytes, SYMBOL, capability};

/// Every library of this process, by number. They are never unloaded, so a completion that comes late still finds
/// how to release its batch.
static LIBRARIES: RwLock<Vec<Arc<Library>>> = RwLock::new(Vec::new());

static LOADER: Loader<Arc<Library>> = Loader::new();

/// Every file whose initialisers ran, refused ones too.
static MAPPED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Loading takes milliseconds from a disk, and may take seconds from a share.
pub const LOADED_WITHIN: Duration = Duration::from_secs(30);

/// A plugin library that was loaded and fits this engine.
///
/// It stays in memory while the process lives, also when nobody holds it: threads and thread-locals of the plugin may
/// outlive its sources. A new build of the file is therefore seen by the next process, or under a new name.
#[derive(Debug)]
pub struct Library {
    number: u32,
    path: PathBuf,
    info: PluginInfo,
    pub(super) calls: Calls,
}

/// What a plugin says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginInfo {
    /// For example `random`.
    pub name: String,
    /// Of the plugin, not of the SDK.
    pub version: String,
    /// The version of the border it was built for; equal to the engine's.
    pub abi: u32,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Whether a panic in it can be caught; always true, since others are refused.
    pub unwinds: bool,
    /// A JSON Schema of `[plugin_config]`.
    pub config_schema: serde_json::Value,
}

impl Library {
    /// The library at `path`: loaded and checked now, or the one this process has since before, whatever the file
    /// holds by now. It blocks for [`LOADED_WITHIN`] at most.
    ///
    /// # Errors
    /// A file that is not there, or that does not fit, or does not finish; nothing of it was called but its descriptor.
    pub fn load(path: &Path) -> Result<Arc<Library>, LoadError> {
        Library::load_within(path, LOADED_WITHIN)
    }

    /// The same, with another limit. What was begun goes on when the time is over, so that a slow library is there when it is
    /// asked for again.
    ///
    /// # Errors
    /// As [`load`](Library::load).
    pub fn load_within(path: &Path, within: Duration) -> Result<Arc<Library>, LoadError> {
        let real =
            path.canonicalize().map_err(|source| LoadError::NotFound { path: path.to_owned(), source })?;
        match known(&real) {
            Some(known) => Ok(known),
            None => LOADER.load(&real, within, first_load),
        }
    }

    /// Everything loaded so far.
    pub fn all() -> Vec<Arc<Library>> {
        all()
    }

    /// What the plugin says about itself.
    pub fn info(&self) -> &PluginInfo {
        &self.info
    }

    /// The real path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn register(descriptor: *const Descriptor, path: PathBuf) -> Result<Arc<Library>, LoadError> {
        let (info, calls) = check(descriptor, &path)?;
        let mut libraries = LIBRARIES.write().unwrap_or_else(PoisonError::into_inner);
        let number = u32::try_from(libraries.len()).expect("libraries are counted in dozens");
        let library = Arc::new(Library { number, path, info, calls });
        libraries.push(Arc::clone(&library));
        Ok(library)
    }
}

/// On a thread of its own, of each path one at a time.
fn first_load(real: PathBuf) -> Loaded<Arc<Library>> {
    // Loaded since it was looked for.
    if let Some(known) = known(&real) {
        return Loaded { outcome: Ok(known), has_begun: false };
    }
    let entry = open_file(&real);
    let is_mapped = matches!(&entry, Ok(_) | Err(LoadError::NoSymbol { .. }));
    // What was refused before stays mapped, and begins no second time.
    let has_begun = is_mapped && MAPPED.lock().unwrap_or_else(PoisonError::into_inner).insert(real.clone());
    let outcome = entry.and_then(|entry| {
        // SAFETY: the symbol has our prefix, so it is the entry of a plugin: without arguments, and its answer is
        // static or null.
        let descriptor = unsafe { entry() };
        Library::register(descriptor, real)
    });
    Loaded { outcome, has_begun }
}

fn known(real: &Path) -> Option<Arc<Library>> {
    all().into_iter().find(|library| library.path == real)
}

fn all() -> Vec<Arc<Library>> {
    LIBRARIES.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// How a batch of this library is given back.
pub(super) fn release_of(number: u32) -> Option<unsafe extern "C" fn(*mut RawBatch)> {
    let libraries = LIBRARIES.read().unwrap_or_else(PoisonError::into_inner);
    libraries.get(number as usize).map(|library| library.calls.release)
}

/// Maps the file, for ever, and finds its entry.
fn open_file(path: &Path) -> Result<Entry, LoadError> {
    let name: &OsStr = path.as_os_str();
    // SAFETY: loading runs the library's initialisers; whoever configured the path trusts what lies there. Local, so
    // that no symbol of a plugin ever stands in for one of the engine or of libc.
    let loaded = unsafe { unix::Library::open(Some(name), unix::RTLD_NOW | unix::RTLD_LOCAL) };
    let library = loaded.map_err(|source| LoadError::Refused { path: path.to_owned(), source })?;
    // SAFETY: only the type is taken on trust, and the name with our prefix stands for it.
    let entry = unsafe { library.get::<Entry>(SYMBOL) }.map(|symbol| *symbol);
    // Never unloaded, a refused one neither: it may have started threads already.
    std::mem::forget(library);
    entry.map_err(|_| LoadError::NoSymbol { path: path.to_owned(), symbol: SYMBOL })
}

/// Reads the descriptor: the ABI number before anything else.
fn check(descriptor: *const Descriptor, path: &Path) -> Result<(PluginInfo, Calls), LoadError> {
    let broken = |what: String| LoadError::Broken { path: path.to_owned(), what };
    if descriptor.is_null() {
        return Err(broken("the plugin could not describe itself".to_owned()));
    }
    // SAFETY: not null and static, and every ABI begins with its number.
    let abi = unsafe { *descriptor.cast::<u32>() };
    if abi != ABI {
        return Err(LoadError::Abi { path: path.to_owned(), built: abi, speaks: ABI });
    }
    // SAFETY: of our ABI, so it is such a struct.
    let descriptor = unsafe { &*descriptor };
    if (descriptor.size as usize) < size_of::<Descriptor>() {
        return Err(broken(format!("it has {} bytes", descriptor.size)));
    }
    let unwinds = has(descriptor, capability::UNWINDS);
    if !unwinds {
        return Err(LoadError::NoUnwind { path: path.to_owned() });
    }
    let schema =
        text(descriptor.config_schema).ok_or_else(|| broken("no configuration schema".to_owned()))?;
    let info = PluginInfo {
        name: text(descriptor.name).ok_or_else(|| broken("no name".to_owned()))?.to_owned(),
        version: text(descriptor.version).ok_or_else(|| broken("no version".to_owned()))?.to_owned(),
        abi,
        capabilities: Capabilities {
            pipelined: has(descriptor, capability::PIPELINED),
            listener: has(descriptor, capability::LISTENER),
            own_runtime: has(descriptor, capability::OWN_RUNTIME),
        },
        unwinds,
        config_schema: serde_json::from_str(schema)
            .map_err(|error| broken(format!("its configuration schema is not JSON: {error}")))?,
    };
    // SAFETY: of our ABI, so the table behind the pointer is static and says its size.
    let calls = unsafe { Calls::read(descriptor.functions) }.map_err(broken)?;
    Ok((info, calls))
}

fn has(descriptor: &Descriptor, bit: u64) -> bool {
    descriptor.capabilities & bit != 0
}

/// A text of a descriptor; `None` when it is not there or not UTF-8.
fn text(bytes: RawBytes) -> Option<&'static str> {
    // SAFETY: the texts of a descriptor are static.
    let bytes = unsafe { bytes.get::<'static>() };
    bytes.and_then(|bytes| str::from_utf8(bytes).ok())
}
