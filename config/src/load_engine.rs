//! Loading config.toml.

use std::path::{Path, PathBuf};

use crate::check::check_table;
use crate::context::{Context, Place};
use crate::document::Document;
use crate::engine::Engine;
use crate::engine_shape::ENGINE;
use crate::env::Env;
use crate::finding::{Finding, Location, Severity};
use crate::overrides::{self, LEVEL, Setting, in_order};
use crate::read_engine::read_engine;

const PREFIX: &str = "PICOMQ_CONNECTORS_";
const CONFIG_PATH: &str = "PICOMQ_CONNECTORS_CONFIG_PATH";
const DEFAULT_FILE: &str = "config.toml";

/// Variables that are read elsewhere: by the definitions, by the command line, by nobody (sinks).
const OTHERS: [&str; 7] = ["SOURCE_", "SINK_", "CONFIG_PATH", "URL", "LOG", "API_KEY", "CA_FILE"];

/// Loads the engine's configuration from `path`, else the file that `PICOMQ_CONNECTORS_CONFIG_PATH` names, else
/// `config.toml` in the working directory; only the last may be absent, and then everything has its default. Relative
/// paths are taken from the folder of the file. `Ok` may bring warnings; `Err` brings every finding, the warnings too.
pub fn load_engine(path: Option<&Path>, env: &Env) -> Result<(Engine, Vec<Finding>), Vec<Finding>> {
    let named = path
        .map(Path::to_owned)
        .or_else(|| env.get(CONFIG_PATH).filter(|p| !p.is_empty()).map(PathBuf::from));
    let file = named.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_FILE));
    let file = std::path::absolute(&file).map_err(|error| {
        let reason = format!("the path cannot be made absolute: {error}");
        vec![Finding::new("config.unreadable", Severity::Error, Location::File(file), reason)]
    })?;
    if named.is_none() && !file.exists() {
        let document = Document::parse(&file, "");
        return load(document, env).map(|(engine, findings)| (Engine { file: None, ..engine }, findings));
    }
    let document = Document::read(&file).map_err(|finding| vec![*finding])?;
    load(document, env)
}

fn load(mut document: Document, env: &Env) -> Result<(Engine, Vec<Finding>), Vec<Finding>> {
    if !document.syntax_errors.is_empty() {
        return Err(document.syntax_errors);
    }
    let file = document.file();
    let folder = file.parent().unwrap_or(Path::new("/")).to_owned();
    let mut findings = apply_variables(&mut document, env);
    let mut cx = Context::new(&document.text, env);
    let root = Place::root(document.root.origin.clone());
    let fields = check_table(&mut cx, document.entries(), &ENGINE, root);
    let engine = read_engine(&mut cx, &fields, &folder);
    findings.extend(cx.findings);
    let is_refused = findings.iter().any(Finding::is_error);
    findings.sort_by_key(Finding::place_order);
    if is_refused { Err(findings) } else { Ok((Engine { file: Some(file), ..engine }, findings)) }
}

/// Puts every variable of ours into the tree; those that fit nothing are named.
fn apply_variables(document: &mut Document, env: &Env) -> Vec<Finding> {
    let ours = env.with_prefix(PREFIX).filter(|(name, _)| is_ours(&name[PREFIX.len()..]));
    let mut findings: Vec<Finding> = env.unreadable_with_prefix(PREFIX).map(no_text).collect();
    for (variable, text) in in_order(ours, PREFIX.len()) {
        let levels: Vec<&str> = variable[PREFIX.len()..].split(LEVEL).collect();
        let setting = Setting { variable, levels: &levels, text };
        let Some(entries) = document.entries_mut() else { continue };
        if let Err(unfit) = overrides::set(entries, &ENGINE, setting) {
            let location = Location::Variable(variable.to_owned());
            let reason = format!("the variable is not used: {}", unfit.reason);
            let finding = Finding::new("config.unknown_variable", Severity::Warning, location, reason);
            findings.push(match unfit.near {
                Some(near) => finding.with_hint(format!("did you mean `{near}`?")),
                None => finding.with_hint("variables are PICOMQ_CONNECTORS_<SECTION>__<KEY>"),
            });
        }
    }
    findings
}

fn no_text(variable: &str) -> Finding {
    let location = Location::Variable(variable.to_owned());
    Finding::new("config.unreadable", Severity::Error, location, "the value of the variable is not UTF-8")
}

/// Kubernetes sets `…_SERVICE_HOST`, `…_PORT` and the like for a service that is called as we are.
fn is_ours(rest: &str) -> bool {
    let is_kubernetes =
        rest.starts_with("SERVICE_HOST") || rest.starts_with("SERVICE_PORT") || rest == "PORT";
    let is_port =
        rest.strip_prefix("PORT_").is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()));
    !is_kubernetes
        && !is_port
        && !OTHERS.iter().any(|other| rest == *other || other.ends_with('_') && rest.starts_with(other))
}
