//! Prometheus' text format.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::problem::Problem;
use super::process_view::Api;

const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Everything that is counted.
pub(super) async fn metrics(State(api): State<Arc<Api>>) -> Result<Response, Problem> {
    let metrics = api.metrics.as_ref().ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "http.metrics_off", "metrics are switched off")
            .with_hint("[http] metrics.enabled = true")
    })?;
    api.engine.set_gauges().await;
    let sources = api.engine.list().await.into_iter().map(|source| source.key).collect();
    Ok(([(header::CONTENT_TYPE, TEXT_FORMAT)], metrics.render(&sources)).into_response())
}
