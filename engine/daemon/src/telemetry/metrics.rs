//! The Prometheus side of the metrics: recorder, HELP texts, buckets, and what the process says about itself.

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

    /// Everything in Prometheus' text format, the process's own figures as of now.
    pub(crate) fn render(&self) -> String {
        let mut text = self.handle.render();
        text.push_str(&process_text(Usage::now(), self.started));
        text
    }
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
