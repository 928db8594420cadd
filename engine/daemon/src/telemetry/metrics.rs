//! The Prometheus side of the metrics: recorder, HELP texts, buckets, and what the process says about itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use pico_actors::telemetry::{HELP, Kind, STAGE_BUCKETS, STAGE_DURATION};

use crate::error::Error;
use crate::process::{Started, Usage};

/// Without upkeep every sample of a histogram is kept until somebody scrapes.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// What renders `/metrics`.
#[derive(Clone)]
pub(crate) struct Metrics {
    handle: PrometheusHandle,
    started: Started,
}

impl Metrics {
    /// Makes the recorder the process's own, so that every metric lands in it. Once a process.
    ///
    /// # Errors
    /// Another recorder is in place.
    pub(crate) fn install(started: Started) -> Result<Metrics, Error> {
        let failed =
            |cause| Error::runtime("metrics.not_installed", "metrics cannot be recorded").because(cause);
        let handle = builder()?.install_recorder().map_err(failed)?;
        for (name, kind, help) in HELP {
            match kind {
                Kind::Counter => metrics::describe_counter!(*name, *help),
                Kind::Gauge => metrics::describe_gauge!(*name, *help),
                Kind::Histogram => metrics::describe_histogram!(*name, *help),
            }
        }
        Ok(Metrics { handle, started })
    }

    /// Keeps histograms small for as long as the process runs.
    pub(crate) async fn upkeep(self) {
        let mut ticks = tokio::time::interval(UPKEEP_EVERY);
        loop {
            ticks.tick().await;
            self.handle.run_upkeep();
        }
    }

    /// Everything in Prometheus' text format, the process's own figures as of now. Of sources only these: the recorder
    /// keeps the series of a source that was removed, so that its counters go on should it come back.
    pub(crate) fn render(&self, sources: &BTreeSet<String>) -> String {
        let mut text = of_sources(&self.handle.render(), sources);
        text.push_str(&process_text(Usage::now(), self.started));
        text
    }
}

/// Without the series of sources that are not there.
fn of_sources(text: &str, sources: &BTreeSet<String>) -> String {
    const LABEL: &str = "connector_key=\"";
    let is_there = |line: &&str| {
        let key = line.split_once(LABEL).and_then(|(_, rest)| rest.split_once('"')).map(|(key, _)| key);
        line.starts_with('#') || key.is_none_or(|key| sources.contains(key))
    };
    text.lines().filter(is_there).flat_map(|line| [line, "\n"]).collect()
}

fn builder() -> Result<PrometheusBuilder, Error> {
    let matcher = Matcher::Full(STAGE_DURATION.to_owned());
    PrometheusBuilder::new()
        .set_buckets_for_metric(matcher, STAGE_BUCKETS)
        .map_err(|cause| Error::runtime("metrics.no_buckets", "the histogram has no buckets").because(cause))
}

/// The names every Prometheus client gives these figures. By hand, since the facade's counters hold whole numbers.
fn process_text(usage: Usage, started: Started) -> String {
    let whole = |figure: u64| figure.to_string();
    let lines = [
        (
            "process_cpu_seconds_total",
            "counter",
            "CPU time, user and system, in seconds.",
            usage.cpu_seconds.to_string(),
        ),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Memory that is in RAM, in bytes.",
            whole(usage.resident_bytes),
        ),
        ("process_open_fds", "gauge", "Open file descriptors.", whole(usage.open_files)),
        ("process_threads", "gauge", "Threads.", whole(usage.threads)),
        (
            "process_start_time_seconds",
            "gauge",
            "When the process started, Unix time in seconds.",
            started.since_epoch().as_secs_f64().to_string(),
        ),
    ];
    lines.iter().fold(String::new(), |mut text, (name, kind, help, value)| {
        write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n\n")
            .expect("a String takes all text");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_figure_has_help_type_and_value() {
        let usage = Usage { cpu_seconds: 1.25, resident_bytes: 7, ..Usage::default() };
        let text = process_text(usage, Started::now());
        assert!(text.starts_with(
            "# HELP process_cpu_seconds_total CPU time, user and system, in seconds.\n\
             # TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 1.25\n\n"
        ));
        assert!(text.contains("\nprocess_resident_memory_bytes 7\n"));
    }

    #[test]
    fn series_of_a_removed_source_are_not_shown_b144() {
        let text = "# HELP a x\na{connector_key=\"one\"} 1\na{x=\"y\",connector_key=\"two\"} 2\nb 3\n";
        let shown = of_sources(text, &BTreeSet::from(["two".to_owned()]));
        assert_eq!(shown, "# HELP a x\na{x=\"y\",connector_key=\"two\"} 2\nb 3\n");
    }

    #[test]
    fn a_stage_is_a_histogram_with_our_buckets_not_a_summary() {
        let recorder = builder().unwrap().build_recorder();
        let handle = recorder.handle();
        metrics::with_local_recorder(&recorder, || {
            metrics::histogram!(STAGE_DURATION, "stage" => "poll").record(0.0002)
        });
        let text = handle.render();
        assert!(text.contains(&format!("# TYPE {STAGE_DURATION} histogram")), "{text}");
        assert!(text.contains("le=\"0.00025\"} 1"), "{text}");
        assert!(text.contains("le=\"0.0001\"} 0"), "{text}");
    }
}
