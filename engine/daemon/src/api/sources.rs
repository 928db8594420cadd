//! Sources and what may be asked of them. A command is answered with 204 once it was taken, not once it is done:
//! `GET /sources/{key}` shows how far it got.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use pico_actors::handle::Command;
use pico_actors::status::{SourceDetail, SourceView};

use super::Api;
use super::problem::Problem;

type Key = Result<Path<String>, PathRejection>;

/// All sources, those among them whose file could not be read.
pub(super) async fn list(State(api): State<Arc<Api>>) -> Json<Vec<SourceView>> {
    Json(api.engine.list().await)
}

/// One source.
pub(super) async fn one(State(api): State<Arc<Api>>, key: Key) -> Result<Json<SourceDetail>, Problem> {
    let key = readable(key)?;
    api.engine.get(&key).await.map(Json).ok_or_else(|| Problem::unknown_source(&key))
}

pub(super) async fn restart(State(api): State<Arc<Api>>, key: Key) -> Result<StatusCode, Problem> {
    command(&api, key, Command::Restart).await
}

pub(super) async fn pause(State(api): State<Arc<Api>>, key: Key) -> Result<StatusCode, Problem> {
    command(&api, key, Command::Pause).await
}

pub(super) async fn resume(State(api): State<Arc<Api>>, key: Key) -> Result<StatusCode, Problem> {
    command(&api, key, Command::Resume).await
}

pub(super) async fn stop(State(api): State<Arc<Api>>, key: Key) -> Result<StatusCode, Problem> {
    command(&api, key, Command::Stop).await
}

pub(super) async fn start(State(api): State<Arc<Api>>, key: Key) -> Result<StatusCode, Problem> {
    command(&api, key, Command::Start).await
}

async fn command(api: &Api, key: Key, command: Command) -> Result<StatusCode, Problem> {
    let key = readable(key)?;
    api.engine.command(&key, command).await?;
    tracing::info!(source = key, ?command, "command taken");
    Ok(StatusCode::NO_CONTENT)
}

/// A key that is not even text is a key that no source has.
fn readable(key: Key) -> Result<String, Problem> {
    match key {
        Ok(Path(key)) => Ok(key),
        Err(rejection) => Err(Problem::new(StatusCode::NOT_FOUND, "source_not_found", rejection.body_text())),
    }
}
