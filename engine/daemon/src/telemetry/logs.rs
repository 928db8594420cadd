//! Log lines: text or JSON, one filter for all of them. Spans (source, batch) come from the actors.

use pico_config::{Env, Finding, Location, LogFormat, Severity};
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::{Limit, Otlp};
use crate::error::Error;
use crate::events::{EventLayer, Events};
use crate::output::Stream;

/// Directives such as `info,pico_broker=debug`.
pub(crate) const LOG_VARIABLE: &str = "PICOMQ_CONNECTORS_LOG";

/// How the log is kept.
pub(crate) struct Logs {
    format: LogFormat,
    /// What is logged when the variable says nothing.
    default: LevelFilter,
    writer: BoxMakeWriter,
    is_coloured: bool,
}

impl Logs {
    /// Lines on standard error.
    pub(crate) fn to_stderr(format: LogFormat, default: LevelFilter) -> Logs {
        let is_coloured = Stream::Stderr.is_fancy();
        Logs { format, default, writer: BoxMakeWriter::new(std::io::stderr), is_coloured }
    }

    /// Lines for people, elsewhere.
    pub(crate) fn to<W>(writer: W, default: LevelFilter) -> Logs
    where
        W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
    {
        Logs { format: LogFormat::Text, default, writer: BoxMakeWriter::new(writer), is_coloured: false }
    }
}

/// Starts logging. Once a process. Whoever has a runtime lets what is given back [say](Limit::say) what was held back.
///
/// # Errors
/// The variable holds directives that cannot be understood.
pub(crate) fn start_logs(logs: Logs, env: &Env, otlp: Option<&Otlp>) -> Result<Limit, Error> {
    let filter = || filter(logs.default, env.get(LOG_VARIABLE).unwrap_or_default());
    let lines = fmt::layer().with_writer(logs.writer).with_ansi(logs.is_coloured);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match logs.format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let limit = Limit::default();
    let both = lines.and_then(EventLayer::new(Events::of_process()));
    let mut layers = vec![both.with_filter(limit.clone()).with_filter(filter()?).boxed()];
    if let Some(otlp) = otlp {
        layers.extend(otlp.layers(filter()?));
    }
    tracing_subscriber::registry().with(layers).init();
    Ok(limit)
}

/// The actor library opens a span for every actor, which says nothing beside our own; a directive brings it back.
const QUIET: &str = "ractor=warn";

fn filter(default: LevelFilter, directives: &str) -> Result<EnvFilter, Error> {
    EnvFilter::builder().parse(format!("{default},{QUIET},{directives}")).map_err(|cause| {
        let location = Location::Variable(LOG_VARIABLE.to_owned());
        let finding = Finding::new("config.bad_log_filter", Severity::Error, location, cause.to_string())
            .with_hint(
                "levels are error, warn, info, debug, trace; `info,pico_broker=debug` sets one crate apart",
            );
        Error::Config(vec![finding])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_taken_and_nonsense_is_refused_by_name() {
        assert_eq!(filter(LevelFilter::INFO, "").unwrap().max_level_hint(), Some(LevelFilter::INFO));
        assert!(filter(LevelFilter::INFO, "warn,pico_actors=debug").is_ok());
        let error = filter(LevelFilter::INFO, "pico_actors=loud").unwrap_err();
        assert!(error.to_string().contains(LOG_VARIABLE), "{error}");
    }
}
