//! From a checked config.toml to the engine's configuration.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::checked::{Checked, Fields};
use crate::context::{Context, Draft, Place};
use crate::read_kafka::read_kafka;
use crate::read_supervision::read_supervision;
use crate::{Connectors, Engine, Http, Limits, LogFormat, Logging, Plugins, Shutdown, StateConfig};

/// `folder` is the absolute folder of the file. Keys that fail keep their default, so that all findings come at once.
pub(crate) fn read_engine(cx: &mut Context<'_>, fields: &Fields, folder: &Path) -> Engine {
    let base = Engine::defaults(folder);
    let supervision = read_supervision(cx, fields, &base.supervision);
    let section = |name: &str| fields.table(name);
    if let Some(telemetry) = section("telemetry") {
        not_enabled(cx, telemetry, "take it out; metrics are served at http.metrics.endpoint");
    }
    Engine {
        kafka: section("kafka").map_or_else(|| base.kafka.clone(), |table| read_kafka(cx, table, folder)),
        state: section("state").map_or_else(|| base.state.clone(), |table| read_state(cx, table, folder)),
        connectors: section("connectors").map_or(base.connectors, |table| read_connectors(cx, table, folder)),
        plugins: section("plugins").map_or(base.plugins, |table| read_plugins(table, folder)),
        http: section("http").map_or(base.http, |table| read_http(cx, table)),
        logging: section("logging").map_or(base.logging, read_logging),
        shutdown: section("shutdown")
            .and_then(|table| table.time("grace"))
            .map_or(base.shutdown, |grace| Shutdown { grace }),
        limits: section("limits").map_or(base.limits, |table| read_limits(cx, table)),
        supervision,
        file: base.file,
    }
}

/// `enabled` of something that is not built.
fn not_enabled(cx: &mut Context<'_>, table: &Fields, instead: &str) {
    if let Some(item) = table.get("enabled").filter(|_| table.flag("enabled") == Some(true)) {
        let reason = format!("{} = true is not built yet", item.place.path);
        cx.add(&item.place, Draft::error("config.not_yet", reason).hint(instead));
    }
}

/// A path of the file, absolute; an empty one is refused.
pub(crate) fn path_in(cx: &mut Context<'_>, table: &Fields, name: &str, folder: &Path) -> Option<PathBuf> {
    let (text, place) = table.text(name)?;
    if text.is_empty() {
        cx.add(place, Draft::error("config.empty", format!("`{name}` is empty")));
        return None;
    }
    Some(folder.join(text))
}

fn read_state(cx: &mut Context<'_>, table: &Fields, folder: &Path) -> StateConfig {
    let path = path_in(cx, table, "path", folder).unwrap_or_else(|| folder.join("local_state"));
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

fn read_http(cx: &mut Context<'_>, table: &Fields) -> Http {
    let base = Http::default();
    let enabled = table.flag("enabled").unwrap_or(base.enabled);
    if let Some((key, place)) = table.text("api_key")
        && !key.is_empty()
    {
        let hint = "leave it empty and keep http.address on loopback";
        cx.add(place, Draft::error("config.not_yet", "`api_key` is not built yet").hint(hint));
    }
    if let Some(cors) = table.table("cors") {
        not_enabled(cx, cors, "take it out; serve pages from the API's own origin through a proxy");
    }
    if let Some(tls) = table.table("tls") {
        not_enabled(cx, tls, "take it out; let a proxy in front speak TLS");
    }
    let metrics = table.table("metrics");
    let metrics_endpoint =
        metrics.and_then(|metrics| read_endpoint(cx, metrics)).unwrap_or(base.metrics_endpoint);
    Http {
        enabled,
        address: table.text("address").map_or(base.address, |(text, place)| {
            if enabled {
                check_address(cx, text, place);
            }
            text.to_owned()
        }),
        metrics_enabled: metrics.and_then(|metrics| metrics.flag("enabled")).unwrap_or(base.metrics_enabled),
        metrics_endpoint,
    }
}

fn read_endpoint(cx: &mut Context<'_>, metrics: &Fields) -> Option<String> {
    let (text, place) = metrics.text("endpoint")?;
    let is_path = text.len() > 1 && text.starts_with('/') && text.chars().all(|c| c.is_ascii_graphic());
    if !is_path || text.contains(['?', '#', '{', '}', '*']) {
        let reason = "`endpoint` must be a path that begins with `/`, such as \"/metrics\"";
        cx.add(place, Draft::error("config.bad_endpoint", reason));
        return None;
    }
    Some(text.to_owned())
}

/// `host:port`, and loopback: without API keys whoever reaches the port commands the engine.
fn check_address(cx: &mut Context<'_>, text: &str, place: &Place) {
    let parts = text.rsplit_once(':').filter(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    let Some((host, _)) = parts else {
        let draft = Draft::error("config.bad_address", "`address` must be host:port");
        cx.add(place, draft.hint("write address = \"127.0.0.1:8081\""));
        return;
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_loopback =
        bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if !is_loopback {
        let reason = format!(
            "`address` is `{text}`, beyond loopback: without API keys, which are not built yet, \
                              whoever reaches it commands the engine"
        );
        let hint = "write address = \"127.0.0.1:8081\" and reach it through a proxy that checks callers";
        cx.add(place, Draft::error("config.not_loopback", reason).hint(hint));
    }
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
