//! What is too young to be settled: late documents may come among it, so it is not passed, however much it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use picomq_connector_elasticsearch_source::ElasticsearchSource;
use picomq_connector_sdk::http::stub::{Reply, Stub};
use picomq_connector_sdk::{CheckStatus, Source};
use serde_json::{Value, json};

use crate::reading::{Reading, config, distinct, with};
use crate::scrolls::{caps, page};
use crate::server::{KINDS, Kind, Place, documents};

/// More than are remembered.
const MANY: usize = 103_000;
const REMEMBERED: usize = 100_000;

fn hours_ago(hours: i64) -> String {
    (jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours)).to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_young_documents_than_are_remembered_wait_and_late_ones_still_come_b094() {
    let place = Place::with_index(Kind::OpenSearch, 2, json!({ "at": { "type": "date" } })).await;
    let young = hours_ago(2);
    for part in 0..(MANY / 10_300) {
        place.write(&place.name, documents(&format!("d{part}-"), 10_300, &young)).await;
    }
    place.refresh(&place.name).await;
    let reading_with = |overlap: &str| config(&place, json!({ "batch_size": 10_000, "overlap": overlap }));

    let mut reading = Reading::open(reading_with("1day"), None).await;
    let mut keys = reading.keys(REMEMBERED).await;
    reading.nothing().await;
    let (status, advice) = reading.check("overlap").unwrap();
    assert_eq!(status, CheckStatus::Warn, "{advice}");
    place.put(documents("late", 7, &hours_ago(3))).await;
    keys.extend(reading.keys(7).await);
    let mut reading = reading.killed(reading_with("1day")).await;
    reading.nothing().await;

    // By now all of it is settled.
    let mut reading = reading.killed(reading_with("1h")).await;
    keys.extend(reading.keys(MANY - REMEMBERED).await);
    reading.nothing().await;
    assert_eq!(distinct(keys).len(), MANY + 7);
    assert!(reading.check("overlap").is_none_or(|(status, _)| status == CheckStatus::Ok));
}

/// A document with this time.
type Document = fn(String) -> Value;

/// The question is a query of its own, with the field as each kind of server and of field wants it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_settled_is_known_of_every_kind_of_field_b094() {
    let kinds: [(&str, Value, Document); 3] = [
        ("at", json!({ "at": { "type": "date" } }), |at| json!({ "at": at })),
        ("at", json!({ "at": { "type": "date_nanos" } }), |at| json!({ "at": at })),
        (
            "n.t",
            json!({ "n": { "type": "nested", "properties": { "t": { "type": "date" } } } }),
            |at| json!({ "n": [{ "t": "2099-01-01T00:00:00Z" }, { "t": at }] }),
        ),
    ];
    for (kind, (field, mapping, document)) in
        KINDS.iter().flat_map(|kind| kinds.iter().map(move |field| (*kind, field)))
    {
        let place = Place::with_index(kind, 2, mapping.clone()).await;
        // More than are remembered where there is no need to.
        let old = (0..4_500)
            .map(|n| (format!("d{n}"), document(format!("2026-01-01T00:00:0{}.{:03}Z", n % 7, n % 900))));
        place.put(old).await;
        let config =
            config(&place, json!({ "timestamp_field": field, "batch_size": 1_000, "overlap": "1day" }));
        let mut reading = Reading::open(config.clone(), None).await;
        assert_eq!(distinct(reading.keys(4_500).await).len(), 4_500, "{kind:?} {mapping}");
        let state = ElasticsearchSource::describe_state(reading.saved.as_ref().unwrap()).unwrap();
        assert_eq!(state["state"]["remembered"], 4_096, "{kind:?} {mapping}: {state}");
        let mut reading = reading.killed(config).await;
        reading.nothing().await;
    }
}

/// Of what was delivered and will come again the server is asked for no document.
#[tokio::test]
async fn what_was_delivered_is_looked_through_by_name() {
    let written = Arc::new(AtomicI64::new(40));
    let there = Arc::clone(&written);
    let stub = Stub::start(move |asked| {
        let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        match (&*asked.method, asked.target.split('?').next().unwrap()) {
            ("GET", "/docs/_field_caps") => caps(),
            // With the document named, as asked.
            ("POST", "/docs/_search") if body["sort"].as_array().is_some_and(|sort| sort.len() > 1) => {
                let from = body["search_after"][1].as_i64().map_or(0, |sequence| sequence + 1);
                page(from..(from + body["size"].as_i64().unwrap()).min(there.load(Ordering::Relaxed)), None)
            }
            _ => Reply::json(200, r#"{"_shards":{},"hits":{"total":{"value":0},"hits":[]}}"#),
        }
    })
    .await;
    let base = json!({ "index": "docs", "timestamp_field": "at", "overlap": "10s", "batch_size": 50 });
    let mut reading = Reading::open(with(&stub.url(), base, json!({})), None).await;
    assert_eq!(distinct(reading.keys(40).await).len(), 40);
    reading.nothing().await;
    let pages = |from: usize| {
        let asked =
            stub.asked().into_iter().map(|asked| serde_json::from_slice(&asked.body).unwrap_or_default());
        asked
            .filter(|body: &Value| body["size"].as_u64().is_some_and(|size| size > 0))
            .skip(from)
            .collect::<Vec<_>>()
    };
    let first = pages(0);
    assert!(first[0]["_source"].is_null() && first.len() > 2, "{first:?}");
    assert!(first[1..].iter().all(|body| body["_source"] == false && body["size"] == 41), "{first:?}");

    written.store(43, Ordering::Relaxed);
    assert_eq!(reading.keys(3).await, ["40", "41", "42"]);
    let later = pages(first.len());
    let full: Vec<&Value> = later.iter().filter(|body| body["_source"].is_null()).collect();
    assert_eq!((full.len(), &full[0]["search_after"]), (1, &json!([39, 38])), "{later:?}");
}
