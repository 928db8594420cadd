//! What happened lately, for `/events`: one bounded ring that every reader reads at its own pace. A reader that is
//! slower than the ring is told how many it missed; none can hold it up.

mod layer;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use pico_actors::news::{News, What};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

pub(crate) use layer::EventLayer;

/// Events that are kept.
const KEPT_MAX: usize = 1_000;

/// Bytes that are kept.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// Longest text of a field; a longer one is cut.
const TEXT_MAX: usize = 4 * 1024;

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The status of a source changed.
    Status,
    /// A batch was nacked.
    Nack,
    /// Definitions were taken up again, or refused.
    Reload,
    /// A line of the log.
    Log,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Kind; 4] = [Kind::Status, Kind::Nack, Kind::Reload, Kind::Log];

    /// Its public name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Kind::Status => "status",
            Kind::Nack => "nack",
            Kind::Reload => "reload",
            Kind::Log => "log",
        }
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// One more than that of the event before.
    pub(crate) number: u64,
    /// What kind it is.
    pub(crate) kind: Kind,
    /// The source it is about.
    pub(crate) source: Option<String>,
    /// JSON.
    pub(crate) data: String,
}

/// What a reader found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Read {
    /// In order.
    pub(crate) entries: Vec<Arc<Entry>>,
    /// Events that are not kept any more.
    pub(crate) missed: u64,
}

/// The ring. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    life: u64,
    ring: Mutex<Ring>,
    newest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    last: u64,
    bytes: usize,
    entries: VecDeque<Arc<Entry>>,
}

impl Events {
    /// An empty one.
    pub(crate) fn new() -> Events {
        let life = now_ms();
        let shared = Shared { life, ring: Mutex::default(), newest: watch::Sender::new(0) };
        Events { shared: Arc::new(shared) }
    }

    /// That of this process. One, as the log is one.
    pub(crate) fn of_process() -> Events {
        static OF_PROCESS: OnceLock<Events> = OnceLock::new();
        OF_PROCESS.get_or_init(Events::new).clone()
    }

    /// Tells apart the numbers of two runs of the daemon.
    pub(crate) fn life(&self) -> u64 {
        self.shared.life
    }

    /// Adds one; the oldest ones go when there are too many. Texts in `fields` are cut. A time is added where there is
    /// none.
    pub(crate) fn publish(&self, kind: Kind, source: Option<String>, mut fields: Map<String, Value>) {
        fields.insert("kind".to_owned(), kind.as_str().into());
        fields.entry("timestamp").or_insert_with(|| now_ms().into());
        if let Some(source) = &source {
            fields.insert("source".to_owned(), source.as_str().into());
        }
        fields.values_mut().for_each(cut);
        let data = Value::Object(fields).to_string();
        let mut ring = self.ring();
        ring.last += 1;
        let entry = Entry { number: ring.last, kind, source, data };
        ring.bytes += entry.data.len();
        ring.entries.push_back(Arc::new(entry));
        while ring.entries.len() > KEPT_MAX || ring.bytes > KEPT_BYTES_MAX {
            let Some(oldest) = ring.entries.pop_front() else { break };
            ring.bytes -= oldest.data.len();
        }
        let last = ring.last;
        drop(ring);
        self.shared.newest.send_replace(last);
    }

    /// The number of the newest one; 0 before the first.
    pub(crate) fn last(&self) -> u64 {
        self.ring().last
    }

    /// Up to `most` events after the one of this number.
    pub(crate) fn read(&self, after: u64, most: usize) -> Read {
        let ring = self.ring();
        let first = ring.entries.front().map_or(ring.last + 1, |entry| entry.number);
        let missed = first.saturating_sub(after + 1);
        let from = usize::try_from((after + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        Read { entries: ring.entries.iter().skip(from).take(most).cloned().collect(), missed }
    }

    /// Resolves once there is an event after the one of this number.
    pub(crate) async fn newer_than(&self, number: u64) {
        // The sender lives as long as this does.
        self.shared.newest.subscribe().wait_for(|newest| *newest > number).await.ok();
    }

    /// Adds the news of the sources until they end.
    pub(crate) async fn follow(self, mut news: Receiver<News>) {
        loop {
            match news.recv().await {
                Ok(one) => self.publish_news(&one),
                Err(RecvError::Lagged(missed)) => tracing::warn!(missed, "news of sources came too fast"),
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn publish_news(&self, news: &News) {
        let kind = match news.what {
            What::Status { .. } => Kind::Status,
            What::Nack { .. } => Kind::Nack,
        };
        if let Value::Object(fields) = json!(news) {
            self.publish(kind, Some(news.source.clone()), fields);
        }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.shared.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cut(value: &mut Value) {
    if let Value::String(text) = value
        && text.len() > TEXT_MAX
    {
        let end = (0..=TEXT_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(events: &Events, message: &str) {
        let fields = json!({ "message": message }).as_object().unwrap().clone();
        events.publish(Kind::Log, None, fields);
    }

    fn numbers(read: &Read) -> Vec<u64> {
        read.entries.iter().map(|entry| entry.number).collect()
    }

    #[test]
    fn a_reader_goes_on_where_it_was_and_is_told_what_it_missed() {
        let events = Events::new();
        assert_eq!(events.read(0, 10), Read::default());
        (0..5).for_each(|_| publish(&events, "x"));
        assert_eq!(numbers(&events.read(0, 3)), [1, 2, 3]);
        assert_eq!(numbers(&events.read(3, 10)), [4, 5]);
        assert_eq!(events.read(5, 10), Read::default());

        (0..KEPT_MAX).for_each(|_| publish(&events, "x"));
        let read = events.read(3, 2);
        assert_eq!((numbers(&read), read.missed), (vec![6, 7], 2));
    }

    #[test]
    fn the_ring_is_bounded_in_bytes_and_a_text_in_length() {
        let events = Events::new();
        let long = "ä".repeat(TEXT_MAX);
        (0..KEPT_MAX).for_each(|_| publish(&events, &long));
        let ring = events.ring();
        assert!(ring.bytes <= KEPT_BYTES_MAX && ring.entries.len() < KEPT_MAX);
        assert!(ring.entries.iter().all(|entry| entry.data.len() < TEXT_MAX + 100));
        let bytes: usize = ring.entries.iter().map(|entry| entry.data.len()).sum();
        assert_eq!(ring.bytes, bytes);
    }

    #[tokio::test]
    async fn a_reader_is_woken_by_the_next_event() {
        let events = Events::new();
        publish(&events, "first");
        events.newer_than(0).await;
        let waiting = tokio::spawn({
            let events = events.clone();
            async move { events.newer_than(1).await }
        });
        publish(&events, "second");
        tokio::time::timeout(std::time::Duration::from_secs(10), waiting).await.unwrap().unwrap();
    }
}
