//! Started calls and their completions, and what plugins say in between.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;
use tracing::Level;
use tracing::level_filters::LevelFilter;

use super::batch::Arrived;
use super::error::CommandError;
use super::library;
use crate::ffi::abi::{
    ABI, HostTable, NO_TIME, RawBytes, RawEvent, RawOutcome, RawReport, RawToken, check, level, outcome,
    report,
};
use crate::ffi::slots::Slots;
use crate::host::{HostSink, LogEvent};
use crate::report::{Check, CheckStatus, Gauge, Report};

/// The calls that were started and not completed. With [`SINKS`] the one global of the border: a completion comes
/// from foreign threads with nothing but a number.
static PENDING: Slots<Pending> = Slots::new();

/// Where the logs and reports of each instance go.
static SINKS: Slots<Arc<dyn HostSink>> = Slots::new();

/// The table every plugin is given.
pub(super) static HOST: HostTable = HostTable {
    abi: ABI,
    size: size_of::<HostTable>() as u32,
    complete: host_complete,
    log: host_log,
    report: host_report,
    max_level: host_max_level,
};

/// How a call ended, copied out of the plugin's memory.
#[derive(Debug)]
pub(super) struct Filed {
    pub(super) kind: u32,
    pub(super) text: String,
    pub(super) instance: u64,
    pub(super) batch: Option<Arrived>,
}

/// What is done with the end of a call. It runs on a foreign thread inside the plugin's call, so it only files.
pub(super) type Pending = Box<dyn FnOnce(Filed) + Send>;

/// The JSON of an answer, or why there is none.
pub(super) fn answered(filed: Result<Filed, RecvError>) -> Result<String, CommandError> {
    let filed = filed.map_err(|_| CommandError::Panicked("the plugin lost the call".to_owned()))?;
    match filed.kind {
        outcome::DONE => Ok(filed.text),
        outcome::UNKNOWN => Err(CommandError::Unknown(filed.text)),
        outcome::PANICKED => Err(CommandError::Panicked(filed.text)),
        _ => Err(CommandError::Failed(filed.text)),
    }
}

/// Makes a token for a call of `library`.
pub(super) fn expect(library: u32, pending: Pending) -> RawToken {
    RawToken { library, reserved: 0, call: PENDING.insert(pending) }
}

/// As [`expect`], with the end of the call sent on. When nobody waits any more its batch is given back.
pub(super) fn expect_one(library: u32) -> (RawToken, oneshot::Receiver<Filed>) {
    let (sender, receiver) = oneshot::channel();
    (expect(library, Box::new(move |filed| drop(sender.send(filed)))), receiver)
}

/// The sink of one instance, reachable by its number until this is dropped.
#[derive(Debug)]
pub(super) struct SinkSlot(pub(super) u64);

impl SinkSlot {
    pub(super) fn new(sink: Arc<dyn HostSink>) -> SinkSlot {
        SinkSlot(SINKS.insert(sink))
    }
}

impl Drop for SinkSlot {
    fn drop(&mut self) {
        SINKS.take(self.0);
    }
}

unsafe extern "C" fn host_complete(token: RawToken, outcome: *const RawOutcome) {
    // SAFETY: the plugin passes a whole outcome, alive for this call.
    let outcome = unsafe { &*outcome };
    contained(|| {
        let batch = library::release_of(token.library).and_then(|release| {
            // SAFETY: the plugin of this token gives its batch away with this call.
            unsafe { Arrived::new(outcome.batch, release) }
        });
        // SAFETY: the text is alive for this call.
        let text = unsafe {
            match outcome.kind {
                outcome::DONE => outcome.text.text(),
                _ => outcome.text.message(),
            }
        };
        let filed = Filed { kind: outcome.kind, text, instance: outcome.instance, batch };
        // A late or second completion finds nothing; its batch is given back here.
        if let Some(pending) = PENDING.take(token.call) {
            pending(filed);
        }
    });
}

unsafe extern "C" fn host_max_level() -> u32 {
    match LevelFilter::current().into_level() {
        None => level::OFF,
        Some(Level::ERROR) => level::ERROR,
        Some(Level::WARN) => level::WARN,
        Some(Level::INFO) => level::INFO,
        Some(Level::DEBUG) => level::DEBUG,
        Some(_) => level::TRACE,
    }
}

unsafe extern "C" fn host_log(source: u64, event: *const RawEvent) {
    // SAFETY: the plugin passes a whole event, alive for this call, and so are its texts.
    let (event, fields, target, message) = unsafe {
        let event = &*event;
        let fields: &[_] = match event.fields_count {
            0 => &[],
            count => std::slice::from_raw_parts(event.fields, count),
        };
        let fields: Vec<(String, String)> =
            fields.iter().map(|field| (field.name.message(), field.value.message())).collect();
        (event, fields, event.target.message(), event.message.message())
    };
    let level = match event.level {
        level::ERROR => Level::ERROR,
        level::WARN => Level::WARN,
        level::INFO => Level::INFO,
        level::DEBUG => Level::DEBUG,
        _ => Level::TRACE,
    };
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let event = LogEvent { level, target: &target, message: &message, fields: &fields };
    contained(|| match SINKS.get(source) {
        Some(sink) => sink.log(&event),
        None => super::sink::emit(None, &event),
    });
}

unsafe extern "C" fn host_report(source: u64, raw: *const RawReport) {
    // SAFETY: the plugin passes a whole report, alive for this call.
    let raw = unsafe { &*raw };
    // SAFETY: so are its texts.
    let text = |bytes: RawBytes| unsafe { bytes.message() };
    let report = match raw.kind {
        report::LAG_SECONDS => Report::Gauge { gauge: Gauge::LagSeconds, value: raw.value },
        report::LAG_BYTES => Report::Gauge { gauge: Gauge::LagBytes, value: raw.value },
        report::CHECK => Report::Check(Check {
            name: text(raw.name),
            status: match raw.status {
                check::OK => CheckStatus::Ok,
                check::WARN => CheckStatus::Warn,
                _ => CheckStatus::Fail,
            },
            since_ms: (raw.since_ms != NO_TIME).then_some(raw.since_ms),
            advice: text(raw.advice),
        }),
        // A kind that only a newer plugin knows.
        _ => return,
    };
    if let Some(sink) = SINKS.get(source) {
        contained(|| sink.report(report));
    }
}

/// Nothing of this side may unwind into the plugin, such as a sink that panics.
fn contained(work: impl FnOnce()) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
}
