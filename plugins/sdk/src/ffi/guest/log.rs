//! Logs of a plugin on their way to the engine.
//!
//! A library has `tracing` globals of its own. The first opening puts a subscriber there that forwards each event to
//! the source whose code is running, or to none in particular. Spans do not cross; fields of an event do.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

use super::border;
use crate::host::LogEvent;
use crate::scope;

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
        metadata.is_event() && border::level_number(*metadata.level()) <= border::max_level()
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
        match scope::current() {
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
