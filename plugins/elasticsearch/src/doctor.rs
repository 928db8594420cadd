//! `doctor KEY`: looks at the server without reading documents, and goes on after a failure: a person wants all of it at once.

use std::time::Duration;

use picomq_connector_sdk::Error;
use picomq_connector_sdk::doctor::{Look, answer};
use serde_json::Value;
use tokio::time::timeout;

use crate::client::Server;
use crate::position::Position;
use crate::query::{self, Field};
use crate::settings::{Order, Settings};
use crate::survey::{Survey, survey};

/// For all looks together; the engine gives up after a minute.
const PATIENCE: Duration = Duration::from_secs(40);

/// All looks, as the engine shows them.
pub(crate) async fn looks(server: &Server, settings: &Settings, position: &Position) -> Value {
    let checks = match timeout(PATIENCE, taken(server, settings, position)).await {
        Ok(checks) => checks,
        Err(_) => vec![Look::error("index", "the server took longer than 40 s")],
    };
    answer(&checks)
}

async fn taken(server: &Server, settings: &Settings, position: &Position) -> Vec<Look> {
    let field = match survey(server, settings).await {
        Ok(Survey::Field(field)) => field,
        Ok(Survey::Nothing) => {
            let detail = format!("nothing to read under index = \"{}\" yet", settings.index);
            return vec![Look::warning("index", detail).advice("see whether the pattern is right")];
        }
        Err(error) => return vec![Look::error("index", error.chain())],
    };
    let mut checks = vec![match &settings.order {
        Order::Timestamp { field: name, .. } => {
            Look::ok("index", format!("{name} is there and counted in {:?}", field.unit).to_lowercase())
        }
        Order::Sequence => Look::ok("index", "a snapshot, by sequence number"),
    }];
    checks.push(unread(server, settings, &field, position).await);
    if let Some(body) = query::without_field(settings, &field) {
        checks.push(match total(server, &body).await {
            Ok(0) => Look::ok("missing_timestamps", "every document has the field"),
            Ok(count) => Look::warning(
                "missing_timestamps",
                format!("{count} documents have no timestamp_field and are not read"),
            )
            .advice("give them one, or read them with mode = \"snapshot\""),
            Err(error) => Look::error("missing_timestamps", error.chain()),
        });
    }
    if let Some(body) = query::dated_ahead(settings, &field) {
        checks.push(match total(server, &body).await {
            Ok(0) => Look::ok("future_timestamps", "no document is dated ahead of the server's clock"),
            Ok(count) => Look::warning("future_timestamps", format!("{count} documents {}", query::AHEAD))
                .advice("see which writer's clock or field is wrong"),
            Err(error) => Look::error("future_timestamps", error.chain()),
        });
    }
    checks
}

/// How many documents lie past what was read for good.
async fn unread(server: &Server, settings: &Settings, field: &Field, position: &Position) -> Look {
    // A position in another unit is told about when the source reads.
    let floor = position.floor.as_ref().filter(|_| position.unit == Some(field.unit));
    match total(server, &query::unread(settings, field, floor)).await {
        Ok(count) => {
            let behind = count.saturating_sub(position.seen.len() as u64);
            let detail = format!("{} documents delivered, {behind} to be read", position.documents);
            Look::ok("position", detail)
        }
        Err(error) => Look::error("position", error.chain()),
    }
}

async fn total(server: &Server, body: &Value) -> Result<u64, Error> {
    let answer = server.count(body).await?;
    answer["hits"]["total"]["value"]
        .as_u64()
        .ok_or_else(|| Error::transient("the server does not say how many documents match"))
}
