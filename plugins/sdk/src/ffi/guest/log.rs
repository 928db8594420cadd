//! Logs of a plugin on their way to the engine.
//!
//! A library has `tracing` globals of its own. The first opening puts a subscriber there that forwards each event to
//! the source whose code is running, or to none in particular. Spans do not cross; fields of an event do.

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use super::border;
use crate::ffi::abi::level;
use crate::host::{Host, LogEvent};

thread_local! {
    static CURRENT: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// Runs `task` as code of the source behind `host`.
pub(crate) fn scoped<F: Future>(host: Host, task: F) -> Scoped<F> {
    Scoped { host, task: Box::pin(task) }
}

/// A future whose every step is the source's.
pub(crate) struct Scoped<F> {
    host: Host,
    task: Pin<Box<F>>,
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _inside = Inside::enter(self.host.clone());
        self.task.as_mut().poll(context)
    }
}

/// Puts the former scope back, also when the step panics.
struct Inside(Option<Host>);

impl Inside {
    fn enter(host: Host) -> Inside {
        Inside(CURRENT.replace(Some(host)))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Makes this library's `tracing` forward to the engine; later calls change nothing. Where the plugin is linked
/// into a program that has a subscriber already, that one stays.
pub(super) fn install() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| drop(tracing::subscriber::set_global_default(Forward)));
}

struct Forward;

impl Subscriber for Forward {
    /// The engine's level may change while it runs, so each event asks again.
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if metadata.is_event() { Interest::sometimes() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && number_of(*metadata.level()) <= border::max_level()
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let fields: Vec<(&str, &str)> =
            text.fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let metadata = event.metadata();
        let event = LogEvent {
            level: *metadata.level(),
            target: metadata.target(),
            message: &text.message,
            fields: &fields,
        };
        let host = CURRENT.with_borrow(Clone::clone);
        match host {
            Some(host) => host.sink().log(&event),
            None => border::log_of_no_source(&event),
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The number that crosses for a level.
pub(super) fn number_of(level: Level) -> u32 {
    match level {
        Level::ERROR => level::ERROR,
        Level::WARN => level::WARN,
        Level::INFO => level::INFO,
        Level::DEBUG => level::DEBUG,
        Level::TRACE => level::TRACE,
    }
}

#[derive(Default)]
struct Text {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl Text {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        if field.name() == "message" {
            let _ = self.message.write_fmt(value);
        } else {
            self.fields.push((field.name(), value.to_string()));
        }
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.add(field, format_args!("{value}"));
    }
}
