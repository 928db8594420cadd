//! The engine's side of the border, as seen from the plugin.

use std::sync::OnceLock;

use tracing::Level;

use crate::ffi::abi::{HostTable, NO_TIME, RawBytes, RawEvent, RawField, RawReport, check, level, report};
use crate::host::{HostSink, LogEvent};
use crate::report::{Check, CheckStatus, Gauge, Report};

/// The table given with the first call; one process has one engine.
static HOST: OnceLock<&'static HostTable> = OnceLock::new();

/// Logs that belong to no source.
const NO_SOURCE: u64 = 0;

/// Remembers how to reach the engine.
pub(super) fn remember(host: &'static HostTable) {
    let _ = HOST.set(host);
}

/// How to reach the engine; `None` before the first call that says so.
pub(super) fn host() -> Option<&'static HostTable> {
    HOST.get().copied()
}

/// The most verbose level that anybody listens to.
pub(super) fn max_level() -> u32 {
    // SAFETY: a function of the static host table, without arguments.
    host().map_or(level::OFF, |host| unsafe { (host.max_level)() })
}

/// Hands over an event from outside every source.
pub(super) fn log_of_no_source(event: &LogEvent<'_>) {
    if let Some(host) = host() {
        log(host, NO_SOURCE, event);
    }
}

/// One source's way to the engine.
pub(super) struct BorderSink {
    host: &'static HostTable,
    source: u64,
}

impl BorderSink {
    pub(super) fn new(host: &'static HostTable, source: u64) -> BorderSink {
        BorderSink { host, source }
    }
}

impl HostSink for BorderSink {
    fn log(&self, event: &LogEvent<'_>) {
        log(self.host, self.source, event);
    }

    fn report(&self, report: Report) {
        let raw = raw_report(&report);
        // SAFETY: the host's table is static; `report` outlives the call.
        unsafe { (self.host.report)(self.source, &raw) };
    }
}

fn log(host: &HostTable, source: u64, event: &LogEvent<'_>) {
    let fields: Vec<RawField> = event
        .fields
        .iter()
        .map(|(name, value)| RawField {
            name: RawBytes::of(name.as_bytes()),
            value: RawBytes::of(value.as_bytes()),
        })
        .collect();
    let raw = RawEvent {
        size: size_of::<RawEvent>() as u32,
        level: level_number(event.level),
        target: RawBytes::of(event.target.as_bytes()),
        message: RawBytes::of(event.message.as_bytes()),
        fields: fields.as_ptr(),
        fields_count: fields.len(),
    };
    // SAFETY: the host's table is static; `event` and `fields` outlive the call.
    unsafe { (host.log)(source, &raw) };
}

fn raw_report(report: &Report) -> RawReport {
    let mut raw = RawReport {
        size: size_of::<RawReport>() as u32,
        kind: report::CHECK,
        value: 0.0,
        name: RawBytes::NONE,
        status: check::OK,
        reserved: 0,
        since_ms: NO_TIME,
        advice: RawBytes::NONE,
    };
    match report {
        Report::Gauge { gauge, value } => {
            raw.value = *value;
            raw.kind = match gauge {
                Gauge::LagSeconds => report::LAG_SECONDS,
                Gauge::LagBytes => report::LAG_BYTES,
            };
        }
        Report::Check(Check { name, status, since_ms, advice }) => {
            raw.name = RawBytes::of(name.as_bytes());
            raw.advice = RawBytes::of(advice.as_bytes());
            raw.since_ms = since_ms.unwrap_or(NO_TIME);
            raw.status = match status {
                CheckStatus::Ok => check::OK,
                CheckStatus::Warn => check::WARN,
                CheckStatus::Fail => check::FAIL,
            };
        }
    }
    raw
}

/// The number that crosses for a level.
pub(super) fn level_number(level: Level) -> u32 {
    match level {
        Level::ERROR => level::ERROR,
        Level::WARN => level::WARN,
        Level::INFO => level::INFO,
        Level::DEBUG => level::DEBUG,
        Level::TRACE => level::TRACE,
    }
}
