//! How the process tells about itself: log lines and metrics. Names of metrics are those of `pico_actors::telemetry`.

mod limit;
mod logs;
mod metrics;
#[cfg_attr(not(feature = "otel"), path = "no_otlp.rs")]
mod otlp;

pub(crate) use limit::Limit;
pub(crate) use logs::{Logs, start_logs};
pub(crate) use metrics::Metrics;
pub(crate) use otlp::Otlp;
