//! `/sources/{key}/state`: looked at any time, written only while the source is stopped.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use pico_actors::status::Status;
use pico_state::StateError;
use serde::Deserialize;

use super::access::Caller;
use super::problem::Problem;
use super::process_view::Api;
use crate::state::{Change, Desk, Document, Reader, Trouble, Wanted, parse};

type Key = Result<Path<String>, PathRejection>;
type Flags = Result<Query<Parameters>, QueryRejection>;

/// What may stand behind the `?`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// Only say what would change.
    #[serde(default)]
    dry_run: bool,
}

/// The routes.
pub(super) fn routes() -> Router<Arc<Api>> {
    Router::new().route("/sources/{key}/state", get(show).put(import).delete(reset))
}

/// Base64 for those who may write it back; everybody else gets what it means.
async fn show(
    State(api): State<Arc<Api>>,
    caller: Option<Extension<Caller>>,
    key: Key,
) -> Result<Json<Document>, Problem> {
    let (desk, _) = desk(&api, key).await?;
    let mut document = desk.look().await.map_err(|trouble| problem(&desk, trouble))?;
    if !caller.is_some_and(|Extension(caller)| caller.is_admin()) {
        document.state = None;
    }
    Ok(Json(document))
}

async fn import(
    State(api): State<Arc<Api>>,
    key: Key,
    flags: Flags,
    body: Bytes,
) -> Result<Json<Change>, Problem> {
    let (desk, status) = desk(&api, key).await?;
    let (state, _) = parse(&body).map_err(|trouble| problem(&desk, trouble))?;
    change(&desk, status, Wanted::State(state), flags).await
}

async fn reset(State(api): State<Arc<Api>>, key: Key, flags: Flags) -> Result<Json<Change>, Problem> {
    let (desk, status) = desk(&api, key).await?;
    change(&desk, status, Wanted::Nothing, flags).await
}

async fn change(desk: &Desk, status: Status, wanted: Wanted, flags: Flags) -> Result<Json<Change>, Problem> {
    let Query(Parameters { dry_run }) = flags.map_err(|rejection| {
        Problem::new(StatusCode::BAD_REQUEST, "http.bad_query", rejection.body_text())
            .with_hint("the one parameter is dry_run=true")
    })?;
    if status != Status::Stopped {
        return Err(problem(desk, Trouble::NotStopped(status.as_str())));
    }
    let change = desk.weigh(&wanted).await.map_err(|trouble| problem(desk, trouble))?;
    if !dry_run {
        // A start that came meanwhile has the state, and the store says so.
        desk.carry_out(wanted).await.map_err(|trouble| problem(desk, trouble))?;
    }
    Ok(Json(change))
}

/// The state of a source that is listed, and what the source does now.
async fn desk(api: &Api, key: Key) -> Result<(Desk, Status), Problem> {
    let Path(key) = key.map_err(|rejection| Problem::unreadable_key(rejection.body_text()))?;
    let detail = api.engine.get(&key).await.ok_or_else(|| Problem::unknown_source(&key))?;
    let running = api.engine.running().await?;
    let found = running.into_iter().find(|source| source.key.eq_ignore_ascii_case(&key));
    let Some(definition) = found.and_then(|source| source.definition) else {
        let detail =
            format!("the file of {key:?} is not a valid definition, so nobody can say whose state is meant");
        return Err(Problem::new(StatusCode::CONFLICT, "source.not_runnable", detail)
            .with_hint("mend the file; GET /sources says what is wrong with it"));
    };
    let source_key = definition.key.clone();
    let reader = Reader::new(definition, &api.plugin_folders, api.limits);
    Ok((Desk::new(source_key, api.store.clone(), Some(reader)), detail.view.status))
}

fn problem(desk: &Desk, trouble: Trouble) -> Problem {
    let key = desk.key();
    let status = match &trouble {
        Trouble::Document(_) => StatusCode::BAD_REQUEST,
        Trouble::Plugin(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Trouble::NotStopped(_) => StatusCode::CONFLICT,
        Trouble::Store(error) => store_status(error),
    };
    let problem =
        Problem::new(status, trouble.code(), trouble.to_string()).at(format!("/sources/{key}/state"));
    match trouble {
        Trouble::NotStopped(_) | Trouble::Store(StateError::InUse) => problem.with_hint(format!(
            "POST /sources/{key}/stop, or `pico-connectors stop {key}`; look until its status is stopped"
        )),
        Trouble::Document(_) => problem.with_hint("send what GET of this path answered"),
        Trouble::Plugin(_) => {
            problem.with_hint("take a state that this plugin, or an older build of it, saved")
        }
        Trouble::Store(_) => problem,
    }
}

fn store_status(error: &StateError) -> StatusCode {
    match error {
        StateError::InUse
        | StateError::Locked { .. }
        | StateError::Unreadable { .. }
        | StateError::ServerState { .. }
        | StateError::Fenced { .. } => StatusCode::CONFLICT,
        StateError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        StateError::Server { .. } | StateError::ServerDenies { .. } | StateError::ServerUnusable { .. } => {
            StatusCode::BAD_GATEWAY
        }
        StateError::UnknownAsked { .. }
        | StateError::Io { .. }
        | StateError::FolderOpen { .. }
        | StateError::NotRising { .. }
        | StateError::NothingFailed
        | StateError::AskedNotKept
        | StateError::NotOwner
        | StateError::Unfinished { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
