//! `/sources/{key}/commands/{name}`: what only the plugin of a source can do, JSON in and JSON out.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use pico_actors::handle::AskError;
use serde_json::value::RawValue;

use super::Api;
use super::problem::Problem;

/// Longest name; a plugin's author chooses shorter ones.
const NAME_MAX: usize = 64;

/// Hands the command to the plugin and its answer back.
pub(super) async fn command(
    State(api): State<Arc<Api>>,
    path: Result<Path<(String, String)>, PathRejection>,
    body: Bytes,
) -> Result<Response, Problem> {
    let Path((key, name)) = path.map_err(|rejection| {
        Problem::new(StatusCode::NOT_FOUND, "source_not_found", rejection.body_text())
    })?;
    if name.chars().count() > NAME_MAX {
        return Err(AskError::Unknown("no command has so long a name".to_owned()).into());
    }
    let arguments = if body.is_empty() { b"null".as_slice() } else { &body };
    let arguments: &RawValue = serde_json::from_slice(arguments).map_err(|cause| {
        Problem::new(StatusCode::BAD_REQUEST, "http.bad_json", format!("the body is no JSON: {cause}"))
    })?;
    let answer = api.engine.ask_plugin(&key, &name, arguments.get()).await?;
    tracing::info!(source = key, command = name, "command of the plugin taken");
    if serde_json::from_str::<&RawValue>(&answer).is_err() {
        let detail = "the plugin took the command and answered something that is no JSON";
        return Err(Problem::new(StatusCode::BAD_GATEWAY, "plugin.bad_answer", detail));
    }
    let kind = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, kind)], answer).into_response())
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
            AskError::Silent => Problem::new(StatusCode::GATEWAY_TIMEOUT, "plugin.silent", detail),
        }
    }
}
