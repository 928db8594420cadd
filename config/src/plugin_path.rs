//! From the `path` of a definition to a library file. Only files inside a few folders are ever loaded.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Component, Path, PathBuf};

use crate::engine::Plugins;
use crate::finding::{Finding, Location, Severity};
use crate::suggest::closest;

/// Where packages of distributions put libraries of their own.
const SYSTEM_FOLDER: &str = "/usr/local/lib";
/// Libraries of ours in a message, at most.
const SHOWN_MAX: usize = 8;

/// Finds the library. A bare name gets the platform's prefix and suffix, where it has none, and is looked up in
/// `[plugins] directories`, then beside the executable (`exe_dir`), then in `/usr/local/lib`. A path with a separator,
/// absolute, or relative to one of these or to the working directory, must lie inside one of them once every link is
/// resolved. The answer is the real path. A finding has the location of a file; callers put it at the definition's line.
pub fn find_plugin(path: &str, plugins: &Plugins, exe_dir: &Path) -> Result<PathBuf, Box<Finding>> {
    let folders: Vec<PathBuf> = plugins
        .directories
        .iter()
        .cloned()
        .chain([exe_dir.to_owned(), PathBuf::from(SYSTEM_FOLDER)])
        .collect();
    let is_bare = !path.contains('/') && !path.contains(std::path::MAIN_SEPARATOR);
    let parts = Path::new(path).components();
    if path.is_empty() || path.contains('\0') || parts.into_iter().any(|part| part == Component::ParentDir) {
        let finding = refused("plugin.bad_path", path, format!("`{path}` is no path of a plugin"));
        return Err(Box::new(finding.with_hint("write the name of the library")));
    }
    let names = if is_bare { bare_names(path) } else { vec![path.to_owned(), with_suffix(path)] };
    let mut outside = None;
    for candidate in candidates(&folders, &names, is_bare) {
        let Some(real) = candidate.canonicalize().ok().filter(|real| real.is_file()) else { continue };
        let inside = folders.iter().filter_map(|folder| folder.canonicalize().ok());
        if inside.into_iter().any(|folder| real.starts_with(folder)) {
            return Ok(real);
        }
        outside = outside.or(Some(real));
    }
    Err(Box::new(match outside {
        Some(real) => {
            let reason =
                format!("`{}` lies outside the plugin folders: {}", real.display(), listed(&folders));
            let hint = "add its folder to [plugins] directories in config.toml";
            refused("plugin.outside", path, reason).with_hint(hint)
        }
        None => not_found(path, &names, &folders),
    }))
}

fn refused(code: &'static str, path: &str, reason: String) -> Finding {
    Finding::new(code, Severity::Error, Location::File(PathBuf::from(path)), reason).with_path("path")
}

fn with_suffix(name: &str) -> String {
    if name.ends_with(DLL_SUFFIX) { name.to_owned() } else { format!("{name}{DLL_SUFFIX}") }
}

/// As written first, then with the prefix.
fn bare_names(name: &str) -> Vec<String> {
    let name = with_suffix(name);
    let prefixed = format!("{DLL_PREFIX}{name}");
    if name.starts_with(DLL_PREFIX) { vec![name, prefixed] } else { vec![prefixed, name] }
}

fn candidates(folders: &[PathBuf], names: &[String], is_bare: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders {
        found.extend(names.iter().map(|name| folder.join(name)));
    }
    if !is_bare {
        found.extend(names.iter().filter_map(|name| std::path::absolute(name).ok()));
    }
    found
}

fn not_found(path: &str, names: &[String], folders: &[PathBuf]) -> Finding {
    let libraries = libraries(folders);
    let names_found: Vec<&str> = libraries.iter().map(String::as_str).collect();
    let mut reason = format!("no library `{path}`; looked for {} in {}", names[0], listed(folders));
    if !libraries.is_empty() {
        reason.push_str(&format!(
            "; found instead: {}",
            names_found[..libraries.len().min(SHOWN_MAX)].join(", ")
        ));
    }
    let hint = match closest(&names[0], &names_found) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "add the library's folder to [plugins] directories in config.toml".to_owned(),
    };
    refused("plugin.not_found", path, reason).with_hint(hint)
}

/// Libraries that look like plugins of ours; the system's folder is full of others.
fn libraries(folders: &[PathBuf]) -> Vec<String> {
    let mut found = Vec::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        found.extend(names.filter(|name| name.ends_with(DLL_SUFFIX) && name.contains("connector")));
    }
    found.sort();
    found.dedup();
    found
}

fn listed(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}
