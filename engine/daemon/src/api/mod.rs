//! The HTTP API: what people and probes may ask of a running daemon. It decides nothing: it shows what the engine
//! says and hands commands on.

mod access;
mod bodies;
mod commands;
mod configs;
mod cors;
mod events;
mod failures;
mod guard;
mod health;
mod hosts;
mod metrics;
mod openapi;
mod plugins;
mod problem;
mod process_view;
mod readiness;
mod reload;
mod server;
mod sources;
mod state;
mod stats;
mod streams;
mod tail;
#[cfg(test)]
mod tests;
mod tls;

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, StatusCode, Uri};
use axum::routing::{get, post};
use pico_config::Http;

use crate::version::VERSION;
use problem::Problem;

pub(crate) use guard::Gate;
pub(crate) use process_view::{Api, Paths};
pub(crate) use readiness::Readiness;
pub(crate) use server::Listener;
pub(crate) use streams::Streams;

/// Paths that are taken, so that metrics cannot be there.
const OWN_PATHS: [&str; 10] = [
    "/",
    "/health",
    "/ready",
    "/stats",
    "/plugins",
    "/sources",
    "/events",
    "/reload",
    "/openapi.json",
    "/definitions/validate",
];

/// Whether metrics may be served at the path that was configured.
///
/// # Errors
/// Something else is served there.
pub(crate) fn check_endpoint(http: &Http) -> Result<(), String> {
    let path = http.metrics_endpoint.as_str();
    let is_taken = OWN_PATHS.contains(&path) || path.starts_with("/sources/");
    if http.metrics_enabled && is_taken {
        return Err(format!("metrics cannot be served at `{path}`, where the API serves something else"));
    }
    Ok(())
}

/// All routes, behind the gate; preflights of browsers are answered before it.
pub(crate) fn router(api: Api, gate: Gate, http: &Http) -> Router {
    let metrics_endpoint = api.metrics.is_some().then(|| api.metrics_endpoint.clone());
    // Without the checks that refuse a leading `:`, which is a legal path.
    let mut router = Router::new()
        .without_v07_checks()
        .route("/", get(banner))
        .route("/health", get(health::health))
        .route("/ready", get(health::ready))
        .route("/stats", get(stats::stats))
        .route("/plugins", get(plugins::plugins))
        .route("/openapi.json", get(openapi::openapi))
        .route("/events", get(events::events))
        .route("/sources", get(sources::list))
        .route("/sources/{key}", get(sources::one))
        .route("/sources/{key}/tail", get(tail::tail))
        .route("/sources/{key}/commands/{name}", post(commands::command))
        .route("/sources/{key}/restart", post(sources::restart))
        .route("/sources/{key}/pause", post(sources::pause))
        .route("/sources/{key}/resume", post(sources::resume))
        .route("/sources/{key}/stop", post(sources::stop))
        .route("/sources/{key}/start", post(sources::start))
        .merge(reload::routes())
        .merge(state::routes())
        .merge(configs::routes());
    if let Some(path) = metrics_endpoint {
        router = router.route(&path, get(metrics::metrics));
    }
    let router = router
        .fallback(unknown_route)
        .method_not_allowed_fallback(wrong_method)
        .with_state(Arc::new(api))
        .layer(axum::middleware::from_fn_with_state(gate, guard::guard));
    match &http.cors {
        Some(cors) => router.layer(cors::layer(cors)),
        None => router,
    }
}

async fn banner() -> String {
    format!("pico-connectors {VERSION}\n")
}

async fn unknown_route(uri: Uri) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "http.unknown_route", "there is nothing at this path")
        .at(uri.path())
        .with_hint("GET /openapi.json lists the paths")
}

async fn wrong_method(method: Method, uri: Uri) -> Problem {
    let detail = format!("this path does not take {method}");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "http.wrong_method", detail)
        .at(uri.path())
        .with_hint("GET /openapi.json lists what each path takes")
}
