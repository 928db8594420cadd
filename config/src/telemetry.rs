//! `[telemetry]`: OpenTelemetry by OTLP, for a build that has it.

use crate::checked::Fields;
use crate::context::{Context, Draft};

/// `[telemetry]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telemetry {
    /// Whether anything is sent (no).
    pub enabled: bool,
    /// `service.name` of everything that is sent (picomq-connectors).
    pub service_name: String,
    /// Where log lines go: an http or https URL, `/v1/logs` is added when it has no path.
    pub logs: String,
    /// Where a span for each acked batch goes; likewise with `/v1/traces`.
    pub traces: String,
}

/// The port that OTLP over HTTP has by its specification.
const ENDPOINT: &str = "http://localhost:4318";
const LOGS: &str = "/v1/logs";
const TRACES: &str = "/v1/traces";

impl Default for Telemetry {
    fn default() -> Telemetry {
        Telemetry {
            enabled: false,
            service_name: "picomq-connectors".to_owned(),
            logs: format!("{ENDPOINT}{LOGS}"),
            traces: format!("{ENDPOINT}{TRACES}"),
        }
    }
}

pub(crate) fn read_telemetry(cx: &mut Context<'_>, table: &Fields) -> Telemetry {
    let logs = read_exporter(cx, table.table("logs"), LOGS);
    let traces = read_exporter(cx, table.table("traces"), TRACES);
    let base = Telemetry::default();
    let service_name = table.text("service_name").map_or(base.service_name, |(name, _)| name.to_owned());
    let enabled = table.flag("enabled").unwrap_or(base.enabled);
    Telemetry { enabled, service_name, logs, traces }
}

fn read_exporter(cx: &mut Context<'_>, table: Option<&Fields>, path: &str) -> String {
    let endpoint = table.and_then(|table| table.text("endpoint"));
    let Some((url, place)) = endpoint else { return format!("{ENDPOINT}{path}") };
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    match rest.filter(|rest| !rest.is_empty() && !rest.contains('@')) {
        Some(rest) if rest.trim_end_matches('/').contains('/') => url.to_owned(),
        Some(_) => format!("{}{path}", url.trim_end_matches('/')),
        None => {
            let reason = "the endpoint is no http or https URL, or holds a user";
            cx.add(place, Draft::error("config.bad_url", reason).hint(format!("such as {ENDPOINT}")));
            ENDPOINT.to_owned()
        }
    }
}
