//! Reloading, and what it would change.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::post;
use axum::{Json, Router};
use pico_config::Finding;
use serde::Deserialize;

use super::problem::Problem;
use super::process_view::Api;
use crate::reload::{Plan, Refused, Reloads, Texts, Trigger, named};

/// Files of one plan that a client sends.
const FILES_MAX: usize = 10_000;

/// The routes of this file.
pub(super) fn routes() -> Router<Arc<Api>> {
    Router::new().route("/reload", post(reload)).route("/definitions/validate", post(validate))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirmed {
    /// Of the plan that was looked at.
    plan: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    files: Vec<SentFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentFile {
    file: String,
    text: String,
}

/// Takes the files up. Answered once every step was begun; `GET /sources` shows what came of them.
async fn reload(
    State(api): State<Arc<Api>>,
    confirmed: Result<Query<Confirmed>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Plan>, Problem> {
    let Query(confirmed) = confirmed.map_err(|rejection| {
        Problem::new(StatusCode::BAD_REQUEST, "http.bad_query", rejection.body_text())
            .with_hint("POST /reload or POST /reload?plan=HASH")
    })?;
    Ok(Json(reloads(&api)?.reload(Trigger::Api, confirmed.plan).await?))
}

/// What a reload would change: as the folder is, with one definition (a body of TOML) put into it, or with all of it
/// replaced (a body of JSON: `{"files": [{"file", "text"}]}`). Changes nothing.
async fn validate(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Plan>, Problem> {
    Ok(Json(reloads(&api)?.plan(texts(&headers, &body)?).await?))
}

fn texts(headers: &HeaderMap, body: &[u8]) -> Result<Texts, Problem> {
    let bad = |reason: String| {
        Problem::new(StatusCode::BAD_REQUEST, "http.bad_body", reason).with_hint(
            "send nothing, a definition as TOML, or {\"files\": [{\"file\": …, \"text\": …}]} as application/json",
        )
    };
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if body.is_empty() {
        return Ok(Texts::Files);
    }
    if kind.starts_with("application/json") {
        let sent: Sent = serde_json::from_slice(body).map_err(|cause| bad(cause.to_string()))?;
        if sent.files.len() > FILES_MAX {
            return Err(bad(format!("more than {FILES_MAX} files")));
        }
        return Ok(Texts::All(named(sent.files.into_iter().map(|sent| (sent.file, sent.text)).collect())));
    }
    let text = std::str::from_utf8(body).map_err(|cause| bad(format!("the body is not UTF-8: {cause}")))?;
    Ok(Texts::One(text.to_owned()))
}

pub(super) fn reloads(api: &Api) -> Result<&Reloads, Problem> {
    api.reloads.as_ref().ok_or_else(|| {
        Problem::new(
            StatusCode::CONFLICT,
            "reload.not_here",
            "this process does not take up changed definitions",
        )
        .with_hint("`dev` runs what it was started with; `run` reloads")
    })
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Problem {
        match refused {
            Refused::Unreadable(finding) => {
                Problem::new(StatusCode::CONFLICT, finding.code, Finding::summary(&finding))
                    .with_hint("everything runs on as it is; mend the folder and reload again")
            }
            Refused::Outdated { now } => {
                let detail = format!("something else runs or is wanted by now: the plan is {}", now.hash);
                Problem::new(StatusCode::CONFLICT, "reload.plan_outdated", detail)
                    .with_hint("look at the plan again and confirm that one")
            }
            Refused::Ending => Problem::ending(),
        }
    }
}
