//! Lines of the log as events.

use std::fmt::Debug;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::{Events, Kind};

/// Span of the actors around everything that is about one source, and its field.
const SOURCE_SPAN: &str = "source";
const KEY_FIELD: &str = "key";

/// Field of a line that names its source itself.
const SOURCE_FIELD: &str = "source";

/// Puts every line that passes the filter of the log into the ring.
pub(crate) struct EventLayer {
    events: Events,
}

impl EventLayer {
    /// Into this ring.
    pub(crate) fn new(events: Events) -> EventLayer {
        EventLayer { events }
    }
}

/// The key of the source a span is about.
struct SourceOfSpan(String);

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for EventLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().name() != SOURCE_SPAN {
            return;
        }
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let (Some(span), Some(Value::String(key))) = (context.span(id), fields.0.remove(KEY_FIELD)) {
            span.extensions_mut().insert(SourceOfSpan(key));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut fields = fields.0;
        let named = match fields.remove(SOURCE_FIELD) {
            Some(Value::String(key)) => Some(key),
            Some(_) | None => None,
        };
        let of_span = || {
            let mut spans = context.event_scope(event)?;
            spans.find_map(|span| span.extensions().get::<SourceOfSpan>().map(|source| source.0.clone()))
        };
        let source = named.or_else(of_span);
        fields.insert("level".to_owned(), event.metadata().level().as_str().to_ascii_lowercase().into());
        fields.insert("target".to_owned(), event.metadata().target().into());
        self.events.publish(Kind::Log, source, fields);
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn a_line_knows_its_source_from_its_span_or_its_field() {
        let events = Events::new();
        let subscriber = tracing_subscriber::registry().with(EventLayer::new(events.clone()));
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("source", key = "orders");
            span.in_scope(|| tracing::warn!(nacks = 3, "batch nacked"));
            tracing::info!(source = "clicks", "command taken");
            tracing::info!("starting");
        });
        let read = events.read(0, 10);
        let shown: Vec<Value> =
            read.entries.iter().map(|entry| serde_json::from_str(&entry.data).unwrap()).collect();
        assert_eq!(shown[0]["source"], "orders");
        assert_eq!(
            (&shown[0]["message"], &shown[0]["nacks"], &shown[0]["level"]),
            (&"batch nacked".into(), &3.into(), &"warn".into())
        );
        assert_eq!(
            (&shown[1]["source"], read.entries[1].source.as_deref()),
            (&"clicks".into(), Some("clicks"))
        );
        assert_eq!((&shown[2]["source"], &shown[2]["kind"]), (&Value::Null, &"log".into()));
    }
}
