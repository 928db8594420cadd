//! `doctor`: what keeps sources from running, and what to do about each. First without a daemon: files, plugins, state
//! folder, the system that a named source reads, broker. Then, if a daemon answers, what it says of itself and of its sources.

mod look;
mod remote;
mod upstream;

use std::path::{Path, PathBuf};
use std::time::Duration;

use pico_broker::Admin;
use pico_config::{Definition, Engine, Env, Finding, Kafka, StateConfig};
use rustix::fs::{Access, access};

use crate::cli::{Cli, DoctorArguments, Format};
use crate::error::{Error, chain};
use crate::findings::shown;
use crate::leave::Exit;
use crate::output::{self, Stream, harmless};
use crate::{definition_check, reach, runtime};
use look::{Grade, Look};

/// How long the broker may take to answer.
const BROKER_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Looks everywhere; ends with the code of the first thing that is wrong.
pub(crate) fn run(cli: &Cli, arguments: &DoctorArguments) -> Result<Exit, Error> {
    let env = Env::from_process();
    let key = arguments.key.as_deref();
    let mut looks = Vec::new();
    let engine = match pico_config::load_engine(cli.config.as_deref(), &env) {
        Ok((engine, findings)) => {
            let name = engine.file.as_deref().map(|file| shown(file).display().to_string());
            let name = name.unwrap_or_else(|| "config.toml".to_owned());
            looks.push(match findings.is_empty() {
                true => Look::ok(&name, if engine.file.is_some() { "fine" } else { "none, all defaults" }),
                false => Look::warning(&name, format!("{} to look at", findings.len())),
            });
            looks.extend(findings.iter().map(|finding| of_finding(&name, finding)));
            Some(engine)
        }
        Err(findings) => {
            looks.extend(findings.iter().map(|finding| of_finding("config.toml", finding)));
            None
        }
    };
    runtime::block_on(async {
        if let Some(engine) = &engine {
            looks.extend(definitions(engine, &env, key));
            looks.push(state(engine));
            if let Some(key) = key {
                looks.extend(upstream::looks(engine, &env, key).await);
            }
            looks.push(broker(&engine.kafka).await);
            looks
                .extend(reach::warnings(&engine.kafka).into_iter().map(|said| Look::warning("broker", said)));
        }
        looks.extend(remote::looks(&cli.url, key).await);
        Ok(())
    })?;
    say(cli.format(), &looks);
    Ok(looks.iter().find(|look| look.status == Grade::Error).map_or(Exit::Ok, |look| look.exit))
}

fn of_finding(name: &str, finding: &Finding) -> Look {
    let said = finding.summary();
    let look = match finding.is_error() {
        true => Look::error(name, said, Exit::Config),
        false => Look::warning(name, said),
    };
    look.maybe_advice(finding.hint.clone())
}

fn definitions(engine: &Engine, env: &Env, key: Option<&str>) -> Vec<Look> {
    let loaded = pico_config::load_definitions(engine, env);
    let is_meant = |found: &str| key.is_none_or(|key| key.eq_ignore_ascii_case(found));
    let mut looks: Vec<Look> =
        loaded.warnings.iter().map(|finding| of_finding("variables", finding)).collect();
    for bad in loaded.bad.iter().filter(|bad| is_meant(&bad.key)) {
        looks.extend(bad.findings.iter().map(|finding| of_finding(&named(&bad.file), finding)));
    }
    let good: Vec<&Definition> = loaded.good.iter().filter(|good| is_meant(good.key.as_str())).collect();
    for definition in &good {
        let name = named(&definition.file);
        let findings = definition_check::findings(definition, engine);
        if !findings.iter().any(Finding::is_error) {
            looks.push(Look::ok(
                &name,
                format!("definition of {}, its plugin is found and fits", definition.key),
            ));
        }
        looks.extend(findings.iter().map(|finding| of_finding(&name, finding)));
    }
    if good.is_empty() && loaded.bad.iter().all(|bad| !is_meant(&bad.key)) {
        let folder = shown(&engine.connectors.config_dir).display().to_string();
        let what = key.map_or_else(|| "no definition".to_owned(), |key| format!("no definition of {key:?}"));
        looks.push(
            Look::error("definitions", format!("{what} in {folder}"), Exit::Config)
                .advice("write one with `pico-connectors new source`, or set [connectors] config_dir"),
        );
    }
    looks
}

fn named(file: &Path) -> String {
    shown(file).display().to_string()
}

/// Whether states could be saved, without writing any.
fn state(engine: &Engine) -> Look {
    let StateConfig::File { path } = &engine.state else {
        return Look::skipped(
            "state",
            "states are kept over HTTP; a running daemon says whether they can be",
        );
    };
    let nearest = path.ancestors().find(|folder| folder.exists()).map_or_else(PathBuf::new, Path::to_owned);
    let shown = shown(path).display().to_string();
    let can_write = access(&nearest, Access::WRITE_OK | Access::EXEC_OK);
    match can_write {
        Ok(()) if nearest.is_dir() => Look::ok("state", format!("{shown} can be written to")),
        Ok(()) => Look::error("state", format!("{} is no folder", nearest.display()), Exit::Environment)
            .advice("set [state] path to a folder on a volume that stays"),
        Err(cause) => Look::error(
            "state",
            format!("{} cannot be written to: {cause}", nearest.display()),
            Exit::Environment,
        )
        .advice("mend owner and mode, or set another [state] path; the daemon may run as another user"),
    }
}

async fn broker(kafka: &Kafka) -> Look {
    let servers = &kafka.bootstrap_servers;
    let admin = match Admin::open(kafka) {
        Ok(admin) => admin,
        Err(error) => return Look::error("broker", chain(&error), Exit::Config).advice("mend [kafka]"),
    };
    let asking = async {
        while !admin.reached_once() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    match tokio::time::timeout(BROKER_WITHIN, asking).await {
        Ok(()) => Look::ok("broker", format!("{servers} answers")),
        Err(_elapsed) => {
            let said = admin.last_error().map(|said| format!(": {said}")).unwrap_or_default();
            let detail = format!("{servers} did not answer within {} s{said}", BROKER_WITHIN.as_secs());
            Look::error("broker", detail, Exit::Environment).advice(
                "is it up, is [kafka] bootstrap_servers right, do security_protocol and credentials fit?",
            )
        }
    }
}

fn say(format: Format, looks: &[Look]) {
    match format {
        Format::Json => output::write_json(&looks),
        Format::Human | Format::Github => output::write(Stream::Stdout, &text(looks)),
    }
}

fn text(looks: &[Look]) -> String {
    let mut text = String::new();
    for Look { name, status, detail, advice, .. } in looks {
        let mark = match status {
            Grade::Ok => '✓',
            Grade::Skipped => '·',
            Grade::Warning => '!',
            Grade::Error => '✗',
        };
        text.push_str(&format!("{mark} {name}  {}\n", harmless(detail)));
        for line in advice.iter().flat_map(|advice| advice.lines()) {
            text.push_str(&format!("    → {}\n", harmless(line)));
        }
    }
    let count = |wanted: Grade| looks.iter().filter(|look| look.status == wanted).count();
    let (errors, warnings) = (count(Grade::Error), count(Grade::Warning));
    let ending = |count: usize| if count == 1 { "" } else { "s" };
    text.push_str(&format!("{errors} error{}, {warnings} warning{}\n", ending(errors), ending(warnings)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_that_is_wrong_has_what_to_do_below_it() {
        let looks = [
            Look::ok("config.toml", "fine"),
            Look::warning("broker", "plaintext"),
            Look::error("state", "read-only", Exit::Environment).advice("mend it"),
            Look::skipped("daemon", "none"),
        ];
        insta::assert_snapshot!(text(&looks), @r"
        ✓ config.toml  fine
        ! broker  plaintext
        ✗ state  read-only
            → mend it
        · daemon  none
        1 error, 1 warning
        ");
    }

    #[test]
    fn a_state_folder_that_is_not_there_yet_is_fine_where_it_can_be_made() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::defaults(folder.path());
        assert_eq!(state(&engine).status, Grade::Ok);
        std::fs::write(folder.path().join("local_state"), "").unwrap();
        assert_eq!(state(&engine).status, Grade::Error);
    }
}
