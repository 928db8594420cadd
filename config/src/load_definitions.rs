//! Loading every definition of a folder, none of them stopped by another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::check::check_table;
use crate::context::{Context, Draft, Place};
use crate::definition::Definition;
use crate::definition_shape::DEFINITION;
use crate::document::Document;
use crate::engine::Engine;
use crate::env::Env;
use crate::finding::{Finding, Location, Severity};
use crate::key::SourceKey;
use crate::read_definition::read_definition;
use crate::reference::resolve;
use crate::source_variables::{self, Target};
use crate::supervision::Supervision;
use crate::tree::Node;
use crate::written::Written;

/// What a folder of definitions came to.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    /// Checked, in order of file name; keys unique ignoring case.
    pub good: Vec<Definition>,
    /// Refused files, in order of file name.
    pub bad: Vec<BadFile>,
    /// Said, but stops nothing: sinks left alone, variables not used, settings without effect.
    pub warnings: Vec<Finding>,
    /// Files that references name, of good and bad files: a change of theirs changes definitions.
    pub referenced: BTreeSet<PathBuf>,
}

/// Which file each running source came from, by its folded key. Such a file keeps its key against a newcomer.
pub type Owners = BTreeMap<String, PathBuf>;

/// A file of definitions that was read already, or whose text never was in a file.
#[derive(Debug, Clone)]
pub struct DefinitionFile {
    /// For messages, for the order, and for `Owners`.
    pub file: PathBuf,
    /// Its text; an error is what reading it gave.
    pub text: Result<String, Box<Finding>>,
}

impl DefinitionFile {
    /// Reads it whole, once: what is checked later is this copy.
    pub fn read(file: &Path) -> DefinitionFile {
        DefinitionFile { file: file.to_owned(), text: Document::read_text(file) }
    }
}

/// A file that is not used.
#[derive(Debug, Clone, PartialEq)]
pub struct BadFile {
    /// The file.
    pub file: PathBuf,
    /// The key it is listed under: its own if that could be read, else the file's stem, else (where a source has that
    /// key) the file's name. Not checked against the grammar of keys.
    pub key: String,
    /// Why; at least one is an error.
    pub findings: Vec<Finding>,
}

/// Loads the `*.toml` files of the engine's folder with their environment. Hidden files, `Cargo.toml`, the engine's own
/// file, folders and dangling links are passed over.
pub fn load_definitions(engine: &Engine, env: &Env) -> Definitions {
    match definition_files(engine) {
        Ok(files) => {
            let files = files.iter().map(|file| DefinitionFile::read(file)).collect();
            load_files(files, engine, env, &Owners::new())
        }
        Err(finding) => Definitions { warnings: vec![*finding], ..Definitions::default() },
    }
}

/// The same for files that were read already, beside sources that run: of two files with one key the one that its source
/// came from is used, and only the newcomer is refused.
pub fn load_files(files: Vec<DefinitionFile>, engine: &Engine, env: &Env, owners: &Owners) -> Definitions {
    let mut loaded = Definitions::default();
    let mut parsed: Vec<Parsed> = Vec::new();
    for DefinitionFile { file, text } in files {
        match text.map(|text| Document::parse(&file, &text)) {
            Ok(document) => parsed.extend(classify(document, env, &mut loaded.warnings)),
            Err(finding) => loaded.bad.push(BadFile { key: stem(&file), file, findings: vec![*finding] }),
        }
    }
    refuse_duplicates(&mut parsed, owners);
    loaded.referenced = parsed.iter().flat_map(|file| file.written.referenced_files()).collect();
    apply_variables(&mut parsed, env, &mut loaded.warnings);
    for file in parsed {
        finish(file, env, &engine.supervision, &mut loaded);
    }
    loaded.bad.sort_by(|a, b| a.file.cmp(&b.file));
    rename_clashing_stems(&mut loaded);
    loaded
}

/// Checks one definition that is in no folder (yet): an API's, an editor's. `file` is for messages. Variables that
/// name its key are applied; whether another source has that key is the caller's to see.
pub fn check_definition(
    file: &Path,
    text: &str,
    engine: &Engine,
    env: &Env,
) -> (Option<Definition>, Vec<Finding>) {
    let mut loaded = Definitions::default();
    let mut parsed: Vec<Parsed> =
        classify(Document::parse(file, text), env, &mut loaded.warnings).into_iter().collect();
    apply_variables(&mut parsed, env, &mut Vec::new());
    for file in parsed {
        finish(file, env, &engine.supervision, &mut loaded);
    }
    let findings = loaded.bad.into_iter().flat_map(|bad| bad.findings).chain(loaded.warnings).collect();
    (loaded.good.pop(), findings)
}

/// A source's file between parsing and checking.
struct Parsed {
    document: Document,
    written: Written,
    key: Option<SourceKey>,
    /// Why it is refused already.
    findings: Vec<Finding>,
}

/// None for a sink, which is named and left alone.
fn classify(document: Document, env: &Env, warnings: &mut Vec<Finding>) -> Option<Parsed> {
    if document.root.get("type").and_then(Node::as_text) == Some("sink") {
        let location = Location::File(document.file());
        let reason = "this is a sink, which this engine does not run; the file is left alone";
        warnings.push(Finding::new("config.sink", Severity::Info, location, reason));
        return None;
    }
    let text = document.root.get("key").and_then(Node::as_text).and_then(|text| resolve(text, env).ok());
    let key = text.and_then(|text| SourceKey::parse(&text).ok());
    let written = Written::of(&document.root);
    Some(Parsed { document, written, key, findings: Vec::new() })
}

/// The files of the folder that hold definitions, in order of name.
///
/// # Errors
/// The folder cannot be read.
pub fn definition_files(engine: &Engine) -> Result<Vec<PathBuf>, Box<Finding>> {
    let folder = &engine.connectors.config_dir;
    let entries = std::fs::read_dir(folder).map_err(|error| {
        let reason = format!("the folder of definitions cannot be read, no source runs: {error}");
        let finding =
            Finding::new("config.no_folder", Severity::Error, Location::File(folder.clone()), reason);
        Box::new(finding.with_hint("create it, or set [connectors] config_dir in config.toml"))
    })?;
    let own = engine.file.as_ref().and_then(|file| file.canonicalize().ok());
    let is_definition = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_toml = name.ends_with(".toml") && !name.starts_with('.') && name != "Cargo.toml";
        is_toml && path.is_file() && (own.is_none() || path.canonicalize().ok() != own)
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_definition).collect();
    files.sort();
    Ok(files)
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Two files with one key would share one state: none of them runs, whatever else is right with them.
fn refuse_duplicates(parsed: &mut [Parsed], owners: &Owners) {
    let mut by_key: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, file) in parsed.iter().enumerate() {
        if let Some(key) = &file.key {
            by_key.entry(key.folded()).or_default().push(index);
        }
    }
    for (key, indices) in by_key.into_iter().filter(|(_, indices)| indices.len() > 1) {
        let is_owner = |index: &usize| owners.get(&key) == Some(&parsed[*index].document.file());
        let owner = indices.iter().copied().find(is_owner);
        let mut findings = Vec::new();
        for index in indices.iter().copied().filter(|index| Some(*index) != owner) {
            let others = indices.iter().filter(|other| **other != index);
            let others: Vec<String> =
                others.map(|other| parsed[*other].document.file().display().to_string()).collect();
            findings
                .push((index, duplicate(&parsed[index].document, &key, &others.join(", "), owner.is_some())));
        }
        for (index, finding) in findings {
            parsed[index].findings.push(finding);
        }
    }
}

fn duplicate(document: &Document, key: &str, others: &str, has_owner: bool) -> Finding {
    let env = Env::default();
    let mut cx = Context::new(&document.text, &env);
    let origin = document.root.get("key").map_or(&document.root.origin, |node| &node.origin);
    let place = Place::root(document.root.origin.clone()).member("key", origin);
    let what = if has_owner { "the one that runs stays" } else { "none of them runs" };
    let reason = format!("the key `{key}` is also that of {others}; {what}");
    let is_version = stem(document.text.file()).starts_with(&format!("source_{key}_"));
    let hint = if is_version {
        "versions made through the API of another runtime are not read: take the file out of the folder"
    } else {
        "keys are unique ignoring case: rename one, or take one file out of the folder"
    };
    cx.add(&place, Draft::error("config.duplicate_key", reason).hint(hint));
    cx.findings.remove(0)
}

fn apply_variables(parsed: &mut [Parsed], env: &Env, warnings: &mut Vec<Finding>) {
    let mut found = Vec::new();
    {
        let mut targets: Vec<Target<'_>> = Vec::new();
        let mut indices = Vec::new();
        for (index, file) in parsed.iter_mut().enumerate() {
            if let Some(key) = file.key.clone() {
                targets.push(Target { key, document: &mut file.document, findings: Vec::new() });
                indices.push(index);
            }
        }
        warnings.extend(source_variables::apply(&mut targets, env));
        found.extend(indices.into_iter().zip(targets.into_iter().map(|target| target.findings)));
    }
    for (index, findings) in found {
        parsed[index].findings.extend(findings);
    }
}

fn finish(file: Parsed, env: &Env, defaults: &Supervision, loaded: &mut Definitions) {
    let Parsed { mut document, written, key, mut findings } = file;
    let path = document.file();
    let definition = if document.syntax_errors.is_empty() {
        let mut cx = Context::new(&document.text, env);
        let root = Place::root(document.root.origin.clone());
        let fields = check_table(&mut cx, document.entries(), &DEFINITION, root);
        let definition = read_definition(&mut cx, &fields, defaults);
        findings.extend(cx.findings);
        definition
    } else {
        findings.append(&mut document.syntax_errors);
        None
    };
    findings.sort_by_key(Finding::place_order);
    match definition.filter(|_| !findings.iter().any(Finding::is_error)) {
        Some(definition) => {
            loaded.warnings.extend(findings);
            loaded.good.push(Definition { written, ..definition });
        }
        None => {
            let key = key.map_or_else(|| stem(&path), |key| key.as_str().to_owned());
            loaded.bad.push(BadFile { file: path, key, findings });
        }
    }
}

/// A stem stands in for a key that could not be read; it must not hide a source that has that key.
fn rename_clashing_stems(loaded: &mut Definitions) {
    let keys: Vec<String> = loaded.good.iter().map(|definition| definition.key.folded()).collect();
    for bad in &mut loaded.bad {
        if keys.contains(&bad.key.to_ascii_lowercase()) {
            bad.key = bad.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
    }
}

/// What a text writes, checked or not.
pub fn written_of(text: &str) -> Written {
    Written::of(&Document::parse(Path::new(""), text).root)
}

/// The key that a text names, as far as it can be read without its environment.
pub fn key_of(text: &str) -> Option<String> {
    let document = Document::parse(Path::new(""), text);
    if document.root.get("type").and_then(Node::as_text) == Some("sink") {
        return None;
    }
    let key = document.root.get("key").and_then(Node::as_text)?;
    SourceKey::parse(key).ok().map(|key| key.as_str().to_owned())
}

/// The version that a text names.
pub fn version_of(text: &str) -> Option<u64> {
    written_of(text)
        .values()
        .into_iter()
        .find(|(path, _)| path == "version")
        .and_then(|(_, value)| value.as_u64())
}
