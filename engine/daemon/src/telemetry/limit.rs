//! Warnings and errors that repeat are held back: ten of one place and one source in ten seconds are written, the
//! rest is counted and said once. A source that fails a thousand times a second must not fill a disk.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt::{Debug, Write as _};
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;

/// Lines of one kind that are written in one window.
const BURST: u32 = 10;
/// Length of a window, and how often it is said what was held back.
pub(crate) const WINDOW: Duration = Duration::from_secs(10);
/// Kinds that are told apart at once; past this a new kind is written without being counted.
const KINDS_MAX: usize = 4096;
/// Target of the summary, which is never held back itself.
const TARGET: &str = "pico_connectors::held_back";

/// Target of what plugins log.
const PLUGINS: &str = "plugin";

/// One place in the code, and one source.
type Kind = (usize, u64);

/// What was held back of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldBack {
    lines: u32,
    target: &'static str,
    message: String,
    source: Option<String>,
}

/// Counts lines; shared by the filter and the task that says what was held back.
#[derive(Clone, Default)]
pub(crate) struct Limit {
    windows: Arc<Mutex<HashMap<Kind, Window>>>,
}

struct Window {
    began: Instant,
    lines: u32,
    first: HeldBack,
}

impl Limit {
    /// Says every ten seconds what was held back. Ends with the process.
    pub(crate) async fn say(self) {
        loop {
            tokio::time::sleep(WINDOW).await;
            for HeldBack { lines, target, message, source } in self.take(Instant::now()) {
                let source = source.as_deref();
                tracing::warn!(target: TARGET, lines, of = target, source, message, "lines like this were held back");
            }
        }
    }

    /// Whether a line of this kind is written.
    fn admits(&self, kind: Kind, now: Instant, describe: impl FnOnce() -> HeldBack) -> bool {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= KINDS_MAX && !windows.contains_key(&kind) {
            return true;
        }
        let window =
            windows.entry(kind).or_insert_with(|| Window { began: now, lines: 0, first: describe() });
        window.lines += 1;
        window.lines <= BURST
    }

    /// Ends the windows whose time is over; gives what they held back.
    fn take(&self, now: Instant) -> Vec<HeldBack> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let over = windows.extract_if(|_, window| now.duration_since(window.began) >= WINDOW);
        over.filter(|(_, window)| window.lines > BURST)
            .map(|(_, window)| HeldBack { lines: window.lines - BURST, ..window.first })
            .collect()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Filter<S> for Limit {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, context: &Context<'_, S>) -> bool {
        let metadata = event.metadata();
        if *metadata.level() > Level::WARN || metadata.target() == TARGET {
            return true;
        }
        let mut said = Said::default();
        event.record(&mut said);
        let span = context.event_scope(event).and_then(|scope| scope.from_root().next());
        let mut source = DefaultHasher::new();
        (span.map(|span| span.id().into_u64()), &said.source).hash(&mut source);
        // All lines of all plugins come from one place: their text tells them apart.
        if metadata.target() == PLUGINS {
            said.message.hash(&mut source);
        }
        let place = std::ptr::from_ref(metadata).cast::<()>() as usize;
        self.admits((place, source.finish()), Instant::now(), || HeldBack {
            lines: 0,
            target: metadata.target(),
            message: said.message,
            source: said.source,
        })
    }
}

/// The fields that tell lines apart.
#[derive(Default)]
struct Said {
    message: String,
    source: Option<String>,
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => write!(self.message, "{value:?}").expect("a String takes all text"),
            "source" => self.source = Some(format!("{value:?}")),
            _ => {}
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            "source" => self.source = Some(value.to_owned()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use picomq_connector_sdk::ffi::host::{LogEvent, emit};
    use tracing_subscriber::fmt::MakeWriter;
    use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Lines {
        type Writer = Lines;

        fn make_writer(&'a self) -> Lines {
            self.clone()
        }
    }

    fn logged(work: impl FnOnce()) -> (Limit, Vec<String>) {
        let (lines, limit) = (Lines::default(), Limit::default());
        let layer =
            tracing_subscriber::fmt::layer().with_ansi(false).without_time().with_writer(lines.clone());
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(limit.clone()));
        tracing::subscriber::with_default(subscriber, work);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        (limit, text.lines().map(str::to_owned).collect())
    }

    fn fail(number: u32) {
        tracing::warn!(number, "it failed");
    }

    #[test]
    fn the_eleventh_line_of_a_kind_is_held_back_and_counted() {
        let (limit, lines) = logged(|| (0..25).for_each(fail));
        assert_eq!(lines.len(), 10, "{lines:?}");
        assert_eq!(limit.take(Instant::now()), [], "the window is not over");
        let held = limit.take(Instant::now() + WINDOW);
        assert_eq!(held.len(), 1);
        assert_eq!((held[0].lines, held[0].message.as_str()), (15, "it failed"));
        assert_eq!(limit.take(Instant::now() + WINDOW), [], "it is said once");
    }

    #[test]
    fn sources_do_not_take_each_others_lines() {
        let (_, lines) = logged(|| {
            for key in ["orders", "clicks"] {
                let span = tracing::info_span!("source", key);
                span.in_scope(|| (0..25).for_each(fail));
            }
        });
        assert_eq!(lines.iter().filter(|line| line.contains("orders")).count(), 10);
        assert_eq!(lines.iter().filter(|line| line.contains("clicks")).count(), 10);
    }

    #[test]
    fn plugins_are_told_apart_by_what_they_say_and_for_whom() {
        let (_, lines) = logged(|| {
            for _ in 0..12 {
                for (source, message) in [("a", "slow"), ("a", "lost"), ("b", "slow")] {
                    let event = LogEvent { level: Level::ERROR, target: "module", message, fields: &[] };
                    emit(Some(source), &event);
                }
            }
        });
        assert_eq!(lines.len(), 30, "{lines:?}");
    }

    #[test]
    fn what_is_no_complaint_is_never_held_back() {
        let (_, lines) = logged(|| (0..50).for_each(|number| tracing::info!(number, "batch acked")));
        assert_eq!(lines.len(), 50);
    }
}
