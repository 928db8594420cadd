//! `doctor KEY`: looks at the server without reading documents, and goes on after a failure: a person wants all of it at once.

use std::time::Duration;

use picomq_connector_sdk::Error;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::client::Server;
use crate::position::Position;
use crate::query::{self, Field};
use crate::settings::{Order, Settings};
use crate::survey::{Survey, survey};

/// The name under which the engine asks.
pub(crate) const COMMAND: &str = "doctor";

/// For all looks together; the engine gives up after a minute.
const PATIENCE: Duration = Duration::from_secs(40);

/// All looks, as the engine shows them.
pub(crate) async fn looks(server: &Server, settings: &Settings, position: &Position) -> Value {
    let checks = match timeout(PATIENCE, taken(server, settings, position)).await {
        Ok(checks) => checks,
        Err(_) => vec![failed("index", "the server took longer than 40 s", None)],
    };
    json!({ "checks": checks })
}

async fn taken(server: &Server, settings: &Settings, position: &Position) -> Vec<Value> {
    let field = match survey(server, settings).await {
        Ok(Survey::Field(field)) => field,
        Ok(Survey::Nothing) => {
            let detail = format!("nothing to read under index = \"{}\" yet", settings.index);
            return vec![look("index", "warning", &detail, Some("see whether the pattern is right"))];
        }
        Err(error) => return vec![failed("index", &error.chain(), None)],
    };
    let mut checks = vec![match &settings.order {
        Order::Timestamp { field: name, .. } => look(
            "index",
            "ok",
            &format!("{name} is there and counted in {:?}", field.unit).to_lowercase(),
            None,
        ),
        Order::Sequence => look("index", "ok", "a snapshot, by sequence number", None),
    }];
    checks.push(unread(server, settings, &field, position).await);
    if let Some(body) = query::without_field(settings, &field) {
        checks.push(match total(server, &body).await {
            Ok(0) => look("missing_timestamps", "ok", "every document has the field", None),
            Ok(count) => look(
                "missing_timestamps",
                "warning",
                &format!("{count} documents have no timestamp_field and are not read"),
                Some("give them one, or read them with mode = \"snapshot\""),
            ),
            Err(error) => failed("missing_timestamps", &error.chain(), None),
        });
    }
    if let Some(body) = query::dated_ahead(settings, &field) {
        checks.push(match total(server, &body).await {
            Ok(0) => {
                look("future_timestamps", "ok", "no document is dated ahead of the server's clock", None)
            }
            Ok(count) => look(
                "future_timestamps",
                "warning",
                &format!("{count} documents {}", query::AHEAD),
                Some("see which writer's clock or field is wrong"),
            ),
            Err(error) => failed("future_timestamps", &error.chain(), None),
        });
    }
    checks
}

/// How many documents lie past what was read for good.
async fn unread(server: &Server, settings: &Settings, field: &Field, position: &Position) -> Value {
    // A position in another unit is told about when the source reads.
    let floor = position.floor.as_ref().filter(|_| position.unit == Some(field.unit));
    match total(server, &query::unread(settings, field, floor)).await {
        Ok(count) => {
            let behind = count.saturating_sub(position.seen.len() as u64);
            let detail = format!("{} documents delivered, {behind} to be read", position.documents);
            look("position", "ok", &detail, None)
        }
        Err(error) => failed("position", &error.chain(), None),
    }
}

async fn total(server: &Server, body: &Value) -> Result<u64, Error> {
    let answer = server.count(body).await?;
    answer["hits"]["total"]["value"]
        .as_u64()
        .ok_or_else(|| Error::transient("the server does not say how many documents match"))
}

fn failed(name: &str, detail: &str, advice: Option<&str>) -> Value {
    look(name, "error", detail, advice)
}

fn look(name: &str, status: &str, detail: &str, advice: Option<&str>) -> Value {
    json!({ "name": name, "status": status, "detail": detail, "advice": advice })
}
