//! `/sources/{key}/commands/{name}`: what only the plugin of a source can do, JSON in and JSON out. Of a stopped source too,
//! where the plugin has such a command.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use pico_actors::handle::AskError;
use pico_actors::status::Status;
use pico_state::StateError;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::problem::Problem;
use super::process_view::Api;
use crate::maintain::{Maintenance, Unwilling};

/// Longest name; a plugin's author chooses shorter ones.
const NAME_MAX: usize = 64;

/// Nobody knows whether it was carried out.
const LOOK_FIRST: &str = "it may still be carried out: look at the source before you send it again";

/// What may stand behind the `?`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// Only say what would be done.
    #[serde(default)]
    dry_run: bool,
}

/// Hands the command to the plugin and its answer back.
pub(super) async fn command(
    State(api): State<Arc<Api>>,
    path: Result<Path<(String, String)>, PathRejection>,
    flags: Result<Query<Parameters>, QueryRejection>,
    body: Bytes,
) -> Result<Response, Problem> {
    let Path((key, name)) = path.map_err(|rejection| Problem::unreadable_key(rejection.body_text()))?;
    if name.chars().count() > NAME_MAX {
        return Err(AskError::Unknown("no command has so long a name".to_owned()).into());
    }
    let arguments = if body.is_empty() { b"null".as_slice() } else { &body };
    let arguments: &RawValue = serde_json::from_slice(arguments).map_err(|cause| {
        Problem::new(StatusCode::BAD_REQUEST, "http.bad_json", format!("the body is no JSON: {cause}"))
            .with_hint("send the arguments of the command as JSON, or no body where it has none")
    })?;
    let Query(Parameters { dry_run }) = flags.map_err(|rejection| {
        Problem::new(StatusCode::BAD_REQUEST, "http.bad_query", rejection.body_text())
            .with_hint("the one parameter is dry_run=true")
    })?;
    let answer = if dry_run {
        let maintenance = maintenance(&api, &key).await?;
        maintenance.look(&name, arguments.get()).await.map_err(|why| problem(&key, why))?.to_string()
    } else {
        match api.engine.ask_plugin(&key, &name, arguments.get()).await {
            Err(AskError::NotOpen) => of_stopped(&api, &key, (&name, arguments.get())).await?,
            other => other?,
        }
    };
    tracing::info!(source = key, command = name, dry_run, "command of the plugin taken");
    if serde_json::from_str::<&RawValue>(&answer).is_err() {
        let detail = "the plugin took the command and answered something that is no JSON";
        return Err(Problem::new(StatusCode::BAD_GATEWAY, "plugin.bad_answer", detail)
            .with_hint("it was carried out; tell the author of the plugin"));
    }
    let kind = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, kind)], answer).into_response())
}

/// A command that the plugin takes without an instance.
async fn of_stopped(api: &Api, key: &str, (name, arguments): (&str, &str)) -> Result<String, Problem> {
    let is_stopped = api.engine.get(key).await.is_some_and(|detail| detail.view.status == Status::Stopped);
    if !is_stopped {
        return Err(AskError::NotOpen.into());
    }
    match maintenance(api, key).await?.carry_out(name, arguments).await {
        Ok(answer) => Ok(answer.to_string()),
        // Most commands need a source that runs.
        Err(Unwilling::Unknown(_)) => Err(AskError::NotOpen.into()),
        Err(why) => Err(problem(key, why)),
    }
}

async fn maintenance(api: &Api, key: &str) -> Result<Maintenance, Problem> {
    if api.engine.get(key).await.is_none() {
        return Err(Problem::unknown_source(key));
    }
    let running = api.engine.running().await?;
    let found = running.into_iter().find(|source| source.key.eq_ignore_ascii_case(key));
    let Some(definition) = found.and_then(|source| source.definition) else {
        let detail = format!("the file of {key:?} is not a valid definition, so there is no plugin to ask");
        return Err(Problem::new(StatusCode::CONFLICT, "source.not_runnable", detail)
            .with_hint("mend the file; GET /sources says what is wrong with it"));
    };
    Ok(Maintenance::new(definition, &api.plugin_folders, api.limits, Some(api.store.clone())))
}

fn problem(key: &str, why: Unwilling) -> Problem {
    let status = match &why {
        Unwilling::Store(_) | Unwilling::NoPlugin(_) => StatusCode::CONFLICT,
        Unwilling::Unknown(_) => StatusCode::NOT_FOUND,
        Unwilling::Failed(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Unwilling::Silent => StatusCode::GATEWAY_TIMEOUT,
    };
    let problem = Problem::new(status, why.code(), why.to_string());
    match why {
        Unwilling::Store(StateError::InUse) => problem
            .with_hint(format!("stop it first: POST /sources/{key}/stop, or `pico-connectors stop {key}`")),
        Unwilling::Unknown(_) => problem.with_hint("the page of the source names the commands of its plugin"),
        Unwilling::Silent => problem.with_hint(LOOK_FIRST),
        // Their words say what to do.
        Unwilling::Store(_) | Unwilling::NoPlugin(_) | Unwilling::Failed(_) => problem,
    }
}

impl From<AskError> for Problem {
    fn from(error: AskError) -> Problem {
        let detail = error.to_string();
        match error {
            AskError::Source(error) => error.into(),
            AskError::NotOpen => Problem::new(StatusCode::CONFLICT, "source.not_open", detail)
                .with_hint("start the source; GET /sources/{key} says why it is not open"),
            AskError::Unknown(_) => Problem::new(StatusCode::NOT_FOUND, "plugin.unknown_command", detail)
                .with_hint("the page of the source names the commands of its plugin"),
            AskError::Failed(_) => {
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "plugin.command_failed", detail)
            }
            AskError::Silent => {
                Problem::new(StatusCode::GATEWAY_TIMEOUT, "plugin.silent", detail).with_hint(LOOK_FIRST)
            }
        }
    }
}
