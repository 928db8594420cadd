//! The one definition that a verb is about: by its key among those that `run` would read, or by its file.

use std::path::Path;

use pico_config::{Definition, Engine, Env, Finding, Location, Severity};

use crate::cli::Cli;
use crate::error::Error;
use crate::targets::{Loaded, Target};

/// Finds it. A name that is a file with `.toml` at its end is that file.
///
/// # Errors
/// There is no such definition, or it cannot be used: its findings.
pub(crate) fn definition(cli: &Cli, name: &str, env: &Env) -> Result<(Engine, Definition), Error> {
    let path = Path::new(name);
    let is_file = path.extension().is_some_and(|extension| extension == "toml") && path.is_file();
    let target = match is_file {
        true => Target::all(cli.config.as_deref(), &[path.to_owned()])?.remove(0),
        false => Target::configured(cli.config.as_deref()),
    };
    let Loaded { engine, definitions, findings, .. } = target.load(env);
    let keys: Vec<String> = definitions.iter().map(|one| one.key.as_str().to_owned()).collect();
    let mut definitions = definitions.into_iter();
    let found = match is_file {
        true => definitions.next(),
        false => definitions.find(|one| one.key.as_str().eq_ignore_ascii_case(name)),
    };
    // A configuration that cannot be read would be another one than the daemon's.
    let engine_file = engine.file.clone();
    let is_about_engine = |finding: &&Finding| engine_file.is_none() && finding.is_error() && !is_file;
    match found {
        Some(found) if !findings.iter().any(|finding| is_about_engine(&finding)) => Ok((engine, found)),
        Some(_) | None => {
            let mut errors: Vec<Finding> =
                findings.into_iter().filter(|finding| finding.is_error()).collect();
            if errors.is_empty() {
                errors.push(unknown(name, &engine, &keys));
            }
            Err(Error::Config(errors))
        }
    }
}

fn unknown(name: &str, engine: &Engine, keys: &[String]) -> Finding {
    let location = Location::File(engine.connectors.config_dir.clone());
    let finding =
        Finding::new("source.unknown", Severity::Error, location, format!("no source has the key `{name}`"));
    finding.with_hint(match keys {
        [] => "there is no definition here; name a file, or the configuration with --config".to_owned(),
        keys => format!("there are: {}", keys.join(", ")),
    })
}
