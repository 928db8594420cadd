//! `check`: every mistake that can be found in files without a network, with file, line and column.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pico_config::{Env, Finding, Severity};
use serde_json::json;

use crate::cli::{CheckArguments, Cli, Format};
use crate::definition_check;
use crate::error::Error;
use crate::findings::{self, shown};
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::targets::{Loaded, Target};

/// Every file looked at, with what was found in it. Findings about no file (variables) stand under `None`.
type Found = BTreeMap<Option<PathBuf>, Vec<Finding>>;

/// Looks at what was named, or at all that `run` would read. Exit code 2 when a file cannot be used.
pub(crate) fn run(cli: &Cli, arguments: &CheckArguments) -> Result<Exit, Error> {
    let env = Env::from_process();
    let mut found = Found::new();
    for target in Target::all(cli.config.as_deref(), &arguments.paths)? {
        check(&target, &env, &mut found);
    }
    let errors = count(&found, Severity::Error);
    output::write(Stream::Stdout, &text(&found, cli.format()));
    Ok(if errors > 0 { Exit::Config } else { Exit::Ok })
}

fn check(target: &Target, env: &Env, found: &mut Found) {
    let Loaded { engine, files, definitions, findings } = target.load(env);
    for path in files {
        found.entry(Some(path)).or_default();
    }
    file(found, findings);
    for definition in &definitions {
        let findings = definition_check::findings(definition, &engine);
        found.entry(Some(definition.file.clone())).or_default().extend(findings);
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
