//! What a running daemon says of itself and of its sources.

use serde::Deserialize;
use serde_json::Value;

use super::look::{Grade, Look};
use crate::ask::Detail;
use crate::client::{Client, escaped};
use crate::error::{Error, chain};
use crate::leave::Exit;
use crate::version::VERSION;

#[derive(Debug, Clone, Deserialize)]
struct Stats {
    connectors_runtime_version: String,
    warnings: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Listed {
    key: String,
}

/// Everything; no daemon at all is worth knowing and no fault.
pub(super) async fn looks(url: &str, key: Option<&str>) -> Vec<Look> {
    let client = match Client::new(url) {
        Ok(client) => client,
        Err(error) => return vec![of_error("daemon", &error)],
    };
    let stats: Stats = match client.get("/stats").await {
        Ok(stats) => stats,
        Err(error) if error.code() == "client.no_daemon" => {
            return vec![Look::skipped("daemon", format!("none answers at {url}"))];
        }
        Err(error) => return vec![of_error("daemon", &error)],
    };
    let mut looks = vec![version(url, &stats.connectors_runtime_version)];
    looks.extend(stats.warnings.into_iter().map(|said| Look::warning("daemon", said)));
    looks.push(match client.get::<Value>("/ready").await {
        Ok(_) => Look::ok("ready", "definitions are loaded and the broker was reached"),
        Err(error) => of_error("ready", &error),
    });
    match keys(&client, key).await {
        Ok(keys) => {
            for key in keys {
                looks.extend(source(&client, &key).await);
            }
        }
        Err(error) => looks.push(of_error("sources", &error)),
    }
    looks
}

fn version(url: &str, version: &str) -> Look {
    match version == VERSION {
        true => Look::ok("daemon", format!("pico-connectors {version} at {url}")),
        false => Look::warning("daemon", format!("{url} is pico-connectors {version}, this is {VERSION}"))
            .advice("use the same version on both sides"),
    }
}

async fn keys(client: &Client, key: Option<&str>) -> Result<Vec<String>, Error> {
    match key {
        Some(key) => Ok(vec![key.to_owned()]),
        None => {
            let listed: Vec<Listed> = client.get("/sources").await?;
            Ok(listed.into_iter().map(|source| source.key).collect())
        }
    }
}

/// Its last error, then each check that is not well; one line where all is.
async fn source(client: &Client, key: &str) -> Vec<Look> {
    let detail: Detail = match client.get(&format!("/sources/{}", escaped(key))).await {
        Ok(detail) => detail,
        Err(error) => return vec![of_error(key, &error)],
    };
    let mut looks = Vec::new();
    for check in detail.checks.iter().filter(|check| !matches!(check.status.as_str(), "ok" | "waiting")) {
        let name = format!("{key}: {}", check.name);
        let look = match check.status.as_str() {
            "error" => Look::error(name, "failed", Exit::Runtime),
            _ => Look::warning(name, "needs a look"),
        };
        looks.push(look.maybe_advice(Some(check.advice.clone()).filter(|advice| !advice.is_empty())));
    }
    let has_failed = looks.iter().any(|look| look.status == Grade::Error);
    match detail.error() {
        Some(error) if detail.status == "error" && !has_failed => {
            looks.insert(0, Look::error(key, error, Exit::Runtime));
        }
        Some(error) => looks.insert(0, Look::warning(key, error)),
        None if looks.is_empty() => looks.push(Look::ok(key, detail.status.clone())),
        None => {}
    }
    looks
}

fn of_error(name: &str, error: &Error) -> Look {
    Look::error(name, chain(error), error.exit()).maybe_advice(error.hint().map(str::to_owned))
}
