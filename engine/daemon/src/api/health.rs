//! For probes: `/health` says whether the process serves, `/ready` whether it may be sent work.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde_json::{Value, json};

use super::access::Caller;
use super::problem::Problem;
use super::process_view::Api;

/// Always 200: a failing source must never make an orchestrator restart the process. Which sources fail is told to
/// those who have a key.
pub(super) async fn health(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
) -> Json<pico_actors::status::Health> {
    let mut health = api.engine.health().await;
    if !caller.is_known() {
        health.degraded.clear();
    }
    Json(health)
}

/// 200, or 503 with everything that stands in the way.
pub(super) async fn ready(State(api): State<Arc<Api>>) -> Result<Json<Value>, Problem> {
    let reasons = api.readiness.reasons();
    if reasons.is_empty() {
        return Ok(Json(json!({ "status": "ready" })));
    }
    let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "engine.not_ready", reasons.join("; "));
    Err(problem.with_reasons(reasons))
}
