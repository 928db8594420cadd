//! Short ways to a loaded file.

use std::path::{Path, PathBuf};

use pico_config::{
    Definition, Definitions, Engine, Env, Finding, check_definition, load_definitions, load_engine,
};

/// The smallest good definition, with more top-level lines and more lines of its block.
pub(crate) fn source(top: &str, block: &str) -> String {
    format!("type = \"source\"\nkey = \"a\"\npath = \"liba\"\n{top}\n[[topics]]\ntopic = \"t\"\n{block}\n")
}

pub(crate) fn no_env() -> Env {
    Env::default()
}

/// The definition and its findings.
pub(crate) fn check(text: &str) -> (Option<Definition>, Vec<Finding>) {
    check_with(text, &no_env())
}

pub(crate) fn check_with(text: &str, env: &Env) -> (Option<Definition>, Vec<Finding>) {
    check_definition(Path::new("a.toml"), text, &Engine::defaults(Path::new("/srv")), env)
}

/// A definition that must be good; findings below an error are let through.
pub(crate) fn good(text: &str) -> Definition {
    let (definition, findings) = check(text);
    definition.unwrap_or_else(|| panic!("refused: {findings:#?}"))
}

/// Every finding of a refused definition, one a line: `code line:column path: reason (hint)`.
pub(crate) fn refused(text: &str) -> String {
    let (definition, findings) = check(text);
    assert!(definition.is_none(), "accepted: {text}");
    lines(&findings)
}

pub(crate) fn lines(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let location = &finding.location;
        let place = match (location.line(), location.column()) {
            (Some(line), Some(column)) => format!("{line}:{column}"),
            _ => location.to_string(),
        };
        let hint = finding.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let path =
            if finding.toml_path.is_empty() { String::new() } else { format!(" {}", finding.toml_path) };
        format!("{} {place}{path}: {}{hint}", finding.code, finding.reason)
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The only finding's code.
pub(crate) fn code(text: &str) -> &'static str {
    let (_, findings) = check(text);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings[0].code
}

/// A folder with these files, and the engine that reads it.
pub(crate) struct Folder {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) engine: Engine,
}

impl Folder {
    pub(crate) fn new(files: &[(&str, &str)]) -> Folder {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        let mut engine = Engine::defaults(directory.path());
        engine.connectors.config_dir = directory.path().to_owned();
        Folder { directory, engine }
    }

    pub(crate) fn load(&self) -> Definitions {
        self.load_with(&no_env())
    }

    pub(crate) fn load_with(&self, env: &Env) -> Definitions {
        load_definitions(&self.engine, env)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// A config.toml of this text, and what came of it.
pub(crate) fn engine(text: &str) -> Result<(Engine, Vec<Finding>), Vec<Finding>> {
    engine_with(text, &no_env())
}

pub(crate) fn engine_with(text: &str, env: &Env) -> Result<(Engine, Vec<Finding>), Vec<Finding>> {
    let folder = Folder::new(&[("config.toml", text)]);
    load_engine(Some(&folder.path("config.toml")), env)
}

/// Every finding of a refused config.toml.
pub(crate) fn refused_engine(text: &str) -> String {
    lines(&engine(text).expect_err("accepted"))
}
