//! Sources and what may be asked of them. A command is answered with 204 once it was taken, not once it is done:
//! `GET /sources/{key}` shows how far it got.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use pico_actors::handle::Command;
use pico_actors::status::{SourceDetail, SourceView};

use super::problem::Problem;
use super::process_view::Api;

/// Header of what a person should know about a command that was taken.
const NOTE: HeaderName = HeaderName::from_static("picomq-note");
const NOT_KEPT: &str =
    "not kept over a restart of the process: the state store is HTTP; enabled = false keeps a source stopped";

pub(super) type Key = Result<Path<String>, PathRejection>;

/// All sources, those among them whose file could not be read.
pub(super) async fn list(State(api): State<Arc<Api>>) -> Json<Vec<SourceView>> {
    Json(api.engine.list().await)
}

/// One source.
pub(super) async fn one(State(api): State<Arc<Api>>, key: Key) -> Result<Json<SourceDetail>, Problem> {
    let key = readable(key)?;
    api.engine.get(&key).await.map(Json).ok_or_else(|| Problem::unknown_source(&key))
}

pub(super) async fn restart(State(api): State<Arc<Api>>, key: Key) -> Result<Response, Problem> {
    command(&api, key, Command::Restart).await
}

pub(super) async fn pause(State(api): State<Arc<Api>>, key: Key) -> Result<Response, Problem> {
    command(&api, key, Command::Pause).await
}

pub(super) async fn resume(State(api): State<Arc<Api>>, key: Key) -> Result<Response, Problem> {
    command(&api, key, Command::Resume).await
}

pub(super) async fn stop(State(api): State<Arc<Api>>, key: Key) -> Result<Response, Problem> {
    command(&api, key, Command::Stop).await
}

pub(super) async fn start(State(api): State<Arc<Api>>, key: Key) -> Result<Response, Problem> {
    command(&api, key, Command::Start).await
}

async fn command(api: &Api, key: Key, command: Command) -> Result<Response, Problem> {
    let key = readable(key)?;
    api.engine.command(&key, command).await?;
    tracing::info!(source = key, ?command, "command taken");
    Ok(taken(command, api.store.keeps_asked()))
}

/// 204; with a note where what was asked ends with the process.
fn taken(command: Command, is_kept: bool) -> Response {
    let ends_with_process = match command {
        Command::Pause | Command::Stop => !is_kept,
        Command::Start | Command::Resume | Command::Restart => false,
    };
    let mut response = StatusCode::NO_CONTENT.into_response();
    if ends_with_process {
        response.headers_mut().insert(NOTE, HeaderValue::from_static(NOT_KEPT));
    }
    response
}

/// A key that is not even text is a key that no source has.
pub(super) fn readable(key: Key) -> Result<String, Problem> {
    match key {
        Ok(Path(key)) => Ok(key),
        Err(rejection) => Err(Problem::unreadable_key(rejection.body_text())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_kept_over_a_restart_is_said_with_the_answer() {
        for command in [Command::Pause, Command::Stop] {
            assert_eq!(taken(command, false).headers()[NOTE], NOT_KEPT);
            assert!(taken(command, true).headers().get(NOTE).is_none());
        }
        // After a restart a source runs: these need no keeping.
        for command in [Command::Start, Command::Resume, Command::Restart] {
            assert!(taken(command, false).headers().get(NOTE).is_none());
        }
    }
}
