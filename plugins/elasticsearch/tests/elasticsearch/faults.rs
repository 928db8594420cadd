//! What a server in trouble answers, and what a wrong definition is told.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use picomq_connector_sdk::Error;
use picomq_connector_sdk::http::stub::{Reply, Stub};
use serde_json::{Value, json};

use crate::reading::{Reading, with};
use crate::scrolls::{caps, page};

/// A server whose first searches get these answers, and later ones three documents, or the one after what was read.
async fn troubled(answers: Vec<Reply>) -> Stub {
    let next = AtomicU32::new(0);
    Stub::start(move |asked| {
        if asked.target.contains("_field_caps") {
            return caps();
        }
        if asked.target.contains("track_total_hits") {
            let turn = next.fetch_add(1, Ordering::Relaxed) as usize;
            let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
            let from = body["search_after"][0].as_i64().map_or(0, |floor| floor + 1);
            return answers.get(turn).cloned().unwrap_or_else(|| page(from..3, None));
        }
        Reply::json(200, r#"{"hits":{"total":{"value":0},"hits":[]}}"#)
    })
    .await
}

async fn reading(stub: &Stub, more: Value) -> Reading {
    Reading::open(with(&stub.url(), json!({ "index": "docs", "timestamp_field": "at" }), more), None).await
}

/// The first page with something changed.
fn spoiled(change: impl Fn(&mut Value)) -> Reply {
    let mut answer: Value = serde_json::from_slice(&page(0..3, None).body).unwrap();
    change(&mut answer);
    Reply::json(200, answer.to_string())
}

#[tokio::test]
async fn a_page_that_is_not_everything_moves_nothing_b095() {
    let answers = vec![
        spoiled(|answer| {
            answer["_shards"] =
                json!({ "total": 2, "failed": 1, "failures": [{ "reason": { "type": "boom" } }] })
        }),
        spoiled(|answer| answer["timed_out"] = true.into()),
        spoiled(|answer| answer["_clusters"] = json!({ "total": 2, "successful": 1, "skipped": 1 })),
    ];
    let stub = troubled(answers).await;
    let mut reading = reading(&stub, json!({})).await;
    for why in ["1 of 2 shards failed: [{\"reason\":{\"type\":\"boom\"}}]", "timed_out", "clusters"] {
        let error = reading.step().await.unwrap_err();
        assert!(matches!(error, Error::Transient(_)) && error.chain().contains(why), "{why}: {error:?}");
        assert_eq!(reading.saved, None);
    }
    assert_eq!(reading.keys(3).await, ["0", "1", "2"]);
    assert!(stub.asked().iter().any(|asked| asked.target.contains("allow_partial_search_results=false")));
}

#[tokio::test]
async fn a_wrong_login_is_an_error_that_a_person_sees_and_that_heals_b098() {
    let refused = || {
        let body = r#"{"error":{"type":"security_exception","reason":"unable to authenticate user [me] with s3cret"}}"#;
        Reply::json(401, body)
    };
    let stub = troubled(vec![refused(), Reply::json(403, r#"{"error":{"reason":"no permissions"}}"#)]).await;
    let mut reading = reading(&stub, json!({ "username": "me", "password": "s3cret" })).await;
    for status in ["401", "403"] {
        let error = reading.step().await.unwrap_err();
        assert!(matches!(error, Error::Permanent(_)) && error.chain().contains(status), "{error:?}");
        assert!(error.chain().contains("credentials") && !error.chain().contains("s3cret"), "{error:?}");
    }
    assert_eq!(reading.keys(3).await, ["0", "1", "2"]);
    assert_eq!(stub.asked()[0].header("authorization"), Some("Basic bWU6czNjcmV0"));
}

#[tokio::test]
async fn a_busy_server_is_left_alone_for_as_long_as_it_asks_b098() {
    let busy =
        Reply::json(429, r#"{"error":{"type":"es_rejected_execution_exception","reason":"rejected"}}"#);
    let stub = troubled(vec![busy.with("retry-after", "1")]).await;
    let mut reading = reading(&stub, json!({})).await;
    let began = Instant::now();
    let error = reading.step().await.unwrap_err();
    assert!(matches!(error, Error::Transient(_)), "{error:?}");
    assert_eq!(reading.keys(3).await, ["0", "1", "2"]);
    assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_body_cut_short_and_a_page_that_is_none_are_errors_without_a_batch_b098() {
    let whole = page(0..3, None);
    let cut = Reply { cut_at: Some(whole.body.len() - 9), ..whole.clone() };
    // The length agrees, the text does not end.
    let torn = Reply::json(200, &whole.body[..whole.body.len() - 9]);
    let stub = troubled(vec![cut, torn, Reply::json(200, "{}"), Reply::json(200, "<html>")]).await;
    let mut reading = reading(&stub, json!({})).await;
    for _ in 0..4 {
        let error = reading.step().await.unwrap_err();
        assert!(matches!(error, Error::Transient(_)), "{error:?}");
    }
    assert_eq!(reading.keys(3).await, ["0", "1", "2"]);
}

#[tokio::test]
async fn another_node_answers_when_one_does_not() {
    let (away, good) = (troubled(vec![Reply::json(503, "{}"); 100]).await, troubled(vec![]).await);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let mut reading = reading(&away, json!({ "hosts": [nobody, good.url()] })).await;
    assert_eq!(reading.keys(3).await, ["0", "1", "2"]);
    assert!(!away.asked().is_empty());
}

#[tokio::test]
async fn a_query_that_is_wrong_is_told_in_the_servers_words() {
    let body = r#"{"error":{"root_cause":[{"type":"parsing_exception","reason":"unknown query [nonsense]"}]},"status":400}"#;
    let stub = troubled(vec![Reply::json(400, body)]).await;
    let mut reading = reading(&stub, json!({ "query": { "nonsense": {} } })).await;
    let error = reading.step().await.unwrap_err();
    assert!(
        matches!(error, Error::Permanent(_)) && error.chain().contains("unknown query [nonsense]"),
        "{error:?}"
    );
    let searches: Vec<_> =
        stub.asked().into_iter().filter(|asked| asked.target.contains("_search")).collect();
    assert!(String::from_utf8_lossy(&searches[0].body).contains("nonsense"));
}

#[tokio::test]
async fn a_document_without_a_source_is_named() {
    let stub = troubled(vec![spoiled(|answer| {
        drop(answer["hits"]["hits"][1].as_object_mut().unwrap().remove("_source"))
    })])
    .await;
    let error = reading(&stub, json!({})).await.step().await.unwrap_err();
    assert!(
        matches!(error, Error::Permanent(_)) && error.chain().contains("document 1 of index docs"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_server_that_is_well_again_is_shown_well_though_nothing_new_is_there() {
    let nothing = || page(0..0, None);
    let stub = troubled(vec![page(0..3, None), Reply::json(503, "{}"), nothing(), nothing()]).await;
    let mut reading = reading(&stub, json!({ "polling_interval": "10ms" })).await;
    assert_eq!(reading.keys(3).await, ["0", "1", "2"]);
    let saved = reading.saved.clone();
    assert!(reading.step().await.is_err());

    assert_eq!(reading.step().await.unwrap(), [], "an empty batch says that the poll was good");

    assert_eq!(reading.saved, saved, "and moves nothing");
    reading.nothing().await;
}

#[tokio::test]
async fn another_kind_of_server_is_told_from_a_missing_index() {
    let stub =
        Stub::start(|_| Reply { status: 404, body: b"404 page not found".to_vec(), ..Reply::default() })
            .await;
    let error = reading(&stub, json!({})).await.step().await.unwrap_err();
    assert!(error.chain().contains("404 page not found"), "{}", error.chain());
    assert!(error.chain().contains("url must lead to Elasticsearch or OpenSearch"), "{}", error.chain());
}
