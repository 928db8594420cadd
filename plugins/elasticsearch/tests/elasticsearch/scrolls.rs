//! What only a server on a script shows of scrolls and points in time: new names on each page, and contexts that are gone.

use std::sync::atomic::{AtomicU32, Ordering};

use picomq_connector_sdk::http::stub::{Asked, Reply, Stub};
use serde_json::{Value, json};

use crate::reading::{Reading, distinct, with};

/// A server without points in time whose scrolls have a new name on each page, and where every `lost_every`th page is gone.
/// Documents are numbers from 0; a search answers those past its floor.
async fn scrolling(documents: i64, lost_every: u32) -> Stub {
    refusing(documents, lost_every, 400).await
}

/// The same, where a wish for a point in time is answered with this status.
async fn refusing(documents: i64, lost_every: u32, refusal: u16) -> Stub {
    let pages = AtomicU32::new(0);
    Stub::start(move |asked| {
        let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        let path = asked.target.split('?').next().unwrap();
        match (&*asked.method, path) {
            ("GET", "/docs/_field_caps") => caps(),
            ("POST", "/docs/_search") => {
                let should = &body["query"]["bool"]["filter"][1]["bool"]["should"];
                let floor = should[0]["range"]["at"]["gt"].as_i64().or(body["search_after"][0].as_i64());
                let first = floor.map_or(0, |floor| floor + 1);
                let size = body["size"].as_i64().unwrap();
                let scroll = asked.target.contains("scroll=").then(|| format!("{}.0.{size}", first + size));
                page(first..(first + size).min(documents), scroll)
            }
            ("POST", "/_search/scroll") => {
                if pages.fetch_add(1, Ordering::Relaxed) % lost_every == lost_every - 1 {
                    let gone = r#"{"error":{"root_cause":[{"type":"search_context_missing_exception","reason":"No search context found for id [5]"}]},"status":404}"#;
                    return Reply::json(404, gone);
                }
                let id = body["scroll_id"].as_str().unwrap();
                let parts: Vec<i64> = id.split('.').map(|part| part.parse().unwrap()).collect();
                let (first, turn, size) = (parts[0], parts[1], parts[2]);
                let last = (first + size).min(documents);
                page(first.min(last)..last, Some(format!("{last}.{}.{size}", turn + 1)))
            }
            ("DELETE", "/_search/scroll") => Reply::json(200, r#"{"succeeded":true}"#),
            _ => Reply::json(refusal, r#"{"error":"no handler found"}"#),
        }
    })
    .await
}

pub(crate) fn caps() -> Reply {
    Reply::json(200, r#"{"indices":["docs"],"fields":{"at":{"date":{"type":"date","aggregatable":true}}}}"#)
}

pub(crate) fn page(documents: std::ops::Range<i64>, scroll: Option<String>) -> Reply {
    let hits: Vec<Value> = documents
        .map(|n| json!({ "_index": "docs", "_id": n.to_string(), "_seq_no": n, "_primary_term": 1, "_source": { "at": n }, "sort": [n, n] }))
        .collect();
    let mut answer =
        json!({ "timed_out": false, "_shards": { "total": 1, "failed": 0 }, "hits": { "hits": hits } });
    if let Some(scroll) = scroll {
        answer["_scroll_id"] = scroll.into();
    }
    Reply::json(200, answer.to_string())
}

#[tokio::test]
async fn a_user_who_may_not_open_a_point_in_time_reads_by_scroll() {
    let stub = refusing(20, u32::MAX, 403).await;
    let base = json!({ "index": "docs", "timestamp_field": "at" });
    let mut reading = Reading::open(with(&stub.url(), base, json!({ "batch_size": 3 })), None).await;
    assert_eq!(distinct(reading.keys(20).await).len(), 20);
    assert!(reading.check("pagination").is_some());
    reading.close().await;
    let tried =
        count(&stub.asked(), |asked| asked.target.contains("_pit") || asked.target.contains("point_in_time"));
    assert_eq!(tried, 2, "both ways, once");
}

fn count(asked: &[Asked], is_meant: impl Fn(&Asked) -> bool) -> usize {
    asked.iter().filter(|asked| is_meant(asked)).count()
}

#[tokio::test]
async fn the_newest_name_of_a_scroll_is_used_a_lost_one_is_begun_anew_and_each_is_cleared_b096() {
    let stub = scrolling(60, 3).await;
    let base = json!({ "index": "docs", "timestamp_field": "at" });
    let mut reading = Reading::open(with(&stub.url(), base, json!({ "batch_size": 3 })), None).await;
    let keys = reading.keys(60).await;
    assert_eq!(distinct(keys).len(), 60);
    reading.nothing().await;
    reading.close().await;

    let asked = stub.asked();
    let opened = count(&asked, |asked| asked.method == "POST" && asked.target.contains("scroll="));
    let cleared = count(&asked, |asked| asked.method == "DELETE");
    assert!(opened >= 5, "{opened} scrolls");
    assert_eq!(opened, cleared);
    // Each page names the scroll as the page before did: its turn rises by one.
    let turns: Vec<String> = asked
        .iter()
        .filter(|asked| asked.target == "/_search/scroll" && asked.method == "POST")
        .map(|asked| {
            serde_json::from_slice::<Value>(&asked.body).unwrap()["scroll_id"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(turns.windows(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
    assert!(turns.iter().any(|id| id.split('.').nth(1) == Some("1")), "{turns:?}");
}

#[tokio::test]
async fn a_scroll_whose_second_page_is_always_gone_still_reads_everything_b096() {
    let stub = scrolling(60, 1).await;
    let base = json!({ "index": "docs", "timestamp_field": "at" });
    let mut reading = Reading::open(with(&stub.url(), base, json!({ "batch_size": 3 })), None).await;
    // Each scroll still gives its first page, so everything comes all the same.
    assert_eq!(distinct(reading.keys(60).await).len(), 60);
    reading.close().await;
}

#[tokio::test]
async fn a_point_in_time_that_is_gone_is_opened_anew_and_its_newest_name_used_b096() {
    let searches = AtomicU32::new(0);
    let stub = Stub::start(move |asked| {
        let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        match (&*asked.method, asked.target.split('?').next().unwrap()) {
            ("GET", "/docs/_field_caps") => caps(),
            ("POST", "/docs/_pit") => Reply::json(200, r#"{"id":"p0"}"#),
            ("DELETE", "/_pit") => Reply::json(200, "{}"),
            ("POST", _) => {
                let turn = searches.fetch_add(1, Ordering::Relaxed);
                if turn % 4 == 3 && body["pit"].is_object() {
                    return Reply::json(404, r#"{"error":{"type":"search_context_missing_exception","reason":"No search context found for id [1]"}}"#);
                }
                // Inclusive of the document named, as asked.
                let from = body["search_after"][1].as_i64().map_or(0, |sequence| sequence + 1);
                let size = body["size"].as_i64().unwrap();
                let mut reply = page(from..(from + size).min(40), None);
                if let Some(id) = body["pit"]["id"].as_str() {
                    let mut answer: Value = serde_json::from_slice(&reply.body).unwrap();
                    answer["pit_id"] = format!("{id}+").into();
                    reply.body = answer.to_string().into_bytes();
                }
                reply
            }
            _ => Reply::json(400, "{}"),
        }
    })
    .await;
    let base = json!({ "index": "docs", "timestamp_field": "at" });
    let mut reading = Reading::open(with(&stub.url(), base, json!({ "batch_size": 4 })), None).await;
    assert_eq!(distinct(reading.keys(40).await).len(), 40);
    reading.close().await;
    let asked = stub.asked();
    let opened = count(&asked, |asked| asked.target.starts_with("/docs/_pit"));
    assert_eq!(opened, count(&asked, |asked| asked.method == "DELETE"));
    let last_closed = asked.iter().rfind(|asked| asked.method == "DELETE").unwrap();
    assert!(String::from_utf8_lossy(&last_closed.body).contains("p0+"), "{last_closed:?}");
}
