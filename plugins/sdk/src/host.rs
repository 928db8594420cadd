//! The engine as a source sees it, and the same thing as the engine implements it.

use std::fmt;
use std::sync::Arc;

use tracing::Level;

use crate::report::{Check, Gauge, Report};

/// Where logs and reports of one source go. The engine implements it; calls come from any thread, also after the
/// source was destroyed, and must neither wait nor panic.
pub trait HostSink: Send + Sync {
    /// The source said something.
    fn log(&self, event: &LogEvent<'_>);

    /// A gauge or a check of the source changed.
    fn report(&self, report: Report);
}

/// One log event of a plugin.
#[derive(Clone, Copy, Debug)]
pub struct LogEvent<'a> {
    /// How much it matters.
    pub level: Level,
    /// The module that speaks.
    pub target: &'a str,
    /// Fixed text.
    pub message: &'a str,
    /// Names and values, in the order written.
    pub fields: &'a [(&'a str, &'a str)],
}

/// The engine as a source sees it. Logs need no handle: the macros of `tracing` reach the engine from every method of
/// the source, and from tasks it spawned with [`scope`](Host::scope).
#[derive(Clone)]
pub struct Host {
    sink: Arc<dyn HostSink>,
}

impl Host {
    pub(crate) fn new(sink: Arc<dyn HostSink>) -> Host {
        Host { sink }
    }

    /// Tells a gauge, in its unit.
    pub fn gauge(&self, gauge: Gauge, value: f64) {
        self.sink.report(Report::Gauge { gauge, value });
    }

    /// Tells how a check stands; it replaces the earlier one of that name.
    pub fn check(&self, check: Check) {
        self.sink.report(Report::Check(check));
    }

    pub(crate) fn sink(&self) -> &dyn HostSink {
        &*self.sink
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Host")
    }
}
