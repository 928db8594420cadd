//! From a checked config.toml to the engine's configuration.

use std::path::Path;

use crate::checked::{Checked, Fields};
use crate::context::{Context, Draft};
use crate::engine::{Connectors, Engine, Limits, LogFormat, Logging, Plugins, Shutdown, StateConfig};
use crate::path_in::path_in;
use crate::read_http::read_http;
use crate::read_http_state::read_http_state;
use crate::read_kafka::read_kafka;
use crate::read_supervision::read_supervision;
use crate::telemetry::read_telemetry;

/// `folder` is the absolute folder of the file. Keys that fail keep their default, so that all findings come at once.
pub(crate) fn read_engine(cx: &mut Context<'_>, fields: &Fields, folder: &Path) -> Engine {
    let base = Engine::defaults(folder);
    let supervision = read_supervision(cx, fields, &base.supervision);
    let section = |name: &str| fields.table(name);
    Engine {
        kafka: section("kafka").map_or_else(|| base.kafka.clone(), |table| read_kafka(cx, table, folder)),
        state: section("state").map_or_else(|| base.state.clone(), |table| read_state(cx, table, folder)),
        connectors: section("connectors").map_or(base.connectors, |table| read_connectors(cx, table, folder)),
        plugins: section("plugins").map_or(base.plugins, |table| read_plugins(table, folder)),
        http: section("http").map_or(base.http, |table| read_http(cx, table, folder)),
        logging: section("logging").map_or(base.logging, read_logging),
        telemetry: section("telemetry").map_or(base.telemetry, |table| read_telemetry(cx, table)),
        shutdown: section("shutdown")
            .and_then(|table| table.time("grace"))
            .map_or(base.shutdown, |grace| Shutdown { grace }),
        limits: section("limits").map_or(base.limits, |table| read_limits(cx, table)),
        supervision,
        file: base.file,
    }
}

fn read_state(cx: &mut Context<'_>, table: &Fields, folder: &Path) -> StateConfig {
    let path = path_in(cx, table, "path", folder).unwrap_or_else(|| folder.join("local_state"));
    let http = table.table("http");
    let place = table.get("storage").map_or(&table.place, |item| &item.place);
    if table.word("storage") == Some("http") {
        // A finding was filed where there is none: the engine is refused, so what stands here is never used.
        return read_http_state(cx, http, place)
            .map_or(StateConfig::File { path }, |http| StateConfig::Http(Box::new(http)));
    }
    StateConfig::File { path }
}

fn read_connectors(cx: &mut Context<'_>, table: &Fields, folder: &Path) -> Connectors {
    Connectors {
        config_dir: path_in(cx, table, "config_dir", folder).unwrap_or_else(|| folder.join("sources")),
        watch: table.flag("watch").unwrap_or(true),
        writable: table.flag("writable").unwrap_or(true),
    }
}

fn read_plugins(table: &Fields, folder: &Path) -> Plugins {
    let mut directories = Vec::new();
    for item in table.list("directories") {
        if let Checked::Text(text) = &item.value {
            directories.push(folder.join(&text.resolved));
        }
    }
    Plugins { directories }
}

fn read_logging(table: &Fields) -> Logging {
    Logging { format: if table.word("format") == Some("json") { LogFormat::Json } else { LogFormat::Text } }
}

fn read_limits(cx: &mut Context<'_>, table: &Fields) -> Limits {
    let base = Limits::default();
    let limits = Limits {
        record_bytes: table.number("record_bytes").unwrap_or(base.record_bytes),
        batch_records: table.number_u32("batch_records").unwrap_or(base.batch_records),
        batch_bytes: table.number("batch_bytes").unwrap_or(base.batch_bytes),
        in_flight_bytes: table.number("in_flight_bytes").unwrap_or(base.in_flight_bytes),
        in_flight_bytes_total: table.number("in_flight_bytes_total").unwrap_or(base.in_flight_bytes_total),
        private_urls: table.flag("private_urls").unwrap_or(base.private_urls),
    };
    let rising = [
        ("record_bytes", limits.record_bytes),
        ("batch_bytes", limits.batch_bytes),
        ("in_flight_bytes", limits.in_flight_bytes),
        ("in_flight_bytes_total", limits.in_flight_bytes_total),
    ];
    for pair in rising.windows(2) {
        let ((lower, small), (upper, large)) = (pair[0], pair[1]);
        if small > large {
            let place = table.get(lower).or(table.get(upper)).map_or(&table.place, |item| &item.place);
            let reason = format!("`{lower}` is {small}, more than `{upper}`, {large}");
            cx.add(place, Draft::error("config.out_of_range", reason));
        }
    }
    limits
}
