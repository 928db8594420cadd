//! `/sources/{key}/tail`: some of the records of a source, as they pass.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::response::sse::Event;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pico_actors::handle::Engine;
use pico_actors::tap::{Glob, Look, Piece, Sample, TapFilter, TapStage};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::access::Caller;
use super::problem::Problem;
use super::process_view::Api;
use super::sources::{Key, readable};
use super::streams::{self, Outlet};

/// How often it is said what was skipped.
const SKIPPED_EVERY: Duration = Duration::from_secs(1);

/// A source that is being reloaded has no records to look at for a moment; it is looked for again this often.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// What is wanted.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Where on their way; `transformed` when absent.
    stage: Option<String>,
    /// Pattern of the topics.
    topic: Option<String>,
    /// The stream ends after so many records.
    limit: Option<u32>,
}

/// A stream of records. What a transform would hide is for those who may do everything.
pub(super) async fn tail(
    State(api): State<Arc<Api>>,
    Extension(caller): Extension<Caller>,
    key: Key,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Response, Problem> {
    let key = readable(key)?;
    let Query(wanted) = wanted.map_err(|rejection| Problem::bad_query(&rejection.body_text()))?;
    let filter = filter(&wanted)?;
    if let (TapStage::Polled, Caller::Holder { name, .. }) = (filter.stage, &caller)
        && !caller.is_admin()
    {
        return Err(super::access::read_only(name));
    }
    let look = api.engine.tap(&key).await?.look(filter.clone());
    let look = look.ok_or_else(|| {
        let detail = format!("as many look at {key:?} already as may");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "http.too_many_streams", detail)
            .with_hint("end one of the others first")
    })?;
    let tail = Tail { engine: api.engine.clone(), key, filter, left: wanted.limit.unwrap_or(u32::MAX) };
    streams::open(&api.streams, &api.readiness, |outlet| tail.write(look, outlet))
}

fn filter(wanted: &Wanted) -> Result<TapFilter, Problem> {
    let stage = match wanted.stage.as_deref() {
        None | Some("transformed") => TapStage::Transformed,
        Some("polled") => TapStage::Polled,
        Some("sent") => TapStage::Sent,
        Some(_) => return Err(Problem::bad_query("`stage` is one of polled, transformed, sent")),
    };
    let topic = wanted.topic.as_deref().map(|pattern| {
        Glob::new(pattern).ok_or_else(|| Problem::bad_query("`topic` is a pattern of 1 to 249 characters"))
    });
    if stage == TapStage::Polled && topic.is_some() {
        return Err(Problem::bad_query("a polled record has no topic yet; leave `topic` out"));
    }
    if wanted.limit == Some(0) {
        return Err(Problem::bad_query("`limit` is at least 1"));
    }
    Ok(TapFilter { stage, topic: topic.transpose()? })
}

struct Tail {
    engine: Engine,
    key: String,
    filter: TapFilter,
    left: u32,
}

impl Tail {
    async fn write(mut self, look: Look, outlet: Arc<Outlet>) {
        let mut look = Some(look);
        while let Some(current) = look.take() {
            if !self.follow(current, &outlet).await {
                return;
            }
            look = self.look_again().await;
        }
        outlet.tell("end", &json!({ "reason": "the source was removed" })).await;
    }

    /// `false` when all that was wanted is written, or nobody wants it any more.
    async fn follow(&mut self, mut look: Look, outlet: &Outlet) -> bool {
        let mut ticks = tokio::time::interval(SKIPPED_EVERY);
        loop {
            tokio::select! {
                sample = look.samples.recv() => {
                    let Some(sample) = sample else { return true };
                    let event = Event::default().event("record").data(shown(&sample));
                    if !outlet.send(event).await {
                        return false;
                    }
                    self.left -= 1;
                    if self.left == 0 {
                        tell_skipped(&look, outlet).await;
                        outlet.tell("end", &json!({ "reason": "the limit is reached" })).await;
                        return false;
                    }
                }
                _ = ticks.tick() => {
                    if !tell_skipped(&look, outlet).await {
                        return false;
                    }
                }
            }
        }
    }

    /// The place is gone with the supervisor; a reload puts another one there. `None` when the source is gone.
    async fn look_again(&self) -> Option<Look> {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            // Gone for good.
            self.engine.get(&self.key).await?;
            if let Ok(tap) = self.engine.tap(&self.key).await {
                return tap.look(self.filter.clone());
            }
        }
    }
}

async fn tell_skipped(look: &Look, outlet: &Outlet) -> bool {
    match look.take_skipped() {
        0 => true,
        records => outlet.tell("skipped", &json!({ "records": records })).await,
    }
}

/// The record as a person and a program can read it.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    fields: Map<String, Value>,
    /// As it is: not a digit of a number changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a RawValue>,
}

/// The record as JSON. A payload that is JSON stands as it is, text as text, all else in base64.
fn shown(sample: &Sample) -> String {
    let mut fields = Map::new();
    fields.insert("batch".to_owned(), sample.batch.into());
    if let Some(topic) = &sample.topic {
        fields.insert("topic".to_owned(), topic.as_ref().into());
    }
    if let Some(block) = sample.block {
        fields.insert("block".to_owned(), block.into());
    }
    fields.insert("timestamp".to_owned(), sample.timestamp_ms.into());
    put_text(&mut fields, "key", sample.key.as_ref());
    let headers = sample.headers.iter().map(|(name, value)| {
        let mut header = Map::new();
        header.insert("name".to_owned(), name.as_str().into());
        put_text(&mut header, "value", Some(value));
        Value::Object(header)
    });
    fields.insert("headers".to_owned(), headers.collect());
    let payload = put_payload(&mut fields, sample.payload.as_ref());
    serde_json::to_string(&Shown { fields, payload }).expect("all keys are text")
}

/// What is no JSON goes among the fields.
fn put_payload<'a>(fields: &mut Map<String, Value>, payload: Option<&'a Piece>) -> Option<&'a RawValue> {
    let Some(piece) = payload else {
        fields.insert("tombstone".to_owned(), true.into());
        return None;
    };
    fields.insert("payload_bytes".to_owned(), piece.length.into());
    let json = serde_json::from_slice::<&RawValue>(&piece.bytes).ok();
    // A line end inside would end the line of the stream.
    let json = json.filter(|raw| !piece.is_cut() && !raw.get().contains(['\n', '\r']));
    if json.is_none() {
        put_text(fields, "payload", Some(piece));
    }
    json
}

fn put_text(fields: &mut Map<String, Value>, name: &str, piece: Option<&Piece>) {
    let Some(piece) = piece else {
        fields.insert(name.to_owned(), Value::Null);
        return;
    };
    let text = match std::str::from_utf8(&piece.bytes) {
        Ok(text) => Some(text),
        // Only the last character is cut in two.
        Err(error) if piece.is_cut() && error.error_len().is_none() => {
            std::str::from_utf8(&piece.bytes[..error.valid_up_to()]).ok()
        }
        Err(_not_text) => None,
    };
    match text {
        Some(text) if name == "payload" => _ = fields.insert("payload_text".to_owned(), text.into()),
        Some(text) => _ = fields.insert(name.to_owned(), text.into()),
        None => _ = fields.insert(format!("{name}_base64"), BASE64_STANDARD.encode(&piece.bytes).into()),
    }
    if piece.is_cut() {
        fields.insert(format!("{name}_cut"), true.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(bytes: &[u8], length: usize) -> Option<Piece> {
        Some(Piece { bytes: bytes.to_vec(), length })
    }

    fn sample(payload: Option<Piece>) -> Sample {
        Sample {
            batch: 7,
            topic: Some("orders".into()),
            block: Some(0),
            timestamp_ms: Some(5),
            key: piece(b"k", 1),
            headers: vec![("h".to_owned(), Piece { bytes: vec![0xff], length: 1 })],
            payload,
        }
    }

    fn value(payload: Option<Piece>) -> Value {
        serde_json::from_str(&shown(&sample(payload))).unwrap()
    }

    #[test]
    fn json_stands_as_it_is_text_as_text_and_bytes_in_base64() {
        assert_eq!(
            value(piece(b"{\"a\": 1}", 8)),
            json!({ "batch": 7, "topic": "orders", "block": 0, "timestamp": 5, "key": "k",
                    "headers": [{ "name": "h", "value_base64": "/w==" }], "payload_bytes": 8, "payload": { "a": 1 } })
        );
        let text = value(piece(b"not json", 8));
        assert_eq!((&text["payload_text"], text.get("payload")), (&"not json".into(), None));
        assert_eq!(value(piece(&[0xff, 0], 2))["payload_base64"], "/wA=");
        assert_eq!(value(None)["tombstone"], true);
    }

    #[test]
    fn no_digit_of_a_number_changes_and_no_line_ends_inside() {
        let exact = b"{\"n\":9007199254740993.25}";
        assert!(
            shown(&sample(piece(exact, exact.len()))).contains("\"payload\":{\"n\":9007199254740993.25}")
        );
        let lines = b"{\n\"n\": 1\n}";
        assert!(!shown(&sample(piece(lines, lines.len()))).contains('\n'));
    }

    #[test]
    fn what_was_cut_says_so_and_ends_at_a_whole_character() {
        let cut = value(piece("{\"a\":\"ä".as_bytes().split_last().unwrap().1, 100));
        assert_eq!(
            (&cut["payload_text"], &cut["payload_cut"], &cut["payload_bytes"]),
            (&"{\"a\":\"".into(), &true.into(), &100.into())
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let code = |stage: Option<&str>, topic: Option<&str>, limit| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            filter(&Wanted { stage: owned(stage), topic: owned(topic), limit })
                .map(|filter| filter.stage)
                .map_err(|problem| problem.code())
        };
        assert_eq!(code(None, Some("a*"), Some(1)), Ok(TapStage::Transformed));
        assert_eq!(code(Some("sent"), None, None), Ok(TapStage::Sent));
        for (stage, topic, limit) in [
            (Some("x"), None, None),
            (Some("polled"), Some("a"), None),
            (None, Some(""), None),
            (None, None, Some(0)),
        ] {
            assert_eq!(code(stage, topic, limit), Err("http.bad_query"));
        }
    }
}
