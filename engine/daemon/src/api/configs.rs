//! Versions of definitions and what runs of them.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use pico_config::Finding;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::problem::Problem;
use super::process_view::Api;
use super::reload::reloads;
use crate::reload::{NotDone, Version};

/// The routes of this file.
pub(super) fn routes() -> Router<Arc<Api>> {
    Router::new()
        .route("/sources/{key}/configs", get(list).post(store).delete(forget))
        .route("/sources/{key}/configs/active", put(activate).get(active))
        .route("/sources/{key}/configs/plugin", get(plugin))
        .route("/sources/{key}/configs/{version}", get(one))
        .route("/sources/{key}/transforms", get(transforms))
}

type Key = Result<Path<String>, PathRejection>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chosen {
    version: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rendered {
    format: Option<String>,
}

/// All versions, each with whether it is active.
async fn list(State(api): State<Arc<Api>>, key: Key) -> Result<Json<Vec<Value>>, Problem> {
    let versions = reloads(&api)?.versions(&readable(key)?).await?;
    Ok(Json(versions.into_iter().map(rendered).collect()))
}

async fn one(
    State(api): State<Arc<Api>>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Value>, Problem> {
    let Path((key, version)) = path.map_err(|rejection| bad_request(rejection.body_text()))?;
    let number: u64 =
        version.parse().map_err(|_not_a_number| bad_request(format!("{version:?} is no version")))?;
    let versions = reloads(&api)?.versions(&key).await?;
    let found = versions.into_iter().find(|found| found.version == number);
    let found = found.ok_or_else(|| NotDone::Unknown(format!("`{key}` has no version {number}")))?;
    Ok(Json(rendered(found)))
}

/// What runs, which is not what the pointer names until it was reloaded.
async fn active(State(api): State<Arc<Api>>, key: Key) -> Result<Json<Value>, Problem> {
    Ok(Json(rendered(reloads(&api)?.in_force(&readable(key)?).await?)))
}

async fn activate(
    State(api): State<Arc<Api>>,
    key: Key,
    chosen: Result<Json<Chosen>, JsonRejection>,
) -> Result<StatusCode, Problem> {
    let Json(chosen) = chosen.map_err(|rejection| bad_request(rejection.body_text()))?;
    reloads(&api)?.activate(&readable(key)?, chosen.version).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn store(
    State(api): State<Arc<Api>>,
    key: Key,
    sent: Result<Json<Map<String, Value>>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let Json(sent) = sent.map_err(|rejection| bad_request(rejection.body_text()))?;
    Ok(Json(rendered(reloads(&api)?.store(&readable(key)?, sent).await?)))
}

async fn forget(
    State(api): State<Arc<Api>>,
    key: Key,
    chosen: Result<Query<Chosen>, QueryRejection>,
) -> Result<StatusCode, Problem> {
    let Query(chosen) = chosen.map_err(|rejection| bad_request(rejection.body_text()))?;
    reloads(&api)?.forget(&readable(key)?, chosen.version).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The settings of the plugin, secrets hidden, in the format asked for or that of the definition.
async fn plugin(
    State(api): State<Arc<Api>>,
    key: Key,
    format: Result<Query<Rendered>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(Rendered { format }) = format.map_err(|rejection| bad_request(rejection.body_text()))?;
    let mut shown = reloads(&api)?.in_force(&readable(key)?).await?.shown;
    let of_file = shown.get("plugin_config_format").and_then(Value::as_str).unwrap_or("toml").to_owned();
    let table = shown.remove("plugin_config").unwrap_or_else(|| json!({}));
    match format.unwrap_or(of_file).as_str() {
        "json" => Ok(Json(table).into_response()),
        // JSON is YAML.
        "yaml" => Ok(text("application/yaml", serde_json::to_string_pretty(&table))),
        "toml" => Ok(text("application/toml", toml::to_string(&table))),
        "text" => Ok(text("text/plain; charset=utf-8", toml::to_string(&table))),
        other => Err(bad_request(format!("`{other}` is no format: json, yaml, toml or text"))),
    }
}

async fn transforms(State(api): State<Arc<Api>>, key: Key) -> Result<Json<Vec<Value>>, Problem> {
    let shown = reloads(&api)?.in_force(&readable(key)?).await?.shown;
    let of_type = |kind: &str, config: Value| json!({ "type": kind, "config": config });
    let list = match shown.get("transforms") {
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| of_type(item["type"].as_str().unwrap_or_default(), item.clone()))
            .collect(),
        Some(Value::Object(tables)) => {
            tables.iter().map(|(kind, config)| of_type(kind, config.clone())).collect()
        }
        Some(_) | None => Vec::new(),
    };
    Ok(Json(list))
}

fn text<E: std::fmt::Display>(kind: &'static str, text: Result<String, E>) -> Response {
    let text = text.unwrap_or_else(|error| format!("# {error}\n"));
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response()
}

fn rendered(version: Version) -> Value {
    let Version { version, is_active, mut shown } = version;
    shown.insert("version".to_owned(), version.into());
    shown.insert("active".to_owned(), is_active.into());
    Value::Object(shown)
}

fn readable(key: Key) -> Result<String, Problem> {
    key.map(|Path(key)| key).map_err(|rejection| bad_request(rejection.body_text()))
}

fn bad_request(reason: String) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "http.bad_request", reason)
        .with_hint("GET /openapi.json says what this path takes")
}

impl From<NotDone> for Problem {
    fn from(not_done: NotDone) -> Problem {
        match not_done {
            NotDone::ReadOnly => Problem::new(
                StatusCode::FORBIDDEN,
                "configs.read_only",
                "definitions are not written through the API here",
            )
            .with_hint("change the files, or set [connectors] writable = true and restart"),
            NotDone::Unknown(reason) => {
                Problem::new(StatusCode::NOT_FOUND, "source_config_not_found", reason)
                    .with_hint("GET /sources/{key}/configs lists the versions")
            }
            NotDone::Invalid(findings) => {
                let code = findings.first().map_or("invalid_configuration", |finding| finding.code);
                let reasons: Vec<String> = findings.iter().map(Finding::summary).collect();
                let hint = findings.iter().find_map(|finding| finding.hint.clone());
                Problem::new(StatusCode::BAD_REQUEST, code, reasons.join("; "))
                    .with_reasons(reasons)
                    .with_hint(
                        hint.unwrap_or_else(|| "mend what the reasons name; nothing was stored".to_owned()),
                    )
            }
            NotDone::Active => Problem::new(StatusCode::CONFLICT, "configs.active", "the version is active")
                .with_hint("make another one active first"),
            NotDone::Files(finding) => {
                let hint = finding.hint.clone().unwrap_or_else(|| {
                    "look at the folder of the definitions and its rights, then ask again".to_owned()
                });
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, finding.code, Finding::summary(&finding))
                    .with_hint(hint)
            }
            NotDone::Ending => Problem::ending(),
        }
    }
}
