//! What the plugin of one source sees of the system it reads, without a daemon.

use std::path::Path;
use std::sync::Arc;

use pico_config::{Definition, Engine, Env, StateConfig};
use pico_state::{AnyStore, StateError};
use serde::Deserialize;

use super::look::{Grade, Look};
use crate::error::chain;
use crate::leave::Exit;
use crate::maintain::{Maintenance, Unwilling};

/// The command of a plugin that looks.
const COMMAND: &str = "doctor";

/// What such a plugin answers.
#[derive(Debug, Deserialize)]
struct Answer {
    checks: Vec<Seen>,
}

#[derive(Debug, Deserialize)]
struct Seen {
    name: String,
    status: String,
    detail: String,
    advice: Option<String>,
}

/// Every look the plugin takes; nothing for one that takes none, and for a definition that cannot be used.
pub(super) async fn looks(engine: &Engine, env: &Env, key: &str) -> Vec<Look> {
    let good = pico_config::load_definitions(engine, env).good;
    let found = good.into_iter().find(|definition| definition.key.as_str().eq_ignore_ascii_case(key));
    let Some(definition) = found else { return Vec::new() };
    let key = definition.key.clone();
    match asked(engine, definition).await {
        Ok(checks) => checks.into_iter().map(|seen| look(key.as_str(), seen)).collect(),
        Err(Unwilling::Unknown(_)) => {
            vec![Look::skipped(format!("{key}: upstream"), "this plugin looks at nothing outside by itself")]
        }
        // Said by the look at the definition.
        Err(Unwilling::NoPlugin(_)) => Vec::new(),
        Err(why) => vec![Look::error(format!("{key}: upstream"), chain(&why), Exit::Environment)],
    }
}

async fn asked(engine: &Engine, definition: Definition) -> Result<Vec<Seen>, Unwilling> {
    let maintenance = Maintenance::new(Arc::new(definition), &engine.plugins, engine.limits, store(engine)?);
    let answer = maintenance.look(COMMAND, "null").await?;
    let answer: Answer = serde_json::from_value(answer)
        .map_err(|cause| Unwilling::Failed(format!("the plugin answered something else: {cause}")))?;
    Ok(answer.checks)
}

/// A folder that is not there is not made: nothing is saved in it.
fn store(engine: &Engine) -> Result<Option<AnyStore>, StateError> {
    let is_missing = |path: &Path| !path.is_dir();
    match &engine.state {
        StateConfig::File { path } if is_missing(path) => Ok(None),
        StateConfig::File { .. } | StateConfig::Http { .. } => AnyStore::of(&engine.state).map(Some),
    }
}

fn look(key: &str, seen: Seen) -> Look {
    let Seen { name, status, detail, advice } = seen;
    let name = format!("{key}: {name}");
    let look = match status.as_str() {
        "ok" => Look::ok(name, detail),
        "error" => Look::error(name, detail, Exit::Environment),
        _ => Look { status: Grade::Warning, ..Look::ok(name, detail) },
    };
    look.maybe_advice(advice)
}
