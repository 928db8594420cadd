//! `/stats`: the process and its sources in figures, under the names that users of the existing runtimes know.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use pico_actors::status::{SourceView, Status, Totals};
use serde::Serialize;

use super::process_view::{Api, Paths};
use crate::version::{VERSION, Version, sortable};

/// Times are microseconds, memory is bytes, CPU is per cent since the last look: 100 is one core for the process, all
/// cores for the machine.
#[derive(Debug, Serialize)]
pub(super) struct Stats {
    connectors_runtime_version: &'static str,
    connectors_runtime_version_semver: u64,
    #[serde(flatten)]
    version: Version,
    process_id: u32,
    cpu_usage: f64,
    total_cpu_usage: f64,
    memory_usage: u64,
    total_memory: u64,
    available_memory: u64,
    threads: u64,
    run_time: u64,
    start_time: u64,
    sources_total: usize,
    sources_running: usize,
    paths: Paths,
    warnings: Vec<String>,
    connectors: Vec<Connector>,
}

#[derive(Debug, Serialize)]
struct Connector {
    key: String,
    name: String,
    connector_type: &'static str,
    /// Of the plugin; null while its library is not loaded.
    version: Option<String>,
    version_semver: Option<u64>,
    status: Status,
    enabled: bool,
    #[serde(flatten)]
    totals: Totals,
}

/// The process and all its sources.
pub(super) async fn stats(State(api): State<Arc<Api>>) -> Json<Stats> {
    let sources = api.engine.list().await;
    let totals: BTreeMap<String, Totals> = api.engine.totals().await.into_iter().collect();
    let (usage, percent) = api.meter.read();
    let elapsed = api.started.elapsed();
    let enabled = || sources.iter().filter(|source| source.enabled);
    Json(Stats {
        connectors_runtime_version: VERSION,
        connectors_runtime_version_semver: sortable(VERSION),
        version: Version::current(),
        process_id: std::process::id(),
        cpu_usage: percent.process,
        total_cpu_usage: percent.machine,
        memory_usage: usage.resident_bytes,
        total_memory: usage.total_bytes,
        available_memory: usage.available_bytes,
        threads: usage.threads,
        run_time: elapsed.as_micros() as u64,
        start_time: api.started.since_epoch().as_micros() as u64,
        sources_total: enabled().count(),
        sources_running: enabled().filter(|source| source.status == Status::Running).count(),
        paths: api.paths.clone(),
        warnings: api.warnings.clone(),
        connectors: sources.iter().map(|source| connector(&api, source, &totals)).collect(),
    })
}

fn connector(api: &Api, source: &SourceView, totals: &BTreeMap<String, Totals>) -> Connector {
    let version = api.plugins.version_of(&source.path);
    Connector {
        key: source.key.clone(),
        name: source.name.clone(),
        connector_type: "source",
        version_semver: version.as_deref().map(sortable),
        version,
        status: source.status,
        enabled: source.enabled,
        totals: totals.get(&source.key).copied().unwrap_or_default(),
    }
}
