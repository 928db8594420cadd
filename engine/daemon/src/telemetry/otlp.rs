//! OpenTelemetry by OTLP over HTTP: log lines as they are, and one span for each acked batch with a child for each
//! stage. Sent in the background by threads of the SDK; a collector that is down costs what it misses, nothing else.

use std::time::{Duration, SystemTime};

use opentelemetry::trace::{Span as _, SpanBuilder, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_otlp::{LogExporter, Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use pico_config::Engine;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{EnvFilter, LevelFilter, Targets};
use tracing_subscriber::layer::{Context as LayerContext, Layer};
use tracing_subscriber::registry::Registry;

use crate::error::Error;
use crate::version::VERSION;

/// Target of the events that become spans.
const BATCH: &str = "picomq_connectors::batch";
/// A collector that does not answer in this time is given up for that time.
const TIMEOUT: Duration = Duration::from_secs(3);
/// The stages of a batch with the field that holds each length, in their order.
const STAGES: [(&str, &str); 5] = [
    ("poll", "poll_us"),
    ("decode", "decode_us"),
    ("prepare", "prepare_us"),
    ("broker_send", "broker_send_us"),
    ("state_save", "state_save_us"),
];

/// What is sent, and by whom.
pub(crate) struct Otlp {
    logs: SdkLoggerProvider,
    traces: SdkTracerProvider,
}

impl Otlp {
    /// None while it is switched off.
    ///
    /// # Errors
    /// An endpoint that no client can be made for.
    pub(crate) fn start(engine: &Engine) -> Result<Option<Otlp>, Error> {
        let telemetry = &engine.telemetry;
        if !telemetry.enabled {
            return Ok(None);
        }
        // The client is built with TLS although no endpoint may need it.
        pico_state::outbound::install_cryptography();
        let failed =
            |cause| Error::environment("telemetry.not_started", "no telemetry can be sent").because(cause);
        let resource = Resource::builder()
            .with_service_name(telemetry.service_name.clone())
            .with_attribute(KeyValue::new("service.version", VERSION))
            .build();
        let logs = LogExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
        let logs = logs.with_endpoint(&telemetry.logs).with_timeout(TIMEOUT).build().map_err(failed)?;
        let traces = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
        let traces = traces.with_endpoint(&telemetry.traces).with_timeout(TIMEOUT).build().map_err(failed)?;
        let logs =
            SdkLoggerProvider::builder().with_resource(resource.clone()).with_batch_exporter(logs).build();
        let traces = SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(traces).build();
        Ok(Some(Otlp { logs, traces }))
    }

    /// What listens to the log; `filter` is that of the log lines.
    pub(crate) fn layers(&self, filter: EnvFilter) -> Vec<Box<dyn Layer<Registry> + Send + Sync>> {
        let lines = OpenTelemetryTracingBridge::new(&self.logs).with_filter(filter);
        let batches = Batches { tracer: self.traces.tracer("pico-connectors") };
        let batches = batches.with_filter(Targets::new().with_target(BATCH, LevelFilter::TRACE));
        vec![lines.boxed(), batches.boxed()]
    }

    /// Sends what is left. Blocks, for as long as the collector takes, within its timeout.
    pub(crate) fn flush(&self) {
        for failed in [self.logs.force_flush().err(), self.traces.force_flush().err()].into_iter().flatten() {
            tracing::warn!(error = %failed, "the last telemetry was not sent");
        }
    }
}

/// Turns the event that ends a batch into its span.
struct Batches {
    tracer: SdkTracer,
}

impl<S: Subscriber> Layer<S> for Batches {
    fn on_event(&self, event: &Event<'_>, _: LayerContext<'_, S>) {
        let mut batch = Batch::default();
        event.record(&mut batch);
        batch.send(&self.tracer, SystemTime::now());
    }
}

/// The fields of that event.
#[derive(Debug, Default)]
struct Batch {
    key: String,
    polled: u64,
    sent: u64,
    total: Duration,
    stages: [Duration; STAGES.len()],
}

impl Batch {
    fn send(&self, tracer: &SdkTracer, ended: SystemTime) {
        let [poll, ..] = self.stages;
        let began = ended - self.total - poll;
        let attributes = vec![
            KeyValue::new("connector_key", self.key.clone()),
            KeyValue::new("batch_size", i64::try_from(self.polled).unwrap_or(i64::MAX)),
            KeyValue::new("sent_count", i64::try_from(self.sent).unwrap_or(i64::MAX)),
        ];
        let whole = SpanBuilder::from_name("batch").with_start_time(began).with_attributes(attributes);
        let parent = Context::new().with_span(tracer.build_with_context(whole, &Context::new()));
        let mut at = began;
        for ((name, _), length) in STAGES.iter().zip(self.stages) {
            let stage = SpanBuilder::from_name(*name).with_start_time(at);
            at += length;
            tracer.build_with_context(stage, &parent).end_with_timestamp(at);
        }
        parent.span().end_with_timestamp(ended);
    }
}

impl Visit for Batch {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "batch_size" => self.polled = value,
            "sent_count" => self.sent = value,
            "total_us" => self.total = Duration::from_micros(value),
            name => {
                if let Some(at) = STAGES.iter().position(|(_, field)| *field == name) {
                    self.stages[at] = Duration::from_micros(value);
                }
            }
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "connector_key" {
            value.clone_into(&mut self.key);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}
