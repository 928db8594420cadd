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

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::http::{Method, StatusCode, Uri};
use axum::routing::{get, post};
use pico_actors::handle::Engine;
use pico_config::{Http, Limits, Plugins};
use pico_state::AnyStore;
use serde::Serialize;

use crate::events::Events;
use crate::plugins::Catalog;
use crate::process::{Meter, Started};
use crate::reload::Reloads;
use crate::telemetry::Metrics;
use crate::version::VERSION;
use problem::Problem;

pub(crate) use access::KEY_HEADER;
pub(crate) use guard::Gate;
pub(crate) use readiness::Readiness;
pub(crate) use server::Listener;
pub(crate) use streams::Streams;

/// What the handlers look at.
pub(crate) struct Api {
    /// The sources.
    pub(crate) engine: Engine,
    /// Where checkpoints are kept.
    pub(crate) store: AnyStore,
    /// Where the plugin of a state is found.
    pub(crate) plugin_folders: Plugins,
    /// What an instance that looks at a state is opened with.
    pub(crate) limits: Limits,
    /// Whether the process may be sent work.
    pub(crate) readiness: Readiness,
    /// None: metrics are switched off.
    pub(crate) metrics: Option<Metrics>,
    /// Path of the metrics.
    pub(crate) metrics_endpoint: String,
    /// When the process began.
    pub(crate) started: Started,
    /// CPU shares between two looks.
    pub(crate) meter: Meter,
    /// Where the process reads and writes.
    pub(crate) paths: Paths,
    /// What libraries can be found.
    pub(crate) plugins: Catalog,
    /// None: definitions are not taken up again.
    pub(crate) reloads: Option<Reloads>,
    /// What happened lately.
    pub(crate) events: Events,
    /// Places of clients that listen.
    pub(crate) streams: Streams,
    /// What is unsafe about the configuration, for `/stats`.
    pub(crate) warnings: Vec<String>,
}

/// Absolute paths, so that nobody has to guess which folder a daemon means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Paths {
    /// The configuration; null when built-in defaults are used.
    pub(crate) config: Option<PathBuf>,
    /// Folder of the definitions.
    pub(crate) definitions: PathBuf,
    /// Folder of the checkpoints, or origin of the server that keeps them.
    pub(crate) state: String,
    /// Folders in which plugins are looked for, in this order.
    pub(crate) plugins: Vec<PathBuf>,
}

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
    Problem::new(StatusCode::NOT_FOUND, "http.unknown_route", "there is nothing at this path").at(uri.path())
}

async fn wrong_method(method: Method, uri: Uri) -> Problem {
    let detail = format!("this path does not take {method}");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "http.wrong_method", detail).at(uri.path())
}
