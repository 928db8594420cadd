//! `check`: every mistake that can be found in files without a network, with file, line and column.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pico_config::{Engine, Env, Finding, Location, Severity};
use serde_json::json;

use crate::cli::{CheckArguments, Cli, Format};
use crate::definition_check;
use crate::error::Error;
use crate::findings::{self, shown};
use crate::leave::Exit;
use crate::output::{self, Stream};

/// Every file looked at, with what was found in it. Findings about no file (variables) stand under `None`.
type Found = BTreeMap<Option<PathBuf>, Vec<Finding>>;

/// Looks at what was named, or at all that `run` would read. Exit code 2 when a file cannot be used.
pub(crate) fn run(cli: &Cli, arguments: &CheckArguments) -> Result<Exit, Error> {
    let env = Env::from_process();
    let mut found = Found::new();
    let targets = targets(cli.config.as_deref(), &arguments.paths)?;
    for target in targets {
        check(&target, &env, &mut found);
    }
    let errors = count(&found, Severity::Error);
    output::write(Stream::Stdout, &text(&found, cli.format()));
    Ok(if errors > 0 { Exit::Config } else { Exit::Ok })
}

/// One run of the loader, with the configuration to take defaults, limits and plugin folders from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
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

/// What the arguments mean. A folder with a `config.toml` is that configuration with its definitions; any other folder
/// is one of definitions; a file called `config.toml` is a configuration, any other file a definition.
fn targets(config: Option<&Path>, paths: &[PathBuf]) -> Result<Vec<Target>, Error> {
    if paths.is_empty() {
        return Ok(vec![Target { config: config.map(Path::to_owned), definitions: Definitions::Configured }]);
    }
    paths.iter().map(|path| target(config, path)).collect()
}

fn target(config: Option<&Path>, path: &Path) -> Result<Target, Error> {
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

fn check(target: &Target, env: &Env, found: &mut Found) {
    let mut engine = match pico_config::load_engine(target.config.as_deref(), env) {
        Ok((engine, findings)) => {
            if let Some(own) = engine.file.clone() {
                found.entry(Some(own)).or_default();
            }
            file(found, findings);
            engine
        }
        // Its definitions are still looked at, under the defaults: all mistakes in one go.
        Err(findings) => {
            file(found, findings);
            defaults_beside(target.config.as_deref())
        }
    };
    match &target.definitions {
        Definitions::Configured => folder(&engine, env, found),
        Definitions::Folder(path) => {
            engine.connectors.config_dir.clone_from(path);
            folder(&engine, env, found);
        }
        Definitions::File(path) => one(path, &engine, env, found),
    }
}

fn defaults_beside(config: Option<&Path>) -> Engine {
    let config = std::path::absolute(config.unwrap_or(Path::new("config.toml"))).unwrap_or_default();
    Engine::defaults(config.parent().unwrap_or(Path::new("/")))
}

fn folder(engine: &Engine, env: &Env, found: &mut Found) {
    let loaded = pico_config::load_definitions(engine, env);
    for bad in loaded.bad {
        found.entry(Some(bad.file)).or_default().extend(bad.findings);
    }
    file(found, loaded.warnings);
    for definition in &loaded.good {
        let findings = definition_check::findings(definition, engine);
        found.entry(Some(definition.file.clone())).or_default().extend(findings);
    }
}

fn one(path: &Path, engine: &Engine, env: &Env, found: &mut Found) {
    let list = found.entry(Some(path.to_owned())).or_default();
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let (definition, findings) = pico_config::check_definition(path, &text, engine, env);
            list.extend(findings);
            list.extend(
                definition.iter().flat_map(|definition| definition_check::findings(definition, engine)),
            );
        }
        Err(cause) => {
            let location = Location::File(path.to_owned());
            list.push(Finding::new("config.unreadable", Severity::Error, location, cause.to_string()));
        }
    }
}

fn file(found: &mut Found, findings: impl IntoIterator<Item = Finding>) {
    for finding in findings {
        let of = finding.location.file().map(Path::to_owned);
        found.entry(of).or_default().push(finding);
    }
}

fn count(found: &Found, severity: Severity) -> usize {
    found.values().flatten().filter(|finding| finding.severity == severity).count()
}

fn text(found: &Found, format: Format) -> String {
    let all: Vec<Finding> = found.values().flatten().cloned().collect();
    match format {
        Format::Human => format!("{}{}{}\n", marks(found), details(&all), summary(found)),
        Format::Github => findings::render(&all, format, Stream::Stdout),
        Format::Json => {
            let document = json!({
                "files": found.keys().flatten().collect::<Vec<_>>(),
                "errors": count(found, Severity::Error),
                "warnings": count(found, Severity::Warning),
                "findings": all.iter().map(findings::to_json).collect::<Vec<_>>(),
            });
            format!("{}\n", serde_json::to_string_pretty(&document).expect("JSON values print"))
        }
    }
}

/// One line a file: whether it can be used.
fn marks(found: &Found) -> String {
    let files = found.iter().filter_map(|(file, findings)| Some((file.as_ref()?, findings)));
    let line = |(file, findings): (&PathBuf, &Vec<Finding>)| {
        let errors = findings.iter().filter(|finding| finding.is_error()).count();
        let mark = if errors > 0 { '✗' } else { '✓' };
        format!("{mark} {}\n", shown(file).display())
    };
    files.map(line).collect()
}

fn details(all: &[Finding]) -> String {
    let details = findings::render(all, Format::Human, Stream::Stdout);
    if details.is_empty() { details } else { format!("\n{details}\n") }
}

fn summary(found: &Found) -> String {
    let files = found.keys().flatten().count();
    let of = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let (errors, warnings) = (count(found, Severity::Error), count(found, Severity::Warning));
    format!("{}, {}, {}", of(files, "file"), of(errors, "error"), of(warnings, "warning"))
}
