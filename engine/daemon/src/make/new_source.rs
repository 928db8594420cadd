//! `new source`: a definition to begin with, beside those that are there.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use pico_config::{Engine, Env, Finding, Location, Severity, SourceKey};
use serde_json::{Value, json};

use super::definition;
use crate::cli::make::NewSourceArguments;
use crate::cli::{Cli, Format};
use crate::error::Error;
use crate::findings::shown;
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::plugins::Catalog;

/// A plugin that was found by its name.
pub(super) struct Found {
    name: String,
    /// What a definition writes as `path`.
    library: String,
    pub(super) config_schema: Value,
}

/// The plugin of this name among those that can be found. Loads them all.
///
/// # Errors
/// There is none; the error names those there are.
pub(super) fn find(engine: &Engine, name: &str) -> Result<Found, Error> {
    let listing = Catalog::new(engine, &[]).list();
    let fitting: Vec<(&Path, &str, &Value)> = listing.fitting().collect();
    let is_named = |(path, known, _): &&(&Path, &str, &Value)| {
        known.eq_ignore_ascii_case(name) || library_of(path).eq_ignore_ascii_case(name)
    };
    match fitting.iter().find(is_named) {
        Some((path, known, schema)) => Ok(Found {
            name: (*known).to_owned(),
            library: library_of(path),
            config_schema: (*schema).clone(),
        }),
        None => {
            let known: Vec<&str> = fitting.iter().map(|(_, known, _)| *known).collect();
            let hint = match known.is_empty() {
                true => {
                    "no plugin is found; `pico-connectors plugins` says where they are looked for".to_owned()
                }
                false => format!("there are {}", known.join(", ")),
            };
            Err(Error::environment("plugin.unknown", format!("no plugin is called {name:?}")).with_hint(hint))
        }
    }
}

/// The name without the system's ending, so that the file fits other systems too.
fn library_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Writes the definition, and says what to do next.
pub(super) fn run(cli: &Cli, arguments: &NewSourceArguments) -> Result<Exit, Error> {
    let key = &arguments.key;
    let env = Env::from_process();
    let (engine, _findings) = pico_config::load_engine(cli.config.as_deref(), &env).map_err(Error::Config)?;
    let found = find(&engine, &arguments.plugin)?;
    let text = definition::text(key.as_str(), &found.library, &found.name, &found.config_schema);
    if arguments.print {
        output::write(Stream::Stdout, &text);
        return Ok(Exit::Ok);
    }
    let folder = arguments.dir.clone().unwrap_or(engine.connectors.config_dir);
    let file = write(&folder, key, &text)?;
    match cli.format() {
        Format::Json => {
            output::write_json(&json!({ "file": file, "key": key.as_str(), "plugin": found.name }))
        }
        Format::Human | Format::Github => {
            let file = shown(&file).display().to_string();
            let text = format!("{file}\nnext: fill in what is required, then pico-connectors check {file}\n");
            output::write(Stream::Stdout, &text);
        }
    }
    Ok(Exit::Ok)
}

/// A file that is there stays as it is.
fn write(folder: &Path, key: &SourceKey, text: &str) -> Result<PathBuf, Error> {
    let file = folder.join(format!("{key}.toml"));
    let failed = |cause: std::io::Error| match cause.kind() {
        std::io::ErrorKind::AlreadyExists => {
            let reason = "the file is there already and stays as it is";
            let location = Location::File(file.clone());
            let finding = Finding::new("new.file_exists", Severity::Error, location, reason);
            Error::Config(vec![finding.with_hint("choose another --key or --dir, or move the file away")])
        }
        _ => Error::environment("new.not_written", format!("{} cannot be written", file.display()))
            .with_hint("name a folder that you may write to with --dir, or see it with --print")
            .because(cause),
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut new = std::fs::File::options().write(true).create_new(true).open(&file).map_err(failed)?;
    new.write_all(text.as_bytes()).map_err(failed)?;
    Ok(file)
}
