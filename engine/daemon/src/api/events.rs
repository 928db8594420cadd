//! `/events`: what happens, as it happens, to the sources and in the log.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::response::sse::Event;
use serde::Deserialize;
use serde_json::json;

use super::problem::Problem;
use super::process_view::Api;
use super::streams::{self, Outlet};
use crate::events::{Entry, Events, Kind};

/// Events read from the ring at once.
const READ_MAX: usize = 64;

/// Where a client says what it has seen last.
const LAST_SEEN: &str = "last-event-id";

/// What is wanted of them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Kinds, with commas; all when absent.
    kind: Option<String>,
    /// Only what is about this source.
    source: Option<String>,
    /// So many events before now come first.
    last: Option<u16>,
    /// False: the stream ends with what there is now.
    follow: Option<bool>,
}

/// The events from now on, or from after the one that was seen last.
pub(super) async fn events(
    State(api): State<Arc<Api>>,
    wanted: Result<Query<Wanted>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Query(wanted) = wanted.map_err(|rejection| Problem::bad_query(&rejection.body_text()))?;
    let filter = Filter::new(&wanted)?;
    let until = if wanted.follow == Some(false) { api.events.last() } else { u64::MAX };
    let events = api.events.clone();
    let seen = headers.get(LAST_SEEN).and_then(|value| value.to_str().ok());
    let begin = begin(&events, seen, wanted.last.unwrap_or(0));
    streams::open(&api.streams, &api.readiness, |outlet| write(outlet, events, filter, (begin, until)))
}

/// After which event to begin. What was seen in another run of the daemon says nothing about this one: all that is kept
/// is sent.
fn begin(events: &Events, seen: Option<&str>, last: u16) -> u64 {
    let (life, number) = match seen.and_then(|seen| seen.split_once('-')) {
        Some((life, number)) => (u64::from_str_radix(life, 16).ok(), number.parse::<u64>().ok()),
        None => return events.last().saturating_sub(u64::from(last)),
    };
    match (life == Some(events.life()), number) {
        (true, Some(number)) => number.min(events.last()),
        (false, _) | (true, None) => 0,
    }
}

struct Filter {
    kinds: Vec<Kind>,
    source: Option<String>,
}

impl Filter {
    fn new(wanted: &Wanted) -> Result<Filter, Problem> {
        let Some(text) = &wanted.kind else {
            return Ok(Filter { kinds: Kind::ALL.to_vec(), source: wanted.source.clone() });
        };
        let kind = |word: &str| {
            Kind::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| {
                Problem::bad_query("`kind` is one or more of status, nack, reload, log, with commas between")
            })
        };
        let kinds: Result<Vec<Kind>, Problem> = text.split(',').map(kind).collect();
        Ok(Filter { kinds: kinds?, source: wanted.source.clone() })
    }

    fn lets_through(&self, entry: &Entry) -> bool {
        let is_of =
            |key: &String| entry.source.as_ref().is_some_and(|source| source.eq_ignore_ascii_case(key));
        self.kinds.contains(&entry.kind) && self.source.as_ref().is_none_or(is_of)
    }
}

/// From after one event up to another.
async fn write(outlet: Arc<Outlet>, events: Events, filter: Filter, (begin, until): (u64, u64)) {
    let mut seen = begin;
    loop {
        let read = events.read(seen, READ_MAX);
        if read.missed > 0 && !outlet.tell("skipped", &json!({ "events": read.missed })).await {
            return;
        }
        seen = read.entries.last().map_or(seen + read.missed, |entry| entry.number);
        for entry in read.entries.iter().filter(|entry| filter.lets_through(entry)) {
            let id = format!("{:x}-{}", events.life(), entry.number);
            let event = Event::default().id(id).event(entry.kind.as_str()).data(&entry.data);
            if !outlet.send(event).await {
                return;
            }
        }
        if seen >= until {
            outlet.tell("end", &json!({ "reason": "there are no more" })).await;
            return;
        }
        events.newer_than(seen).await;
    }
}

impl Problem {
    /// The part of the URL after the question mark cannot be used.
    pub(super) fn bad_query(detail: &str) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "http.bad_query", detail)
            .with_hint("GET /openapi.json says what each path takes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_begins_where_it_was_unless_the_daemon_was_started_again() {
        let events = Events::new();
        (0..5).for_each(|_| events.publish(Kind::Log, None, serde_json::Map::new()));
        let id = |number: u64| format!("{:x}-{number}", events.life());
        assert_eq!(begin(&events, None, 0), 5);
        assert_eq!(begin(&events, None, 2), 3);
        assert_eq!(begin(&events, None, 9), 0);
        assert_eq!(begin(&events, Some(&id(2)), 0), 2);
        assert_eq!(begin(&events, Some(&id(99)), 0), 5);
        for foreign in ["1-2", "x", "-", "1-x", &id(0).replace("-0", "-x")] {
            let expected = if foreign.contains('-') { 0 } else { 5 };
            assert_eq!(begin(&events, Some(foreign), 0), expected, "{foreign}");
        }
    }
}
