//! `plan`, `apply` and `reload`: what changed definitions would do to a running daemon, and doing it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use axum::body::Bytes;
use hyper::Method;
use pico_config::{Env, Finding, Location, Severity};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::{ApplyArguments, Cli, Format, PlanArguments};
use crate::client::Client;
use crate::error::{self, Error};
use crate::leave::Exit;
use crate::output::{self, Stream};
use crate::reload::{Action, Change, Changed, Plan};
use crate::runtime;

/// A longer value is cut in the table; `--json` has all of it.
const VALUE_CHARACTERS_MAX: usize = 40;

/// What is needed of `GET /stats`.
#[derive(Debug, Deserialize)]
struct Stats {
    paths: Paths,
}

#[derive(Debug, Deserialize)]
struct Paths {
    definitions: PathBuf,
}

/// Shows what a reload would change. Exit code 2 when a file of it cannot be used.
pub(crate) fn plan(cli: &Cli, arguments: &PlanArguments) -> Result<Exit, Error> {
    let plan = asked(cli, arguments.path.as_deref())?;
    show(cli, &plan, &next_step(&plan, arguments.path.as_deref()));
    Ok(exit(&plan))
}

/// Reloads if the plan is still the one that was named. Exit code 4 without a name, or when it names another plan.
pub(crate) fn apply(cli: &Cli, arguments: &ApplyArguments) -> Result<Exit, Error> {
    let path = arguments.path.as_deref();
    let Some(confirmed) = &arguments.plan else {
        let plan = asked(cli, path)?;
        show(cli, &plan, &next_step(&plan, path));
        return Ok(if plan.changes.is_empty() { Exit::Ok } else { Exit::Confirmation });
    };
    if path.is_some() {
        let now = asked(cli, path)?;
        if now.hash != *confirmed {
            let reason = format!("something else runs or is wanted by now: the plan is {}", now.hash);
            return Ok(outdated(cli, reason));
        }
    }
    // A hash is hexadecimal; anything else is no plan's name and must not become part of the path.
    if confirmed.is_empty() || !confirmed.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(outdated(cli, "this is not the name of a plan".to_owned()));
    }
    match post_reload(cli, &format!("/reload?plan={confirmed}")) {
        Err(Error::Refused { code, reason, .. }) if code == "reload.plan_outdated" => {
            Ok(outdated(cli, reason))
        }
        Err(error) => Err(error),
        Ok(done) => {
            show(cli, &done, "begun; `pico-connectors status` shows what comes of it\n");
            Ok(exit(&done))
        }
    }
}

/// Reloads whatever changed.
pub(crate) fn reload(cli: &Cli) -> Result<Exit, Error> {
    let done = post_reload(cli, "/reload")?;
    let next = match done.changes.is_empty() {
        true => "nothing to do\n",
        false => "begun; `pico-connectors status` shows what comes of it\n",
    };
    show(cli, &done, next);
    Ok(exit(&done))
}

fn post_reload(cli: &Cli, path: &str) -> Result<Plan, Error> {
    let client = Client::new(&cli.url)?;
    runtime::block_on(client.ask(Method::POST, path, None))
}

fn outdated(cli: &Cli, reason: String) -> Exit {
    let hint = Some("look at `pico-connectors plan` and confirm what it shows".to_owned());
    let code = "reload.plan_outdated".to_owned();
    error::report(&Error::Refused { code, reason, hint, is_environment: false }, cli.format());
    Exit::Confirmation
}

fn exit(plan: &Plan) -> Exit {
    if plan.is_refused() { Exit::Config } else { Exit::Ok }
}

fn asked(cli: &Cli, path: Option<&Path>) -> Result<Plan, Error> {
    let client = Client::new(&cli.url)?;
    let local = path.map(Local::read).transpose()?;
    runtime::block_on(async {
        let Some(local) = local else {
            return client.ask(Method::POST, "/definitions/validate", None).await;
        };
        let stats: Stats = client.get("/stats").await?;
        match local {
            // The daemon reads its own folder, with its own secrets.
            Local::Folder { folder, .. }
                if stats.paths.definitions.canonicalize().ok() == Some(folder.clone()) =>
            {
                client.ask(Method::POST, "/definitions/validate", None).await
            }
            Local::Folder { files, .. } => {
                let body = json!({ "files": files });
                client.ask(Method::POST, "/definitions/validate", Some(&body)).await
            }
            Local::File(text) => {
                let body = Some(("application/toml", Bytes::from(text)));
                client.ask_with("/definitions/validate", body).await
            }
        }
    })
}

/// What a path on the command line holds.
enum Local {
    Folder { folder: PathBuf, files: Vec<Value> },
    File(String),
}

impl Local {
    fn read(path: &Path) -> Result<Local, Error> {
        let absolute = path.canonicalize().map_err(|cause| unreadable(path, &cause))?;
        if absolute.is_file() {
            return std::fs::read_to_string(&absolute)
                .map(Local::File)
                .map_err(|cause| unreadable(path, &cause));
        }
        let config = Some(absolute.join("config.toml")).filter(|config| config.is_file());
        let engine = match &config {
            Some(_) => {
                pico_config::load_engine(config.as_deref(), &Env::from_process()).map_err(Error::Config)?.0
            }
            None => {
                let mut engine = pico_config::Engine::defaults(&absolute);
                engine.connectors.config_dir.clone_from(&absolute);
                engine
            }
        };
        let folder = &engine.connectors.config_dir;
        let files =
            pico_config::definition_files(&engine).map_err(|finding| Error::Config(vec![*finding]))?;
        let read = |file: &PathBuf| -> Result<Value, Error> {
            let text = std::fs::read_to_string(file).map_err(|cause| unreadable(file, &cause))?;
            Ok(json!({ "file": file.file_name().map(|name| name.to_string_lossy()), "text": text }))
        };
        let files = files.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Local::Folder { folder: folder.canonicalize().unwrap_or_else(|_| folder.clone()), files })
    }
}

fn unreadable(path: &Path, cause: &std::io::Error) -> Error {
    let location = Location::File(path.to_owned());
    let finding = Finding::new("plan.no_file", Severity::Error, location, cause.to_string());
    Error::Config(vec![finding.with_hint("name a folder or a file of definitions")])
}

fn next_step(plan: &Plan, path: Option<&Path>) -> String {
    let path = path.map(|path| format!("{} ", path.display())).unwrap_or_default();
    match plan.changes.is_empty() {
        true => "nothing to do\n".to_owned(),
        false => format!("to do this: pico-connectors apply {path}--plan {}\n", plan.hash),
    }
}

fn show(cli: &Cli, plan: &Plan, next: &str) {
    match cli.format() {
        Format::Json => output::write_json(plan),
        Format::Human | Format::Github => output::write(Stream::Stdout, &(text(plan) + next)),
    }
}

/// One line a value that differs, the source's key on the first.
fn text(plan: &Plan) -> String {
    let width = plan.changes.iter().map(|change| change.key.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for change in &plan.changes {
        let (mark, outcome) = words(&change.action);
        for (place, line) in lines(change).iter().enumerate() {
            let (mark, key) = if place == 0 { (mark, change.key.as_str()) } else { (' ', "") };
            let outcome = if place == 0 { format!("  ({outcome})") } else { String::new() };
            writeln!(text, "{mark} {key:width$}  {line}{outcome}").expect("a String takes all text");
        }
    }
    for section in &plan.needs_restart {
        writeln!(text, "! config.toml: {section} changed, which needs a restart")
            .expect("a String takes all text");
    }
    writeln!(text, "{} unchanged", plan.unchanged).expect("a String takes all text");
    text
}

fn words(action: &Action) -> (char, &'static str) {
    match action {
        Action::Start => ('+', "start"),
        Action::Reload => ('~', "reload"),
        Action::SwitchOff => ('○', "drain, stay off"),
        Action::Remove => ('-', "drain, keep state"),
        Action::Refuse => ('✗', "refused, what ran for it stays"),
    }
}

fn lines(change: &Change) -> Vec<String> {
    let mut lines: Vec<String> = change.values.iter().map(value).collect();
    match change.action {
        Action::Remove => lines.push("removed".to_owned()),
        Action::Start if change.values.is_empty() => lines.push("new source".to_owned()),
        Action::Start | Action::Reload | Action::SwitchOff | Action::Refuse => {}
    }
    if change.action != Action::Remove {
        lines.extend(change.notes.iter().cloned());
    }
    if lines.is_empty() {
        lines.push("listed as stopped".to_owned());
    }
    lines
}

fn value(changed: &Changed) -> String {
    let shown = |value: &Option<Value>| match value {
        None => "unset".to_owned(),
        Some(value) => cut(&value.to_string()),
    };
    format!("{} {} → {}", changed.path, shown(&changed.from), shown(&changed.to))
}

fn cut(text: &str) -> String {
    match text.chars().count() > VALUE_CHARACTERS_MAX {
        true => format!("{}…", text.chars().take(VALUE_CHARACTERS_MAX).collect::<String>()),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_reads_as_what_becomes_of_each_source() {
        let change = |key: &str, action, values: Vec<Changed>, notes: &[&str]| Change {
            key: key.to_owned(),
            action,
            values,
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        };
        let values = vec![
            Changed {
                path: "topics[0].batch_length".to_owned(),
                from: Some(1000.into()),
                to: Some(500.into()),
            },
            Changed { path: "verbose".to_owned(), from: None, to: Some(true.into()) },
        ];
        let plan = Plan {
            hash: "7f3a9c".to_owned(),
            changes: vec![
                change("legacy", Action::Remove, Vec::new(), &["drained, its state stays"]),
                change("orders_cdc", Action::Reload, values, &[]),
                change("clicks", Action::Start, Vec::new(), &[]),
                change("broken", Action::Refuse, Vec::new(), &["broken.toml:3:1: this is no TOML"]),
            ],
            unchanged: 2,
            findings: Vec::new(),
            needs_restart: vec!["kafka".to_owned()],
        };
        insta::assert_snapshot!(text(&plan) + &next_step(&plan, Some(Path::new("config"))), @r"
        - legacy      removed  (drain, keep state)
        ~ orders_cdc  topics[0].batch_length 1000 → 500  (reload)
                      verbose unset → true
        + clicks      new source  (start)
        ✗ broken      broken.toml:3:1: this is no TOML  (refused, what ran for it stays)
        ! config.toml: kafka changed, which needs a restart
        2 unchanged
        to do this: pico-connectors apply config --plan 7f3a9c
        ");
    }
}
